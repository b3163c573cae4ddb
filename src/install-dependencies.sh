#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Installs what building conch needs and what is missing, with apt-get. Changes nothing, and asks
# for no rights, where all is there.
#
#   bash src/install-dependencies.sh [--tests] [--deep]
#
# --tests: also what the tests need, and a JDK, Maven, Python's venv, valgrind, prometheus-cpp,
#   Prometheus and (where apt has it) opentelemetry-cpp, without which some are skipped.
# --deep: for the tests that need Clang and its libFuzzer.
set -euo pipefail
[[ :$PATH: == *:/usr/local/bin:* ]] || export PATH="$PATH:/usr/local/bin"  # redis-server

with_tests=no
with_clang=no
for argument in "$@"; do
    case "$argument" in
        --tests) with_tests=yes ;;
        --deep) with_clang=yes ;;
        *) echo "usage: $0 [--tests] [--deep]" >&2; exit 2 ;;
    esac
done

has() { command -v "$1" >/dev/null 2>&1; }

is_installed() {
    has dpkg-query &&
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]
}

compiler() {
    local candidate
    for candidate in "${CXX:-}" c++ g++ clang++; do
        if [ -n "$candidate" ] && has "${candidate%% *}"; then
            echo "$candidate"
            return
        fi
    done
    return 1
}

# Reads a program from stdin; the arguments go to the compiler.
compiles() {
    local cxx root flags=()
    cxx=$(compiler) || return 1
    for root in "${BOOST_ROOT:-}" "${Boost_ROOT:-}"; do
        if [ -n "$root" ]; then
            flags+=("-I$root/include" "-I$root" "-L$root/lib" "-L$root/stage/lib")
        fi
    done
    # CXX may carry arguments of its own.
    # shellcheck disable=SC2086
    $cxx "${flags[@]}" -x c++ - -o /dev/null "$@" >/dev/null 2>&1
}

# Boost 1.81 or newer with the three compiled libraries, from wherever it came.
has_boost() {
    compiles -lboost_url -lboost_json -lboost_program_options <<'EOF'
#include <boost/version.hpp>
#if BOOST_VERSION < 108100
#error too old
#endif
#include <boost/asio/version.hpp>
#include <boost/url/scheme.hpp>
int main() {}
EOF
}

has_openssl() {
    compiles -lssl -lcrypto <<'EOF'
#include <openssl/ssl.h>
#if OPENSSL_VERSION_NUMBER < 0x10101000L
#error too old
#endif
int main() {}
EOF
}

has_gtest() {
    compiles -fsyntax-only <<'EOF'
#include <gtest/gtest.h>
EOF
}

# A Clang that has the libraries of its fuzzer and its sanitizers with it.
has_libfuzzer() {
    local clang
    clang=$(command -v clang++-19 || command -v clang++) || return 1
    "$clang" -fsanitize=fuzzer,address -x c++ - -o /dev/null >/dev/null 2>&1 <<'EOF'
#include <cstddef>
#include <cstdint>
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t*, std::size_t) { return 0; }
EOF
}

# As a static program has it: Debian 13's needs zlib and zstd.
has_static_openssl() {
    local libraries
    libraries=$(pkg-config --static --libs openssl 2>/dev/null) || return 1
    # shellcheck disable=SC2086
    compiles -static $libraries <<<'int main() {}'
}

has_prometheus() {
    compiles -fsyntax-only <<'EOF'
#include <prometheus/exposer.h>
EOF
}

has_opentelemetry() {
    compiles -fsyntax-only <<'EOF'
#include <opentelemetry/sdk/metrics/meter_provider.h>
EOF
}

# has_lua VERSION: for the simulated server; Redis has 5.1, others have 5.4.
has_lua() {
    compiles "-llua$1" "-I/usr/include/lua$1" <<'EOF'
#include <lua.hpp>
int main() {}
EOF
}

# What is missing, as the packages that bring it.
missing_packages() {
    compiler >/dev/null || echo g++
    has cmake || echo cmake
    has ninja || echo ninja-build
    has ccache || echo ccache
    if ! has_boost; then
        local package
        for package in $(boost_packages "$(boost_version)"); do
            is_installed "$package" || echo "$package"
        done
    fi
    has_openssl || is_installed libssl-dev || echo libssl-dev
    # The server's program is in redis-tools; redis-server would add a system service to it.
    has redis-server || is_installed redis-tools || echo redis-tools
    if [ "$with_tests" = yes ]; then
        has_gtest || is_installed libgtest-dev || echo libgtest-dev
        has openssl || echo openssl
        has python3 || echo python3
        has doxygen || echo doxygen
        has pkg-config || echo pkg-config
        has_lua 5.1 || echo liblua5.1-0-dev
        has_lua 5.4 || echo liblua5.4-dev
    fi
    if [ "$with_clang" = yes ] && ! has_libfuzzer; then
        printf '%s\n' clang-19 libclang-rt-19-dev
    fi
}

# The same, of what the tests can do without.
missing_options() {
    if [ "$with_tests" = yes ]; then
        has javac || is_installed default-jdk-headless || echo default-jdk-headless
        has mvn || is_installed maven || echo maven
        python3 -c 'import ensurepip' >/dev/null 2>&1 || is_installed python3-venv ||
            echo python3-venv
        has valgrind || is_installed valgrind || echo valgrind
        has_prometheus || is_installed prometheus-cpp-dev || echo prometheus-cpp-dev
        has_opentelemetry || is_installed opentelemetry-cpp-dev || ! has apt-cache ||
            candidates opentelemetry-cpp-dev | sed 's/.*/opentelemetry-cpp-dev/'
        has_static_openssl || printf '%s\n' zlib1g-dev libzstd-dev
    fi
}

# boost_packages VERSION: "" is the distribution's default.
boost_packages() {
    printf "libboost%s$1-dev\n" "" -url -json -program-options
}

# candidates PACKAGE...: the version of each that apt can install. Nothing for a package that
# others only refer to.
candidates() {
    LC_ALL=C apt-cache policy "$@" | sed -n 's/^  Candidate: \([^(]\)/\1/p'
}

# offers_boost VERSION: all parts of it can be had, and are new enough.
offers_boost() {
    local packages versions
    mapfile -t packages < <(boost_packages "$1")
    mapfile -t versions < <(candidates "${packages[@]}")
    [ "${#versions[@]}" = "${#packages[@]}" ] && dpkg --compare-versions "${versions[0]}" ge 1.81
}

# The version to install: one that is there in part (two conflict), the distribution's default
# (""), or else the newest beside it. False if apt knows none.
boost_version() {
    has apt-cache || return
    local version versions
    mapfile -t versions < <(apt-cache pkgnames libboost-url |
        sed -n 's/^libboost-url\([0-9.]*[0-9]\)-dev$/\1/p' | sort -rV)
    for version in "${versions[@]}"; do
        if is_installed "libboost$version-dev" && offers_boost "$version"; then
            echo "$version"
            return
        fi
    done
    for version in "" "${versions[@]}"; do
        if offers_boost "$version"; then
            echo "$version"
            return
        fi
    done
    return 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif has sudo; then
        sudo "$@"
    else
        echo "conch: neither root nor sudo; please run as root: $*" >&2
        exit 1
    fi
}

install_packages() {
    echo "conch: installing: $*"
    if ! as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends --no-remove "$@"; then
        echo "conch: apt-get could not install: $*" >&2
        echo "conch: (nothing is removed to make room; Boost packages of another version that" >&2
        echo "conch:  conflict would have to go first, or set BOOST_ROOT to Boost >= 1.81)" >&2
        exit 1
    fi
}

# Gives the server's program, which redis-tools brings under another name, its usual one.
link_redis_server() {
    local program
    has redis-server && return
    program=$(command -v redis-check-rdb || true)
    if [ -n "$program" ]; then
        echo "conch: linking /usr/local/bin/redis-server to $program (no service is started)"
        as_root mkdir -p /usr/local/bin
        as_root ln -s "$program" /usr/local/bin/redis-server
    fi
}

# The programs alone, of a package that would add a system service to them.
unpack_prometheus() {
    local folder package status=0
    echo "conch: unpacking prometheus and promtool to /usr/local/bin (no service is started)"
    folder=$(mktemp -d)
    (
        cd "$folder" && as_root apt-get update || exit
        apt-get -o APT::Sandbox::User=root download prometheus || exit
        # Since Debian 13 that is a package of its own.
        apt-get -o APT::Sandbox::User=root download promtool 2>/dev/null || true
        for package in ./*.deb; do
            dpkg-deb --fsys-tarfile "$package" | tar -x --wildcards './usr/bin/prom*' || exit
        done
        as_root install -D -t /usr/local/bin usr/bin/prom{etheus,tool}
    ) || status=1
    rm -rf "$folder"
    return "$status"
}

mapfile -t missing < <(missing_packages)
if [ "${#missing[@]}" -gt 0 ]; then
    if ! has apt-get; then
        echo "conch: please install what these Debian packages hold: ${missing[*]}" >&2
        exit 1
    fi
    as_root apt-get update
    mapfile -t missing < <(missing_packages)  # the lists may be new
    if ! has_boost && ! boost_version >/dev/null; then
        echo "conch: apt offers no Boost >= 1.81 with its libraries url, json, program_options;" >&2
        echo "conch: please build one, and set BOOST_ROOT to where it is" >&2
        exit 1
    fi
    install_packages "${missing[@]}"
fi
mapfile -t options < <(missing_options)
if [ "${#options[@]}" -gt 0 ]; then
    if ! has apt-get || ! (
        [ "${#missing[@]}" -gt 0 ] || as_root apt-get update
        install_packages "${options[@]}"
    ); then
        echo "conch: going on without: ${options[*]}" >&2
    fi
fi
if [ "$with_tests" = yes ] && ! { has prometheus && has promtool; }; then
    if ! has apt-get || ! unpack_prometheus; then
        echo "conch: going on without: prometheus, promtool" >&2
    fi
fi
link_redis_server
if ! has redis-server; then
    echo "conch: no redis-server in PATH" >&2
    exit 1
fi
