#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Builds conch_bench with optimisation and runs every benchmark, one after the other, on private
# servers. What each says is in bench/results/*.json afterwards, plots of it are in *.svg beside;
# nothing else should run meanwhile.
#
#   bash bench/run.sh [RESULTS]             takes about thirteen minutes; RESULTS: another folder
#   bash bench/run.sh --topologies [RESULTS]
#                                           only one server, TLS, Sentinel and Cluster: two minutes
#   bash bench/run.sh --waiters [RESULTS]   only what a waiter takes of memory: half a minute
#   bash bench/run.sh --peers [RESULTS]     instead conch beside other libraries, by turns, in one
#                                           table and in peers.json: about as long. Installs them
#                                           into the build folder, from where pip, npm, Maven and
#                                           Go are configured to look
#
# The tables of src/doc/performance.md and of README.md follow bench/results. Each JSON file has the
# commit that it was measured at, "-dirty" if the sources were others. $CONCH_BENCH_BUILD: the build
# folder (default build/release).
set -euo pipefail
[[ :$PATH: == *:/usr/local/bin:* ]] || export PATH="$PATH:/usr/local/bin"  # redis-server
cd "$(dirname "${BASH_SOURCE[0]}")/.."

what=all
case ${1:-} in
    --peers | --topologies | --waiters)
        what=${1#--}
        shift
        ;;
esac
if [ $# -gt 1 ] || [[ ${1:-} == -* ]]; then
    sed -n '3,18s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
results=${1:-bench/results}
folder=${CONCH_BENCH_BUILD:-build/release}
cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCONCH_TESTS=OFF -DCONCH_CLI=OFF \
    -DCONCH_INSTALL=OFF
cmake --build "$folder" --target conch_bench conch_peer
mkdir -p "$results"

# commit: what is measured. What measuring itself changes doesn't count
commit() {
    local id
    id=$(git rev-parse --short HEAD 2>/dev/null) || return 0
    if [ -n "$(git status --porcelain -- . ':!bench/results' ':!src/doc/performance.md' \
            ':!README.md')" ]; then
        id+=-dirty
    fi
    echo "$id"
}
commit=$(commit)

# stamp FILE: puts the commit into this JSON object
stamp() {
    [ -z "$commit" ] || sed -i "1s/^{/{\"commit\":\"$commit\",/" "$1"
}

# show: what was measured, as pictures (none is of topologies) and, if it is in its place, in the
# page on performance
show() {
    local status=0
    case $what in
        all) python3 -B bench/plot.py "$results" || status=1 ;;
        peers) python3 -B bench/plot.py --peers "$results" || status=1 ;;
    esac
    if [ "$results" -ef bench/results ]; then python3 -B bench/readme.py || status=1; fi
    return "$status"
}

if [ "$what" = peers ]; then
    python3 -B bench/peers/peers.py --build "$folder" --json "$results/peers.json.part"
    stamp "$results/peers.json.part"
    mv "$results/peers.json.part" "$results/peers.json"
    show
    exit
fi

# run NAME BENCHMARK [OPTION...]: leaves RESULTS/NAME.json, or nothing if it fails
failed=()
run() {
    local name=$1 part
    shift
    part=$results/$name.json.part
    printf '%-30s conch_bench %s\n' "$name" "$*"
    if "$folder/bin/conch_bench" "$@" --json >"$part"; then
        stamp "$part"
        mv "$part" "$results/$name.json"
    else
        rm -f "$part" "$results/$name.json"
        failed+=("$name")
    fi
}

# machine: what the figures were measured on
machine() {
    local cpu redis compiler
    cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
    redis=$(redis-server --version | sed -n 's/.*v=\([^ ]*\).*/\1/p')
    compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[^=]*=//p' "$folder/CMakeCache.txt")
    printf '{"cpu":"%s","cores":%d,"kernel":"%s","redis":"%s","compiler":"%s","commit":"%s"}\n' \
        "$cpu" "$(nproc)" "$(uname -r)" "$redis" \
        "$("$compiler" --version | head -n 1)" "$commit"
}

# topologies: the same over TCP, wherever the servers are
topologies() {
    local topology
    for topology in single tls sentinel cluster; do
        run "topology-uncontended-$topology" uncontended --topology "$topology" --coroutines 1
        run "topology-handoff-$topology" handoff --topology "$topology"
    done
}

# finish: shows it, and tells what has failed
finish() {
    show || failed+=("the plots or the tables")
    if [ "${#failed[@]}" != 0 ]; then
        printf 'FAILED: %s\n' "${failed[@]}"
        exit 1
    fi
}

# waiters: what one takes of memory, for each kind of lock but a mutex
waiters() {
    local kind
    for kind in 1:fair 2:readers 3:permits 4:counters 5:latches 6:several; do
        run "waiters-${kind#*:}" names --names 10000 --kind "${kind%:*}"
    done
}

if [ "$what" != all ]; then
    "$what"
    finish
    exit
fi

machine >"$results/machine.json"
for coroutines in 1 16 128 1024 10000; do
    seconds=0.5
    if [ "$coroutines" -ge 1024 ]; then seconds=2; fi
    run "uncontended-$coroutines" uncontended --coroutines "$coroutines" --seconds "$seconds"
done
run uncontended-1-pinned uncontended --coroutines 1 --pin 1
run permits-128 uncontended --coroutines 128 --permits 1
run several-128 uncontended --coroutines 128 --locks 2
run calls-verdicts-128 calls --coroutines 128
run calls-latch-128 calls --coroutines 128 --latch 1
run calls-permits-128 calls --coroutines 128 --permits 1
for coroutines in 1 16 128 1024; do
    run "local-$coroutines" local --coroutines "$coroutines"
done
run local-fenced local --coroutines 128 --fenced 1
run local-readers local --coroutines 128 --readers 100
for processes in 1 2 4 8; do
    for coroutines in 1 16 64; do
        run "contended-$processes-$coroutines" contended --processes "$processes" \
            --coroutines "$coroutines"
    done
done
run contended-fenced-4-16 contended --processes 4 --coroutines 16 --fenced 1
run contended-fair-4-1 contended --processes 4 --coroutines 1 --fair 1
run contended-readers-4-16 contended --processes 4 --coroutines 16 --readers 99
run handoff handoff --passes 200
run handoff-fair handoff --passes 200 --fair 1
run handoff-unpinned handoff --passes 200 --pin 0
for holds in 1000 10000 100000; do
    run "holds-$holds" holds --holds "$holds" --lease 3
done
topologies
run names-10000 names --names 10000
waiters
run reconnect-10000 reconnect --holds 10000
for coroutines in 1 128; do
    run "instructions-$coroutines" instructions --coroutines "$coroutines"
    run "instructions-metrics-$coroutines" instructions --coroutines "$coroutines" --metrics 1
done

finish
