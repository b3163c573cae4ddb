#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Builds the driver around Redisson into a folder: classes/, and lib/ with what it depends on.
# Does nothing where that is newer than its sources. Downloads what Maven does not have yet, from
# where its settings say. The last line on standard error says why it failed.
#
#   bash test/interop/build.sh FOLDER
set -euo pipefail
[ $# = 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"

need() {
    local program
    for program in "$@"; do
        if ! command -v "$program" >/dev/null; then
            echo "no $program in PATH" >&2
            exit 1
        fi
    done
}

need java
complete=$folder/complete
if [ -e "$complete" ] && [ -z "$(find pom.xml src build.sh -newer "$complete")" ]; then
    exit 0
fi
rm -f "$complete"
need javac mvn

# Each download has a limit of its own, all together have none.
build() {
    timeout 400 mvn -B -q "-Ddriver.folder=$folder" "$@" process-classes \
        </dev/null >"$folder/maven.txt" 2>&1
}

rm -rf "$folder/classes" "$folder/lib"
if ! build --offline && ! build --update-snapshots; then
    cat "$folder/maven.txt" >&2
    echo "Maven: $(grep -o -m1 '\[ERROR\] ..*' "$folder/maven.txt" || echo 'it took too long')" >&2
    exit 1
fi
touch "$complete"
