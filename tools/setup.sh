#!/bin/sh
# setup.sh - what building simlua needs: look, say, install.
#
#   tools/setup.sh            install what is missing for the build (by apt-get)
#   tools/setup.sh --check    only say what is missing; exit 1 if anything is
#   tools/setup.sh lint       the same for the tools of `make lint` (with or without --check)
#
# A thing counts as present when its header and its library are found, wherever they come
# from. Nothing is asked of apt when nothing is missing. CC, LUA_INC, STB_INC and NVCC are
# taken from the environment (make passes its own).
# shellcheck disable=SC2015,SC2086  # lists of words are meant; A && B || C reads as it should
set -u

CC=${CC:-gcc}
check_only=no
group=build
for argument; do
    case $argument in
    --check) check_only=yes ;;
    build | lint) group=$argument ;;
    *)
        echo "usage: tools/setup.sh [--check] [build | lint]" >&2
        exit 2
        ;;
    esac
done

packages=
lines=
missing() { # package, what it is, what was looked for
    packages="$packages $1"
    lines="$lines$(printf '  %-15s %s (%s)' "$1" "$2" "$3")
"
}

have() { command -v "$1" >/dev/null 2>&1; }

# The first folder that holds a header; the compiler need not work for this.
header() { # header, folders to look in first ...
    name=$1
    shift
    for folder in "$@" /usr/include /usr/local/include; do
        [ -f "$folder/$name" ] && return 0
    done
    return 1
}

library() { # name: its archive or shared object, where the compiler would look
    for file in "lib$1.a" "lib$1.so"; do
        case $("$CC" -print-file-name="$file" 2>/dev/null) in
        */*) return 0 ;;
        esac
        [ -f "/usr/lib/$multiarch/$file" ] || [ -f "/usr/local/lib/$file" ] && return 0
    done
    return 1
}

lua_header() { # lua.h of 5.4, not of another version
    for folder in ${LUA_INC:-} /usr/include/lua5.4 /usr/local/include/lua5.4 \
        /usr/include/lua-5.4 /usr/include; do
        grep -qs 'LUA_VERSION_NUM.*504' "$folder/lua.h" && return 0
    done
    return 1
}

find_nvcc() {
    [ "${CUDA:-1}" = 0 ] && return 1
    [ -n "${NVCC:-}" ] || have nvcc || [ -x /usr/local/cuda/bin/nvcc ]
}

look_build() {
    multiarch=$("$CC" -print-multiarch 2>/dev/null || echo "$(uname -m)-linux-gnu")
    have "$CC" || missing gcc "the C compiler" "$CC"
    header stdio.h && library m || missing libc6-dev "the C library's headers" stdio.h
    lua_header && library lua5.4 ||
        missing liblua5.4-dev "Lua 5.4, the scripting language" "lua.h, liblua5.4"
    header stb_image_write.h ${STB_INC:-} /usr/include/stb /usr/local/include/stb ||
        missing libstb-dev "stb, which writes PNG files" stb_image_write.h
    header libdeflate.h && library deflate ||
        missing libdeflate-dev "libdeflate, which compresses them" "libdeflate.h, libdeflate"
    header xxhash.h && library xxhash ||
        missing libxxhash-dev "xxHash, for checksums" "xxhash.h, libxxhash"
    if find_nvcc && ! have g++; then
        missing g++ "the C++ compiler that nvcc needs; without it: make CUDA=0" g++
    fi
}

look_lint() {
    have clang-format || missing clang-format "the C formatter" clang-format
    have luacheck || missing lua-check "the Lua checker" luacheck
    have cppcheck || missing cppcheck "the C checker" cppcheck
}

say_missing() {
    echo "simlua: missing here:" >&2
    printf '%s' "$lines" >&2
}

# apt-get as root; the words before it when we are not.
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}
apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@"
}

apt_knows_all() {
    for package in $packages; do
        apt-cache policy "$package" 2>/dev/null | grep -q 'Candidate: [^(]' || return 1
    done
}

# Package lists are fetched only if they lack a package or are out of date.
install_packages() {
    if apt_knows_all && apt install -y --no-install-recommends $packages; then
        return 0
    fi
    apt update && apt install -y --no-install-recommends $packages
}

look_$group
[ -n "$packages" ] || exit 0

if [ $check_only = yes ]; then
    say_missing
    if have apt-get; then
        echo "Get it with 'make deps', or: sudo apt-get install$packages" >&2
    else
        echo "Install these (the names are Debian's) by your system's own means." >&2
    fi
    exit 1
fi

say_missing
if ! have apt-get; then
    echo "There is no apt-get on this system: please install these (the names are Debian's)" >&2
    echo "by its own means, then give the command again." >&2
    exit 1
fi
if [ "$(id -u)" != 0 ] && ! have sudo; then
    echo "Installing needs root, and there is no sudo here. As root: apt-get install$packages" >&2
    exit 1
fi
[ "$(id -u)" = 0 ] && sudo= || sudo='sudo '
echo "simlua: installing it now: ${sudo}apt-get install --no-install-recommends$packages" >&2
if ! install_packages >&2; then
    echo "simlua: apt-get could not install$packages" >&2
    exit 1
fi

packages=
lines=
look_$group
if [ -n "$packages" ]; then
    echo "simlua: installed, but still not found:" >&2
    say_missing
    exit 1
fi
