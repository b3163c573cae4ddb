# SPDX-License-Identifier: BSL-1.0
# What the scripts of this folder share: a build of the tests, a run of some of them, and what ctest
# said. Sourced, from the project's root.
[[ :$PATH: == *:/usr/local/bin:* ]] || export PATH="$PATH:/usr/local/bin"  # redis-server

# The compiler's cache reads no source twice for a file that it has not got, and takes those that
# use a precompiled header.
export CCACHE_DEPEND=1
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime

# How many tests run at a time: most of them wait for servers.
at_a_time=${CONCH_TESTS_AT_A_TIME:-8}

# configure FOLDER [CMAKE ARGUMENT...]
configure() {
    local folder=$1
    shift
    cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCONCH_TESTS=ON \
        -DCONCH_WERROR=ON -DCONCH_QUICK_BUILD=ON -DCMAKE_CXX_FLAGS=-D_GLIBCXX_ASSERTIONS "$@"
}

# run FOLDER [CTEST ARGUMENT...]: leaves what ctest says in FOLDER/ctest.txt
run() { python3 -B test/ctest_again.py "$1" "$1" -j"$at_a_time" "${@:2}"; }

# passed FOLDER: ctest says that nothing failed
passed() { grep -qs '^100% tests passed, 0 tests failed' "$1/ctest.txt"; }

# counted PASSED|SKIPPED FOLDER: how many tests of GoogleTest, many of which are one for ctest
counted() {
    awk -v end="$1" '$1 == "[" && $2 == end && $3 == "]" && $5 ~ /^tests?[.,]/ { n += $4 }
        END { print n + 0 }' "$2/first.log"
}

# summary TITLE FOLDER: ctest's own words, from its verdict on
summary() {
    printf '\n== %s ==\n' "$1"
    if [ -e "$2/again.txt" ]; then cat "$2/again.txt"; fi
    sed -n '/tests passed, /,$p' "$2/ctest.txt"
    echo "Among them are $(counted PASSED "$2") tests of GoogleTest."
}

# what_failed TITLE FOLDER: ctest's words, without the tests that passed
what_failed() {
    printf '\n== %s: what failed ==\n' "$1"
    grep -svE '^ *[0-9]+/[0-9]+ Test .* Passed |^ +Start ' "$2/ctest.txt" ||
        echo "nothing was run; see above"
}
