#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Installs what is missing, builds, and runs every suite: the threads suite in a TSan build, all of
# them in an ASan + UBSan build, then in the plain one. Ends with ctest's summaries; the status is
# not 0 if anything failed.
#
#   bash test/run.sh            everything; what is skipped is said at the end
#   bash test/run.sh --fast     the plain build's unit and integration tests, without the slow ones
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fast=no
for argument in "$@"; do
    case "$argument" in
        --fast) fast=yes ;;
        *) echo "usage: $0 [--fast]" >&2; exit 2 ;;
    esac
done

# configure FOLDER [CMAKE ARGUMENT...]
configure() {
    local folder=$1
    shift
    cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCONCH_TESTS=ON "$@"
}

# build FOLDER [CMAKE ARGUMENT...]
build() {
    configure "$@"
    cmake --build "$1"
}

# run FOLDER [CTEST ARGUMENT...]: leaves what ctest says in FOLDER/ctest.txt
run() {
    local folder=$1
    shift
    ctest --test-dir "$folder" --output-on-failure --no-tests=error -j2 "$@" 2>&1 |
        tee "$folder/ctest.txt"
}

# summary TITLE FOLDER: ctest's own words, from its verdict on
summary() {
    printf '\n== %s ==\n' "$1"
    sed -n '/tests passed, /,$p' "$2/ctest.txt"
}

bash src/install-dependencies.sh --tests

if [ "$fast" = yes ]; then
    build build
    run build -L '^(unit|integration)$' -LE slow
    exit
fi

build build
build build/asan "-DCONCH_SANITIZE=address,undefined" -DCONCH_BENCH=OFF
configure build/tsan -DCONCH_SANITIZE=thread -DCONCH_BENCH=OFF -DCONCH_CLI=OFF
cmake --build build/tsan --target conch_threads
tsan=0
run build/tsan -L threads || tsan=$?
asan=0
run build/asan -LE tidy || asan=$?
plain=0
run build || plain=$?

# A failure must be the last thing to be read.
failed=()
report() {
    if [ "$3" = 0 ]; then summary "$1" "$2"; else failed+=("$1" "$2"); fi
}
report "TSan" build/tsan "$tsan"
report "ASan and UBSan" build/asan "$asan"
report "plain build" build "$plain"
grep -h '^SKIPPED: ' build/Testing/Temporary/LastTest.log || true
for ((i = 0; i < ${#failed[@]}; i += 2)); do
    summary "${failed[i]}" "${failed[i + 1]}"
done
[ "${#failed[@]}" = 0 ]
