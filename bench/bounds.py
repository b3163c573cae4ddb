#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""What the results of bench/run.sh must keep.

    bounds.py [FOLDER]    default: bench/results

Tells each figure that is beyond its bound; the status is 1 if there are any.
"""

import operator
import re
import sys
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple

from figures import Missing, read

RESULTS = Path(__file__).resolve().parent / 'results'
CONFIG = RESULTS.parents[1] / 'include' / 'conch' / 'config.hpp'
RELATIONS = {'<=': operator.le, '<': operator.lt, '>=': operator.ge}


class Bound(NamedTuple):
    file: str
    figure: str
    relation: str
    bound: float


def max_passes() -> int:
    """The default."""
    return int(re.search(r'\bmax_passes = (\d+);', CONFIG.read_text())[1])


CALLS = 'script_calls_per_acquisition'
# A slice of each round begins and ends with a row that is not whole.
WHOLE = 1.01


def contended(file: str, processes: int, least_jain_index: float) -> List[Bound]:
    """Nobody starves."""
    return [Bound(file, CALLS, '<=', 2 + processes),
            Bound(file, 'jain_index', '>=', least_jain_index),
            Bound(file, 'longest_wait_ms', '<', 1000)]


BOUNDS = [
    Bound('uncontended-128', 'ratio', '>=', 1),
    Bound('uncontended-1', 'latency_ratio', '<=', 1.2),
    Bound('topology-uncontended-single', 'latency_ratio', '<=', 1.2),
    Bound('uncontended-1', 'allocations_per_pair', '<=', 0.001),
    Bound('uncontended-128', 'allocations_per_pair', '<=', 0.1),
    Bound('permits-128', 'ratio', '>=', 0.9),
    Bound('calls-verdicts-128', 'ratio', '>=', 0.9),
    # The shorter the script, the more of a turn is the client's time, in which the server waits.
    Bound('calls-latch-128', 'ratio', '>=', 0.85),
    Bound('calls-permits-128', 'ratio', '>=', 0.85),
    # Wherever the servers are, nobody asks anybody else.
    *(bound for t in ('single', 'tls', 'sentinel', 'cluster')
      for bound in (Bound(f'topology-uncontended-{t}', 'round_trips_per_pair', '<=', 2.01),
                    Bound(f'topology-handoff-{t}', 'round_trips_per_pass', '<=', 6.05))),
    # From run to run it varies by a tenth.
    Bound('handoff', 'ratio_p50', '<=', 1.25),
    Bound('handoff', 'ratio_p99', '<=', 2),
    # One that waits for itself alone has nobody to pass the lock to.
    *(Bound(f'local-{n}', CALLS, '<=', 2 / max_passes() * WHOLE) for n in (16, 128, 1024)),
    Bound('local-fenced', CALLS, '<=', 2 + 1),
    *(bound for p in (1, 2, 4, 8) for c in (1, 16, 64)
      for bound in contended(f'contended-{p}-{c}', p, 0.9)),
    *contended('contended-fenced-4-16', 4, 0.8),
    Bound('contended-fair-4-1', CALLS, '<=', 2.3),
    Bound('contended-fair-4-1', 'jain_index', '>=', 0.99),
    Bound('handoff-fair', 'ratio_p50', '<=', 1.25),
    Bound('local-readers', 'acquisitions_per_s', '>=', 200_000),
    Bound('holds-100000', 'lost', '<=', 0),
    Bound('holds-100000', 'cpu_share', '<', 0.5),
    Bound('holds-100000', 'lateness_p99_ms', '<', 100),
    Bound('holds-1000', 'bytes_per_hold', '<', 512),
    *(Bound(f'holds-{n}', 'bytes_per_hold', '<', 512) for n in (10000, 100000)),
    Bound('names-10000', 'bytes_per_waiter', '<', 1024),
    Bound('names-10000', 'connections', '<=', 1),
    *(Bound(f'waiters-{kind}', 'bytes_per_waiter', '<', 1024)
      for kind in ('readers', 'permits', 'counters', 'latches')),
    # It has its place at the server all the while, which may give it the lock unasked.
    Bound('waiters-fair', 'bytes_per_waiter', '<', 1400),
    Bound('waiters-fair', 'connections', '<=', 1),
]


class Share(NamedTuple):
    """Of the same figure of another file."""
    file: str
    figure: str
    of: str
    most: float


SHARES = [Share(f'instructions-metrics-{n}', 'instructions_per_pair', f'instructions-{n}', 1.03)
          for n in (1, 128)]


class Lead(NamedTuple):
    """How many times as fast as the best peer."""
    benchmark: str
    least: float


LEADS = [Lead('local', 50), Lead('readers', 50)]


class Broken(NamedTuple):
    file: str
    figure: str
    value: float
    relation: str
    bound: float

    def __str__(self) -> str:
        return (f'{self.file}.json: {self.figure} is {self.value:.6g}, not {self.relation} '
                f'{self.bound:.6g}')


def check(b: Bound, folder: Path) -> Iterator[Broken]:
    value = read(folder / f'{b.file}.json').get(b.figure)
    if value is None:
        raise Missing(f'{b.file}.json: no {b.figure}')
    if not RELATIONS[b.relation](value, b.bound):
        yield Broken(b.file, b.figure, value, b.relation, b.bound)


def check_share(s: Share, folder: Path) -> Iterator[Broken]:
    values = [read(folder / f'{file}.json').get(s.figure) for file in (s.file, s.of)]
    if None in values:
        raise Missing(f'{s.file}.json, {s.of}.json: no {s.figure}')
    if values[0] / values[1] > s.most:
        yield Broken(s.file, f'{s.figure}, as a share of {s.of}.json,', values[0] / values[1],
                     '<=', s.most)


def check_lead(lead: Lead, folder: Path) -> Iterator[Broken]:
    peers = read(folder / 'peers.json')
    there = {b['name']: b['participants'] for b in peers['benchmarks']}.get(lead.benchmark, {})
    shares = [e['ratios']['acquisitions_per_s'] for name, e in there.items()
              if name != peers['reference'] and e.get('ratios')]
    if not shares:
        raise Missing(f'peers.json: no peer was measured, {lead.benchmark}')
    value = 1 / max(shares)
    if value < lead.least:
        yield Broken('peers', f'conch / best peer, {lead.benchmark},', value, '>=', lead.least)


def broken(folder: Path) -> List:
    """What is beyond its bound, or missing."""
    out: List = []
    for one in [*(lambda f, b=b: check(b, f) for b in BOUNDS),
                *(lambda f, s=s: check_share(s, f) for s in SHARES),
                *(lambda f, lead=lead: check_lead(lead, f) for lead in LEADS)]:
        try:
            out += one(folder)
        except Missing as e:
            out.append(e)
    return out


def main() -> int:
    if len(sys.argv) > 2 or sys.argv[1:2] == ['--help']:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    found = broken(Path(sys.argv[1]) if len(sys.argv) == 2 else RESULTS)
    for one in found:
        print(f'bounds: {one}', file=sys.stderr)
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
