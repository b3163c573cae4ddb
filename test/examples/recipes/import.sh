#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
for part in "$@"; do
    echo "imports $part"
    echo >&"$CONCH_PROGRESS_FD"
done
