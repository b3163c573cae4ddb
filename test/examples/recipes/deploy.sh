#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
[ "${CONCH_NAME-}" = deploy ] || exec conch run -w 60 deploy -- sh "$0" "$@"
echo "deploys $1"  # under the lock
