#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# The package's postinst and postrm. Where it goes to a folder other than /, this machine's cache
# of libraries is not concerned.
set -e
[ -n "${DPKG_ROOT:-}" ] || ldconfig
