#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Measures two builds of conch_bench by turns, and prints what the second is of the first.

    against.py OLD NEW [ROUNDS]     the programs, and how often each runs everything (default: 11)

The figure is the median of the ratios of single rounds, with the least and the greatest. For rates
above 1 is better, for times and instructions below 1. Nothing else should run meanwhile.
"""

import json
import statistics
import subprocess
import sys
from typing import Iterator, List, NamedTuple, Tuple


class Case(NamedTuple):
    words: str
    figure: str


CASES = [
    *(Case(f'uncontended --coroutines {n} --seconds {s}', 'pairs_per_s')
      for n, s in ((1, 0.1), (16, 0.1), (128, 0.1), (1024, 0.2))),
    Case('local --coroutines 128 --seconds 0.1', 'acquisitions_per_s'),
    Case('contended --processes 4 --coroutines 16 --seconds 0.2', 'acquisitions_per_s'),
    Case('handoff --passes 60', 'p50_us'),
    *(Case(f'instructions --coroutines {n}', 'instructions_per_pair')
      for n in (1, 128)),
]


def measure(program: str, case: Case) -> float:
    words = [program, *case.words.split(), '--json']
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)[case.figure]


def pairs(old: str, new: str, case: Case, rounds: int) -> Iterator[Tuple[float, float]]:
    """Each begins every second round."""
    for turn in range(rounds):
        if turn % 2:
            second = measure(new, case)
            yield measure(old, case), second
        else:
            yield measure(old, case), measure(new, case)


def main(words: List[str]) -> int:
    old, new, rounds = [*words, '11'][:3] if len(words) in (2, 3) else ['', '', '']
    if not rounds.isdigit() or int(rounds) == 0:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    for case in CASES:
        ratios = [b / a for a, b in pairs(old, new, case, int(rounds))]
        print(f'{case.words}: {case.figure} '
              f'{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})',
              flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
