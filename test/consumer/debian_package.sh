#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Makes the Debian package, installs it into a folder with a package database of its own, and
# removes it. The machine's database is never touched.
#
#   CONCH_BUILD=... CONCH_WORK=... debian_package.sh, and the variables of installed.sh
set -euo pipefail
work="$CONCH_WORK package"
root="$work/root"

fail() { echo "debian_package.sh: $*" >&2; exit 1; }
source "$(dirname "${BASH_SOURCE[0]}")/installed.sh"

rm -rf "$work"
mkdir -p "$work" "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info"
trap 'stop_server; rm -rf "$work"' EXIT
: >"$root/var/lib/dpkg/status"

cpack --config "$CONCH_BUILD/CPackConfig.cmake" -G DEB -B "$work/cpack" >"$work/cpack.txt" ||
    { cat "$work/cpack.txt"; fail "cpack failed"; }
package=$(echo "$work"/cpack/conch_*.deb)

# field NAME PATTERN: a field of the package is as it should be
field() {
    local value
    value=$(dpkg-deb --field "$package" "$1")
    [[ "$value" =~ $2 ]] || fail "$1: $value"
}
field Package '^conch$'
field Version "^$CONCH_VERSION\$"
field Description 'Redis'
if command -v dpkg-shlibdeps >/dev/null; then
    field Depends 'libc6 \(>= '
    field Depends 'libstdc\+\+6'
    [ "$CONCH_TLS" = OFF ] || field Depends 'libssl[0-9]'
fi

dpkg-deb --fsys-tarfile "$package" | tar -t | sed 's|^\.||' | grep -v '/$' | sort >"$work/files"
for file in "${of_library[@]}" "${of_program[@]}"; do
    grep -qxF "/usr/$file" "$work/files" || fail "the package has no $file"
done
if grep -v '^/usr/' "$work/files"; then
    fail "these are not under /usr"
fi

# Also without a server, the program must start.
works() {
    "$root/usr/bin/conch" --help >/dev/null || fail "the installed program doesn't run"
    if command -v redis-server >/dev/null; then
        start_server "$work"
        takes_a_lock "$root/usr/bin/conch"
    fi
}

# Owners of files can only be set by root, real or pretended.
as_root=()
if [ "$(id -u)" != 0 ]; then
    if ! command -v fakeroot >/dev/null; then
        dpkg-deb -x "$package" "$root"
        works
        exit
    fi
    as_root=(fakeroot)
fi
in_root() {
    "${as_root[@]}" dpkg --root="$root" --force-not-root --force-depends --force-script-chrootless \
        --log="$work/dpkg.txt" "$@" 2>&1
}
(cd "$root" && find . -mindepth 1 -not -path './var/*' | sort) >"$work/before"
in_root --install "$package"
(cd "$root" && find . ! -type d -not -path './var/*' | sed 's|^\.||' | sort) >"$work/installed"
diff "$work/files" "$work/installed" || fail "installed is not what the package lists"
works
in_root --purge conch
(cd "$root" && find . -mindepth 1 -not -path './var/*' | sort) >"$work/after"
diff "$work/before" "$work/after" || fail "removal left these"
