#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
count() {  # in a new shell: export what it reads; what it sets is gone afterwards
    echo "counts $1"
}
export -f count
echo "not under the lock yet"
conch run -w 60 counter -- bash -c 'count "$@"' count "$1" || exit
echo "no longer under the lock"
