#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Every suite. The threads under TSan and the mutants run beside what ASan and UBSan judge: the
# units, the simulation and the threads. With the rest they take long to compile; test/deep.sh does
# so. All suites of the plain build follow, then those with real servers for the oldest other server
# and the newest of each kind.
# `bash test/run.sh --all` installs what it needs first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source test/suites.sh

# Built to be tested, and for nothing else.
once=(-DCONCH_CLI=OFF -DCONCH_BENCH=OFF -DCONCH_INSTALL=OFF)
configure build/plain -DCONCH_BENCH=ON
cmake --build build/plain
configure build/asan "-DCONCH_SANITIZE=address,undefined" "${once[@]}"
cmake --build build/asan --target conch_unit conch_threads conch_sim conch_sim_unit \
    fuzz_{resp_reader,engine,answers,url}
configure build/tsan -DCONCH_SANITIZE=thread "${once[@]}"
cmake --build build/tsan --target conch_threads
configure build/mutants -DCONCH_MUTANTS=ON "${once[@]}"
cmake --build build/mutants --target conch_sim

# Each of these keeps one CPU busy, while the others wait for servers for the most part.
rm -f build/{plain,asan,tsan,mutants}/ctest.txt
(
    run build/tsan -L threads >/dev/null || true
    run build/mutants -L mutants >/dev/null || true
) &
beside=$!
run build/asan -L '^(unit|sim|fuzz|threads)$' || true
run build/plain || true
wait "$beside"
status=0
bash test/servers.sh redis-6.2 redis-8.2 valkey-9.1 >build/servers.txt || status=$?

declare -A titles=([mutants]='Mutants of the engine' [tsan]=TSan [asan]='ASan and UBSan'
    [plain]='The plain build')
for suite in mutants tsan asan plain; do
    if passed "build/$suite"; then summary "${titles[$suite]}" "build/$suite"; fi
done
grep -h '^SKIPPED: ' build/plain/first.log | sort -u || true

# A failure must be the last thing to be read.
sed -n '/^== The other servers ==$/,$p' build/servers.txt
for suite in mutants tsan asan plain; do
    passed "build/$suite" || { status=1; what_failed "${titles[$suite]}" "build/$suite"; }
done
exit "$status"
