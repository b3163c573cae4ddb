#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# What needs Clang, and hours: each fuzz target for 60 s ($CONCH_FUZZ_SECONDS), then every suite and
# a soak of 60 s ($CONCH_SOAK_SECONDS), once under ASan + UBSan and once under TSan, the slow suites
# with Redis 6.2, the tests with Valkey 8.1, and those that mutants name, each with its mutant.
# `bash test/run.sh --deep` installs what it needs first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source test/servers.sh

fuzzed=(resp_reader engine url command_line)
fuzz_seconds=${CONCH_FUZZ_SECONDS:-60}
clang=-DCMAKE_CXX_COMPILER=$(command -v clang++-19 || command -v clang++)
broken=()

# length TARGET: bytes of an input. As many as reach the limits of what is fuzzed, and no more:
# long inputs are slow.
length() {
    case "$1" in
        resp_reader) echo 4096 ;;
        *) echo 256 ;;
    esac
}

# fuzz TARGET: begins with its corpus. What it finds is in build/fuzz/found.
fuzz() {
    local log=build/fuzz/$1.txt found=build/fuzz/found/$1
    local dictionary=test/fuzz/dictionaries/$1.dict options=()
    mkdir -p "$found"
    if [ -f "$dictionary" ]; then options+=("-dict=$dictionary"); fi
    printf '\n== fuzzing for %s s: %s ==\n' "$fuzz_seconds" "$1"
    "build/fuzz/bin/fuzz_$1" "$found" "test/fuzz/corpus/$1" "${options[@]}" \
        -max_len="$(length "$1")" -max_total_time="$fuzz_seconds" -timeout=20 -print_final_stats=1 \
        -artifact_prefix="$found-" >"$log" 2>&1 || { tail -n 40 "$log"; return 1; }
    executions "$1"
}

# executions TARGET: how many there were
executions() {
    sed -n "s/^stat::number_of_executed_units: */$1, executions: /p" "build/fuzz/$1.txt"
}

# sanitized FOLDER [CMAKE ARGUMENT...]: all suites but those that judge the sources and the package,
# and a soak
sanitized() {
    local folder=$1
    configure "$@" "$clang" -DCONCH_BENCH=OFF && cmake --build "$folder" ||
        { broken+=("the build in $folder"); return; }
    run "$folder" -LE '^(tidy|consumer)$' || broken+=("the suites in $folder")
    printf '\n== soak: %s ==\n' "$folder"
    "$folder/bin/conch_soak" --seconds "${CONCH_SOAK_SECONDS:-60}" ||
        broken+=("the soak in $folder")
}

rm -f build/clang-{asan,tsan}/ctest.txt
configure build/fuzz "$clang" -DCONCH_FUZZ=ON -DCONCH_BENCH=OFF
cmake --build build/fuzz --target "${fuzzed[@]/#/fuzz_}"
for target in "${fuzzed[@]}"; do
    fuzz "$target" || broken+=("fuzzing $target (see build/fuzz/found)")
done
sanitized build/clang-asan "-DCONCH_SANITIZE=address,undefined"
sanitized build/clang-tsan -DCONCH_SANITIZE=thread
run_server redis-6.2 build/clang-asan '^(integration|deployment)-slow$' ||
    broken+=("the slow suites with Redis 6.2")
run_server valkey-8.1 build/clang-asan "$(server_labels valkey-8.1)" ||
    broken+=("the tests with Valkey 8.1")
printf '\n== the tests that mutants name ==\n'
configure build/mutants -DCONCH_MUTANTS=ON -DCONCH_CLI=OFF -DCONCH_BENCH=OFF -DCONCH_INSTALL=OFF &&
    cmake --build build/mutants --target conch_mutant_tests &&
    build/mutants/bin/conch_mutant_tests || broken+=("the tests that mutants name")

printf '\n== fuzzing ==\n'
for target in "${fuzzed[@]}"; do executions "$target"; done
for folder in build/clang-asan build/clang-tsan; do
    if passed "$folder"; then summary "$folder" "$folder"; else what_failed "$folder" "$folder"; fi
done
for one in "${broken[@]}"; do printf 'FAILED: %s\n' "$one"; done
[ "${#broken[@]}" = 0 ]
