#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
conch hold -b -w 60 deploy || exit
echo "deploys $1"  # under the lock, until the script ends
