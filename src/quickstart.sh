#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Installs what is missing, builds the program, and shows a lock at work. Arguments go to
# `conch demo`.
set -euo pipefail
[[ :$PATH: == *:/usr/local/bin:* ]] || export PATH="$PATH:/usr/local/bin"  # redis-server
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash src/install-dependencies.sh
if [ ! -f build/build.ninja ]; then
    cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCONCH_QUICK_BUILD=ON \
        -DCONCH_TESTS=OFF -DCONCH_BENCH=OFF -DCONCH_INSTALL=OFF
fi
cmake --build build --target conch_program
exec build/bin/conch demo "$@"
