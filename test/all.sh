#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Every suite. The threads under TSan and the mutants run beside the quick suites under ASan + UBSan;
# all suites of the plain build follow, then those with servers for each other server.
# `bash test/run.sh --all` installs what it needs first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source test/suites.sh

# What is built once to be tested, and not to be installed.
once=(-DCONCH_BENCH=OFF -DCONCH_INSTALL=OFF)
configure build/plain -DCONCH_BENCH=ON
cmake --build build/plain
configure build/asan "-DCONCH_SANITIZE=address,undefined" "${once[@]}"
cmake --build build/asan --target conch_unit conch_sim conch_sim_unit conch_threads \
    conch_integration fuzz_resp_reader fuzz_engine fuzz_url fuzz_command_line
configure build/tsan -DCONCH_SANITIZE=thread -DCONCH_CLI=OFF "${once[@]}"
cmake --build build/tsan --target conch_threads
configure build/mutants -DCONCH_MUTANTS=ON -DCONCH_CLI=OFF "${once[@]}"
cmake --build build/mutants --target conch_sim

# Each keeps one CPU busy, while the others wait for servers for the most part.
(
    run build/tsan -L threads >/dev/null || true
    run build/mutants -L mutants >/dev/null || true
) &
beside=$!
asan=0
run build/asan -L '^(unit|sim|fuzz|threads|integration)$' || asan=$?
plain=0
run build/plain || plain=$?
skipped=$(grep -h '^SKIPPED: ' build/plain/first.log | sort -u || true)
wait "$beside"
servers=0
bash test/servers.sh build/plain || servers=$?

# A failure must be the last thing to be read.
failed=()
report() {
    if [ "$3" = 0 ]; then summary "$1" "$2"; else failed+=("$1" "$2"); fi
}
# passed FOLDER: ctest says that nothing failed
passed() { grep -q '^100% tests passed, 0 tests failed' "$1/ctest.txt"; }

report "Mutants of the engine" build/mutants "$(passed build/mutants; echo $?)"
