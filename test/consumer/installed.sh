# SPDX-License-Identifier: BSL-1.0
# For the other scripts: what is installed, below the prefix, and that the program works there.
#
#   CONCH_LIBDIR=... CONCH_VERSION=... CONCH_SOURCE=...

of_library=("$CONCH_LIBDIR/libconch.a" "$CONCH_LIBDIR/libconch.so"
    "$CONCH_LIBDIR/libconch.so.$CONCH_VERSION" "$CONCH_LIBDIR/cmake/conch/conch-config.cmake"
    "$CONCH_LIBDIR/cmake/conch/conch-config-version.cmake" "$CONCH_LIBDIR/pkgconfig/conch.pc"
    share/doc/conch/copyright share/doc/conch/README.md)
mapfile -t documents < <(cd "$CONCH_SOURCE" &&
    find src/doc/*.md test/examples/*.cpp bench/results/*.svg -printf 'share/doc/conch/%p\n')
of_library+=("${documents[@]}")
mapfile -t headers < <(cd "$CONCH_SOURCE" && find include -name '*.hpp')
of_library+=("${headers[@]}")
of_program=(bin/conch share/man/man1/conch.1 share/bash-completion/completions/conch
    share/zsh/site-functions/_conch)

server=
stop_server() { [ -z "$server" ] || { kill "$server"; wait "$server" || true; }; }

# start_server FOLDER: in a new folder there, which becomes the current one: the path of a unix
# socket must be short, so it is relative. Doesn't wait until the server is ready.
start_server() {
    cd "$(mktemp -d "$1/redis.XXXXXX")"
    redis-server --port 0 --unixsocket socket --save "" --dir . >redis.txt 2>&1 &
    server=$!
}

# takes_a_lock PROGRAM: `conch`, on the server that was started
takes_a_lock() {
    local program=$1 said
    said=$("$program" --version)
    [ "$said" = "conch $CONCH_VERSION" ] || fail "$program: another version: $said"
    export CONCH_REDIS=unix:///proc/self/cwd/socket
    said=$(timeout 120 "$program" run --connect-timeout 60 installed -- \
        "$program" status --json installed)
    [[ "$said" == *'"locked":true'* ]] || fail "$program: the command runs without the lock: $said"
    said=$("$program" status --json installed)
    [[ "$said" == *'"locked":false'* ]] || fail "$program: the lock is not given back: $said"
}
