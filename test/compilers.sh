#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Builds the library, its program, the unit tests, the examples and the programs of users with each
# supported compiler and each supported Boost, with warnings as errors, and runs them. Ends with a
# table; the status is not 0 if anything failed. A compiler or Boost that this distribution doesn't
# have is no failure.
#
#   bash test/compilers.sh [WORD...]    each WORD is a part of a cell's name, such as 1.88 or
#                                       "g++-14 1.90"; none: all cells
set -euo pipefail
[[ :$PATH: == *:/usr/local/bin:* ]] || export PATH="$PATH:/usr/local/bin"  # redis-server
cd "$(dirname "${BASH_SOURCE[0]}")/.."

compilers=(g++-12 g++-13 g++-14 clang++-19)
boosts=(1.81 1.83 1.88 1.90)

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

# offered PACKAGE: apt can install it; that others refer to it is not enough. (Apt takes a name that
# it doesn't know for an expression: "g++-13" is found in "clang-13".)
offered() {
    [ -n "$(LC_ALL=C apt-cache policy "^${1//+/[+]}\$" | sed -n '/^  Candidate: [^(]/p')" ]
}

install_compilers() {
    local compiler package missing=()
    for compiler in "${compilers[@]}"; do
        package=${compiler/clang++/clang}
        if ! command -v "$compiler" >/dev/null && offered "$package"; then missing+=("$package"); fi
    done
    if [ "${#missing[@]}" -gt 0 ]; then
        as_root env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y --no-install-recommends --no-remove "${missing[@]}"
    fi
}

# unpack_boost VERSION FOLDER: the distribution's packages, without installing them: two versions of
# them conflict.
unpack_boost() {
    local part wanted=() all file
    for part in "" -url -json -program-options; do wanted+=("libboost$part$1-dev"); done
    mkdir -p "$2/packages"
    mapfile -t all < <(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts \
        --no-breaks --no-replaces --no-enhances "${wanted[@]}" | grep "^libboost.*$1" | sort -u)
    (cd "$2/packages" && apt-get download -q "${all[@]}") || return
    for file in "$2"/packages/*.deb; do dpkg -x "$file" "$2" || return; done
    # They need the library of the GCC that they are built with. An older GCC has its own.
    ln -s "$(g++ -print-file-name=libstdc++.so.6)" "$(libraries "$2/usr")/libstdc++.so"
}

# libraries PREFIX: the folder
libraries() { dirname "$(find -L "$1/lib" -name libboost_url.so)"; }

# standard_library COMPILER
standard_library() { realpath "$("$1" -print-file-name=libstdc++.a)"; }

# has_boost VERSION: it can be had here
has_boost() { [ "$1" = 1.90 ] || offered "libboost-url$1-dev"; }

# boost VERSION: the prefix that it is in, brought there first
boost() {
    local folder=$PWD/build/boost/$1
    if [ ! -e "$folder/complete" ]; then
        rm -rf "$folder"
        mkdir -p "$folder"
        if [ "$1" = 1.90 ]; then
            python3 -m venv "$folder/venv" &&
                "$folder/venv/bin/python" -m pip install -q --no-deps cmeel-boost==1.90.0 &&
                ln -s "$folder"/venv/lib/python3*/site-packages/cmeel.prefix "$folder/usr" || return
        else
            unpack_boost "$1" "$folder" || return
        fi >&2
        [ -d "$(libraries "$folder/usr")" ] || return
        touch "$folder/complete"
    fi
    realpath "$folder/usr"
}

# check FOLDER COMPILER PREFIX: the unpacked Boost comes before one that is installed.
check() {
    local folder=$1 libraries not
    libraries=$(libraries "$3")
    # These build the whole library once more in another way, or no program at all.
    not='add_subdirectory|fetch_content|shared_program'
    not+='|compile_time|debian_package|docs'
    if [ ! -e "$libraries/libboost_url.a" ]; then
        not+='|pkg_config_static'
    elif [ "$(standard_library "$2")" != "$(standard_library g++)" ]; then
        not+='|pkg_config|asio_settings'  # CMake alone is told of the other library
    fi
    export CXX=$2 CMAKE_PREFIX_PATH=$3 LDFLAGS=-L$libraries LD_LIBRARY_PATH=$libraries
    cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCONCH_WERROR=ON \
        -DCONCH_BENCH=OFF -DCMAKE_UNITY_BUILD=ON -DCONCH_QUICK_BUILD=ON &&
        cmake --build "$folder" -j "$(nproc)" \
            --target conch conch_other_kind conch_program conch_portable &&
        "$folder/bin/conch_unit" --gtest_brief=1 &&
        "$folder/bin/conch_portable" --gtest_brief=1 &&
        ctest --test-dir "$folder" -L consumer -E "$not" --output-on-failure --no-tests=error
}

# chosen NAME WORD...: has one of the words, if there are any
chosen() {
    local word name=$1
    shift
    [ "$#" -gt 0 ] || return 0
    for word in "$@"; do
        if [[ $name == *"$word"* ]]; then return 0; fi
    done
    return 1
}

bash src/install-dependencies.sh --tests
as_root apt-get update -q
install_compilers
mkdir -p build/compilers
table=build/compilers/table.txt
printf '%-12s %-6s %8s  %s\n' compiler Boost time result >"$table"
failed=0
passed=0
for version in "${boosts[@]}"; do
    for compiler in "${compilers[@]}"; do
        name="$compiler $version" folder=build/compilers/$compiler-$version
        chosen "$name" "$@" || continue
        begin=$SECONDS
        if ! has_boost "$version" || ! command -v "$compiler" >/dev/null; then
            result='not offered here'
        elif ! prefix=$(boost "$version"); then
            result="FAILED: Boost $version could not be brought"
            failed=1
        elif (check "$folder" "$compiler" "$prefix") >"$folder.txt" 2>&1; then
            result=passed
            passed=1
        else
            result="FAILED: see $folder.txt"
            failed=1
        fi
        printf '%-12s %-6s %6d s  %s\n' "$compiler" "$version" $((SECONDS - begin)) "$result" |
            tee -a "$table"
    done
done
printf '\n== Compilers and Boost versions ==\n'
cat "$table"
[ "$failed" = 0 ] && [ "$passed" = 1 ]
