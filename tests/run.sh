#!/bin/bash
# run.sh - the test suite: tests/run.sh BUILD [WORD]
#
# Runs every C test (BUILD/tests/test_*), every tests/lua/test_*.lua by BUILD/simlua, and
# every examples/*.lua for two frames; with WORD only those whose name holds it. Each ends
# with the line "N passed, N failed, N skipped", which is added up; a program that dies,
# runs over its time, or checks nothing counts as one failure. An example counts as one
# check. The last line is the sum. Fails when anything failed or nothing passed.
#
# From the environment: SIMLUA_SECONDS, the time limit of each (default 300).
# To the tests: SIMLUA, the program's path; TMPDIR, a folder that is removed at the end.
# SIMLUA_SMALL=1 asks tests for smaller sizes: it is set by slow builds, not here.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:?usage: tests/run.sh BUILD [WORD]}" && pwd) || exit 2
word=${2:-}
limit=${SIMLUA_SECONDS:-300}
passed=0 failed=0 skipped=0

scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
export SIMLUA=$build/simlua TMPDIR=$scratch/tmp
mkdir "$TMPDIR"

wanted() { [[ -z $word || $1 == *"$word"* ]]; }

# Run a command in a folder under the time limit; its output goes to $scratch/log, its
# status to $status, in words to $ending.
launch() { # folder, command ...
    local start=$EPOCHREALTIME folder=$1
    shift
    # "; exit" keeps the subshell alive, so that its word on a signal lands in the log.
    (cd "$folder" && timeout -k 5 "$limit" "$@"; exit $?) >"$scratch/log" 2>&1 </dev/null
    status=$?
    seconds=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
    case $status in
    124 | 137) ending="ran over $limit s" ;;
    129 | 13? | 14? | 15?) ending="died of signal $((status - 128))" ;;
    *) ending="exit code $status" ;;
    esac
}

show_failure() { # name, why
    echo "FAILED $1: $2"
    if [[ $(wc -l <"$scratch/log") -gt 100 ]]; then
        head -n 60 "$scratch/log"
        echo "  ..."
        tail -n 40 "$scratch/log"
    else
        cat "$scratch/log"
    fi | sed 's/^/    /'
}

one_failure() { # name, why
    failed=$((failed + 1))
    show_failure "$@"
}

run_test() { # name, command ...
    local name=$1 line p f s
    shift
    launch "$root" "$@"
    line=$(grep -aE '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$scratch/log" | tail -n 1)
    read -r p _ f _ s _ <<<"$line"
    if [[ -z $line ]]; then
        one_failure "$name" "no closing line, $ending"
        return
    fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    if [[ $f != 0 ]]; then
        show_failure "$name" "$f checks"
    elif [[ $status != 0 ]]; then
        one_failure "$name" "$ending after its closing line"
    elif [[ $p == 0 && $s == 0 ]]; then
        one_failure "$name" "checked nothing"
    else
        echo "ok     $name: $p passed, $s skipped, $seconds s"
        grep -a '^SKIP' "$scratch/log" | sed 's/^/    /'
    fi
}

run_example() { # path
    local name=examples/${1##*/} folder
    folder=$(mktemp -d "$scratch/example.XXXXXX")
    launch "$folder" "$SIMLUA" --frames 2 "$1"
    if [[ $status == 0 ]]; then
        passed=$((passed + 1))
        echo "ok     $name: $seconds s"
    else
        one_failure "$name" "$ending"
    fi
    rm -rf "$folder"
}

shopt -s nullglob
for source in "$root"/tests/test_*.c; do
    name=$(basename "$source" .c)
    wanted "$name" && run_test "$name" "$build/tests/$name"
done
for script in "$root"/tests/lua/test_*.lua; do
    name=lua/$(basename "$script" .lua)
    wanted "$name" && run_test "$name" "$SIMLUA" "${script#"$root"/}"
done
for script in "$root"/examples/*.lua; do
    wanted "examples/${script##*/}" && run_example "$script"
done

echo "$passed passed, $failed failed, $skipped skipped"
[[ $failed == 0 && $passed -gt 0 ]]
