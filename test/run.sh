#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Installs what is missing, builds, and tests. The status is not 0 if anything failed.
#
#   bash test/run.sh              tells within ten minutes whether the lock works here: one build,
#                                 unit and integration tests, simulated seeds, examples, a user's
#                                 program
#   bash test/run.sh --all        within the hour every suite: units, simulation and threads under
#                                 ASan + UBSan, threads under TSan, each rule of the lock broken
#                                 once (mutants), replicas, sentinels and clusters, Redisson,
#                                 packages, older and newer servers
#   bash test/run.sh --compilers  each compiler and Boost that this distribution offers
#   bash test/run.sh --deep       hours: fuzzing, every suite under each sanitizer, long soaks
#   bash test/run.sh --seeds      hours: 100,000 simulated seeds for each kind of server
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source test/suites.sh

mode=${1:---quick}
if [ $# -gt 1 ]; then mode=usage; fi
case "$mode" in
    --quick | --all | --seeds) bash src/install-dependencies.sh --tests ;;
    --deep) bash src/install-dependencies.sh --tests --deep ;;
    --compilers) ;;
    *) echo "usage: $0 [--all | --compilers | --deep | --seeds]" >&2; exit 2 ;;
esac

quick='^(unit|integration|threads|sim|fuzz|tidy|quick)$'
if [ "$mode" = --quick ]; then
    configure build/plain -DCONCH_BENCH=OFF
    cmake --build build/plain
    status=0
    run build/plain -L "$quick" || status=$?
    summary "The quick suites" build/plain
    cat <<'WORDS'

`bash test/run.sh --all` adds: the sanitizers, mutants, slow tests, soaks, replicas, sentinels and
clusters, Redisson, packages and installs, benchmarks' tests, older and newer servers.
WORDS
    exit "$status"
fi
exec bash "test/${mode#--}.sh"
