#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Plays the simulation alone: 100,000 seeds ($CONCH_SIM_SEEDS) from 1 on ($CONCH_SIM_FIRST) with
# each kind of server ($CONCH_SIM_SERVERS). `bash test/run.sh --seeds` installs what it needs first.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source test/suites.sh

folder=build/seeds
part=2500
all_servers="alone sentinel cluster read-write fair majority counters permits deadlocks"
read -ra servers <<<"${CONCH_SIM_SERVERS:-$all_servers}"
first_seed=${CONCH_SIM_FIRST:-1}
last_seed=$((first_seed + ${CONCH_SIM_SEEDS:-100000} - 1))

# The parts, a line each: SERVER FIRST COUNT
parts() {
    local server first left
    for server in "${servers[@]}"; do
        for ((first = first_seed; first <= last_seed; first += part)); do
            left=$((last_seed - first + 1))
            echo "$server $first $((left < part ? left : part))"
        done
    done
}

configure "$folder" -DCONCH_CLI=OFF -DCONCH_BENCH=OFF -DCONCH_INSTALL=OFF
cmake --build "$folder" --target conch_sim
rm -f "$folder"/*-*.txt

# As many parts at a time as there are CPUs. Each leaves what it says in the folder.
broken=0
parts | xargs -P "$(nproc)" -L 1 bash -c '
    said=$0/$1-$2.txt
    "$0/bin/conch_sim" --server "$1" --seed "$2" --count "$3" --keep-going >"$said" 2>&1 ||
        { echo "FAILED: $said"; exit 1; }' "$folder" || broken=1

for server in "${servers[@]}"; do
    awk -v server="$server" -v first="$first_seed" '
        / seeds in / { seeds += $1; events += $7; grants += $9; losses += $11 }
        / seeds with violations$/ { bad += $1 }
        END {
            printf "%s: %d seeds from %d on, %d with violations; ", server, seeds, first, bad
            printf "%d events, %d grants, %d losses told\n", events, grants, losses
        }
    ' "$folder/$server"-*.txt
done
grep -hE '^(seed|  replay)' "$folder"/*-*.txt || true
exit "$broken"
