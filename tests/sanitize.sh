#!/bin/bash
# sanitize.sh - NVIDIA's compute-sanitizer over the GPU kernels: tests/sanitize.sh BUILD
# [TOOL ...]
#
# Runs tests/sanitize/*.lua, which start every kernel at small sizes, under each tool
# (default: memcheck, racecheck, initcheck, synccheck), SIMLUA_JOBS at a time (default 4).
# Needs a GPU and compute-sanitizer. The last line is "N passed, N failed, N skipped".
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:?usage: tests/sanitize.sh BUILD [TOOL ...]}" && pwd) || exit 2
shift
tools=${*:-memcheck racecheck initcheck synccheck}
logs=${SIMLUA_LOGS:-$(mktemp -d)}
if ! command -v compute-sanitizer >/dev/null; then
    echo "SKIP compute-sanitizer is not installed"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi

one() { # tool, scene
    local log=$logs/$1.$(basename "$2" .lua) start=$SECONDS
    timeout "${SIMLUA_SECONDS:-500}" compute-sanitizer --tool "$1" --error-exitcode 9 \
        --print-limit 5 "$build/simlua" --device cuda "$2" >"$log" 2>&1
    echo "$? $1 $(basename "$2") $((SECONDS - start)) s: $(grep SUMMARY "$log" | tail -1)"
}
export -f one
export build logs

for tool in $tools; do
    for scene in "$root"/tests/sanitize/*.lua; do echo "$tool $scene"; done
done | xargs -P "${SIMLUA_JOBS:-4}" -L 1 bash -c 'one "$@"' one | tee "$logs/summary"
passed=$(grep -c '^0 ' "$logs/summary")
failed=$(grep -vc '^0 ' "$logs/summary")
for log in "$logs"/*.*; do
    grep -q 'SUMMARY: 0' "$log" || { echo "## $log"; grep -v '^========= *$' "$log" | head -30; }
done
echo "$passed passed, $failed failed, 0 skipped"
[[ $failed -eq 0 && $passed -gt 0 ]]
