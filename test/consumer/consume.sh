#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Builds and runs a user's program, from what a user has. WAY is one of the functions below.
#
#   CXX=... CONCH_SOURCE=... CONCH_BUILD=... CONCH_WORK=... consume.sh WAY [KIND]
#
# and the variables of installed.sh.
# CONCH_BUILD is a finished build; everything is written to CONCH_WORK, and nothing outside of it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
prefix="$CONCH_WORK/moved prefix"
unity=(-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=24)  # it is compiled again and again
warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)

fail() { echo "consume.sh: $*" >&2; exit 1; }
source "$here/installed.sh"

# has PREFIX FILE...
has() {
    local file folder=$1
    shift
    for file in "$@"; do
        [ -f "$folder/$file" ] || fail "$file is not installed"
    done
}

# Installs with DESTDIR and without, and moves the folder: what is installed knows no path of its
# own. A space in the path must not matter.
install_prefix() {
    rm -rf "$CONCH_WORK"
    mkdir -p "$CONCH_WORK"
    cmake --install "$CONCH_BUILD" --prefix "$CONCH_WORK/first prefix" >"$CONCH_WORK/install.txt"
    DESTDIR="$CONCH_WORK/staged root" cmake --install "$CONCH_BUILD" --prefix "/some where" \
        >>"$CONCH_WORK/install.txt"
    diff -r "$CONCH_WORK/first prefix" "$CONCH_WORK/staged root/some where"
    mv "$CONCH_WORK/first prefix" "$prefix"
    has "$prefix" "${of_library[@]}"
    # A Boost of one's own is named in conch.pc, wherever it is.
    if grep -rI -e "first prefix" -e "$CONCH_BUILD" -e "$CONCH_SOURCE" "$prefix" |
        grep -vF -e "${CMAKE_PREFIX_PATH:-no path}"; then
        fail "these know a path of the machine that they were built on"
    fi
}

remove_prefix() { rm -rf "$CONCH_WORK"; }

# runs PROGRAM...: against a server of their own, for which they wait
runs() {
    local program
    trap stop_server EXIT
    start_server "$CONCH_WORK"
    for program in "$@"; do
        [ "$(timeout 120 "$program" socket)" = "locked and unlocked" ] || fail "$program failed"
    done
}

# uses PROGRAM static|shared: what the program loads
uses() {
    local loaded=static
    readelf -d "$1" | grep -q 'NEEDED.*libconch\.so\.[0-9]*\.[0-9]*\]' && loaded=shared
    [ "$loaded" = "$2" ] || fail "$1 is linked to the $loaded library, not the $2 one"
}

# builds PROJECT FOLDER [CMAKE ARGUMENT...]
builds() {
    local project=$1 folder=$2
    shift 2
    cmake -S "$project" -B "$folder" -G "$CMAKE_GENERATOR" "-DCMAKE_CXX_COMPILER=$CXX" \
        -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-O0" "$@"
    cmake --build "$folder"
}

# find_package static|shared: static is asked for by name, shared by BUILD_SHARED_LIBS and from a
# program with hidden symbols
find_package() {
    local folder="$CONCH_WORK/find_package $1" arguments=(-DKIND=static)
    if [ "$1" = shared ]; then
        arguments=(-DBUILD_SHARED_LIBS=ON -DCMAKE_CXX_VISIBILITY_PRESET=hidden
            -DCMAKE_VISIBILITY_INLINES_HIDDEN=ON)
    fi
    builds "$here/find_package" "$folder" "-DCMAKE_PREFIX_PATH=$prefix" "${arguments[@]}"
    uses "$folder/consumer_20" "$1"
    runs "$folder/consumer_20" "$folder/consumer_23"
}

# pkg_config static|shared: by hand; static is all static, as pkg-config means it
pkg_config() {
    local folder="$CONCH_WORK/pkg_config $1" standard flags arguments=() extra=()
    mkdir -p "$folder"
    export PKG_CONFIG_PATH="$prefix/$CONCH_LIBDIR/pkgconfig"
    [ "$(pkg-config --modversion conch)" = "$CONCH_VERSION" ] || fail "another version"
    if [ "$1" = static ]; then
        arguments=(--static)
        extra=(-static)
    fi
    flags=$(pkg-config --cflags --libs "${arguments[@]}" conch)
    eval "flags=($flags)"
    for standard in 20 23; do
        # glibc warns of getaddrinfo in a static program; that is not of our making.
        "$CXX" "-std=c++$standard" "${warnings[@]}" "$here/program/main.cpp" "${flags[@]}" \
            "${extra[@]}" -o "$folder/consumer_$standard"
    done
    uses "$folder/consumer_20" "$1"
    export LD_LIBRARY_PATH="$prefix/$CONCH_LIBDIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    runs "$folder/consumer_20" "$folder/consumer_23"
}

# program: the one that is installed, with what belongs to it
program() {
    has "$prefix" "${of_program[@]}"
    trap stop_server EXIT
    start_server "$CONCH_WORK"
    takes_a_lock "$prefix/bin/conch"
}

# shared_program: a Release, as no build type is named; compiles file by file without a warning;
# finds its library in the prefix, wherever that was moved to
shared_program() {
    local folder="$CONCH_WORK/shared_program"
    cmake -S "$CONCH_SOURCE" -B "$folder/build" -G "$CMAKE_GENERATOR" \
        "-DCMAKE_CXX_COMPILER=$CXX" -DCMAKE_CXX_FLAGS_RELEASE=-O0 -DCONCH_WERROR=ON \
        -DBUILD_SHARED_LIBS=ON -DCONCH_TESTS=OFF -DCONCH_BENCH=OFF
    grep -q '^CMAKE_BUILD_TYPE:.*=Release$' "$folder/build/CMakeCache.txt" ||
        fail "not a Release build"
    cmake --build "$folder/build"
    cmake --install "$folder/build" --prefix "$folder/first prefix"
    rm -rf "$folder/build"
    mv "$folder/first prefix" "$folder/moved prefix"
    uses "$folder/moved prefix/bin/conch" shared
    trap stop_server EXIT
    start_server "$CONCH_WORK"
    takes_a_lock "$folder/moved prefix/bin/conch"
}

# add_subdirectory: static, in unity; brings nothing but the library
add_subdirectory() {
    local folder="$CONCH_WORK/add_subdirectory"
    builds "$here/add_subdirectory" "$folder" "-DCONCH_SOURCE=$CONCH_SOURCE" "${unity[@]}"
    uses "$folder/consumer_20" static
    ctest --test-dir "$folder" -N | grep -q '^Total Tests: 0$' || fail "tests of the library"
    cmake --install "$folder" --prefix "$CONCH_WORK/nothing"
    [ ! -e "$CONCH_WORK/nothing" ] || fail "the library installs itself with its parent"
    runs "$folder/consumer_20" "$folder/consumer_23"
}

# old_opentelemetry: one that conch::opentelemetry does not compile with is left out
old_opentelemetry() {
    local folder="$CONCH_WORK/old_opentelemetry" version
    mkdir -p "$folder/package"
    echo "add_library(opentelemetry-cpp::metrics INTERFACE IMPORTED)
        add_library(opentelemetry-cpp::api INTERFACE IMPORTED)" \
        >"$folder/package/opentelemetry-cpp-config.cmake"
    for version in 1.18.0 1.19.0; do
        echo "set(PACKAGE_VERSION $version)" \
            >"$folder/package/opentelemetry-cpp-config-version.cmake"
        cmake -S "$CONCH_SOURCE" -B "$folder/$version" -G "$CMAKE_GENERATOR" \
            "-DCMAKE_CXX_COMPILER=$CXX" -DCONCH_TESTS=OFF -DCONCH_BENCH=OFF -DCONCH_CLI=OFF \
            "-Dopentelemetry-cpp_DIR=$folder/package" >"$folder/cmake.txt"
        cmake --build "$folder/$version" --target help >"$folder/$version.txt"
    done
    grep -q conch_opentelemetry "$folder/1.19.0.txt" || fail "the oldest that it knows is refused"
    grep -q conch_opentelemetry "$folder/1.18.0.txt" && fail "one that is too old is taken"
    return 0
}

# no_adapters: one line says which library is missing, where conch is built and where it is used
no_adapters() {
    local folder="$CONCH_WORK/no_adapters" component told said
    local none=("-DCMAKE_CXX_COMPILER=$CXX" -DCMAKE_DISABLE_FIND_PACKAGE_prometheus-cpp=ON
        -DCMAKE_DISABLE_FIND_PACKAGE_opentelemetry-cpp=ON)
    told=$(cmake -S "$CONCH_SOURCE" -B "$folder/build" -G "$CMAKE_GENERATOR" "${none[@]}" \
        -DCONCH_TESTS=OFF -DCONCH_BENCH=OFF -DCONCH_CLI=OFF 2>&1)
    for component in prometheus opentelemetry; do
        [ "$(grep -c "^-- No conch::$component: $component-cpp .*not found$" <<<"$told")" = 1 ] ||
            fail "it is not told: $told"
        mkdir -p "$folder/$component"
        printf '%s\n' 'cmake_minimum_required(VERSION 3.22)' 'project(user LANGUAGES CXX)' \
            "find_package(conch CONFIG REQUIRED COMPONENTS $component)" \
            >"$folder/$component/CMakeLists.txt"
        said=$(cmake -S "$folder/$component" -B "$folder/$component/build" \
            -G "$CMAKE_GENERATOR" "${none[@]}" "-DCMAKE_PREFIX_PATH=$prefix" 2>&1) &&
            fail "nothing is missing: $said"
        grep -q "no conch::$component: $component-cpp was not found" <<<"$said" ||
            fail "what is missing is not told: $said"
    done
}

# fetch_content: shared, in unity, without TLS: needs no OpenSSL, and says so to who wants TLS
fetch_content() {
    local folder="$CONCH_WORK/fetch_content"
    builds "$here/fetch_content" "$folder" "-DFETCHCONTENT_SOURCE_DIR_CONCH=$CONCH_SOURCE" \
        -DBUILD_SHARED_LIBS=ON "${unity[@]}" \
        -DCONCH_TLS=OFF -DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON
    uses "$folder/consumer_20" shared
    runs "$folder/consumer_20" "$folder/consumer_23"
    grep 'lib\(ssl\|crypto\)' <<<"$(ldd "$folder/without_tls")" && fail "it has OpenSSL"
    "$folder/without_tls" || fail "TLS is not refused"
}

# archive: has no debug information, and is not too large
archive() {
    local library="$prefix/$CONCH_LIBDIR/libconch.a"
    if readelf -S "$library" | grep '\.debug_' >/dev/null; then
        fail "debug information in $library"
    fi
    echo "$library: $(stat -c %s "$library") bytes"
    [ "$(stat -c %s "$library")" -le 6000000 ] || fail "more than 6 MB"
}

# readme: all that a new user writes is its first snippet and its CMakeLists.txt. Built upon the
# prefix; without one, it is asked for the sources.
readme() {
    local folder="$CONCH_WORK/readme"
    mkdir -p "$folder"
    first_snippet() {
        awk -v "begin=\`\`\`$1" '/^```$/ && on {exit} on; $0 == begin {on = 1}' \
            "$CONCH_SOURCE/README.md"
    }
    first_snippet cmake >"$folder/CMakeLists.txt"
    first_snippet cpp >"$folder/orders.cpp"
    builds "$folder" "$folder/build" "-DCMAKE_PREFIX_PATH=$prefix"
    trap stop_server EXIT
    start_server "$CONCH_WORK"
    for attempt in {1..30}; do  # it has little patience with a server that is not there yet
        if output=$("$folder/build/orders" unix:///proc/self/cwd/socket); then break; fi
    done
    [ "$output" = "settling order 7" ] || fail "the README's program, $attempt times: $output"
    cmake -S "$folder" -B "$folder/fetched" "-DCMAKE_CXX_COMPILER=$CXX" \
        -DCMAKE_DISABLE_FIND_PACKAGE_conch=ON "-DFETCHCONTENT_SOURCE_DIR_CONCH=$CONCH_SOURCE"
}

# asio_settings: what changes the layout of Asio's classes doesn't link, and the error says what
asio_settings() {
    local macro=$CONCH_WORK/asio_settings flags output
    mkdir -p "$macro"
    export PKG_CONFIG_PATH="$prefix/$CONCH_LIBDIR/pkgconfig"
    flags=$(pkg-config --cflags --libs conch)
    eval "flags=($flags)"
    links() {
        "$CXX" -std=c++20 "$@" "$here/program/first_operation.cpp" "${flags[@]}" -o "$macro/program"
    }
    links -DBOOST_ASIO_NO_DEPRECATED -DBOOST_ASIO_NO_TS_EXECUTORS || fail "harmless macros"
    output=$(links -DBOOST_ASIO_DISABLE_THREADS -DBOOST_ASIO_ENABLE_HANDLER_TRACKING 2>&1) &&
        fail "other settings of Asio than the library's link"
    grep -q 'built_with<.*without_threads, .*with_handler_tracking' <<<"$output" ||
        fail "the error doesn't tell the settings: $output"
    output=$(links -D_GLIBCXX_DEBUG 2>&1) && fail "a program with debugged buffers links"
    grep -q 'with_buffer_debugging' <<<"$output" || fail "buffer debugging isn't told: $output"
    grep -q 'client::client' <<<"$output" || fail "a client alone isn't refused: $output"
}

"$@"
