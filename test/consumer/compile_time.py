#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""A small coroutine program on conch compiles in about the time of one on Asio alone.

    compile_time.py COMPILER [OPTION...]    how to compile a user's program, -c and -o excepted

Both talk to Redis, and each includes its library by the one header that has all of it. The time is
the processor's, so that others who use the machine count for little. It still varies by a
twentieth: the least of each counts, and the bound is generous.
"""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import List

HERE = Path(__file__).resolve().parent / 'compile_time'
ROUNDS = 3
MOST = 1.1


def seconds(command: List[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True, env={**os.environ, 'CCACHE_DISABLE': '1'})
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    taken = {'asio_alone': [], 'with_conch': []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            for name, times in taken.items():
                times.append(seconds([*sys.argv[1:], '-c', str(HERE / f'{name}.cpp'),
                                      '-o', f'{folder}/{name}.o']))
    for name, times in taken.items():
        print(f'{name}: {min(times):.2f} s of CPU time, the least of',
              ', '.join(f'{t:.2f}' for t in times))
    ratio = min(taken['with_conch']) / min(taken['asio_alone'])
    print(f'conch / Asio alone: {ratio:.2f}, at most {MOST}')
    return int(ratio > MOST)


if __name__ == '__main__':
    sys.exit(main())
