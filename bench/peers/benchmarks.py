# SPDX-License-Identifier: BSL-1.0
"""What is measured: one slice of one participant, for each benchmark."""

import math
import random
import time
from statistics import median
from typing import Any, Dict, List, NamedTuple, Sequence

from driver import Driver, DriverFailed

# Enough for every process to have read its line, and to have started its threads.
HEAD_START_S = 0.1
# How long a worker that waits at the end of a slice may go on to wait, and a lock may take.
PATIENCE_S = 60
# The lock is held for so long before it is passed on: the other certainly waits, and at no
# particular time between two looks of one that polls.
HOLD_S = (0.02, 0.22)


class Figure(NamedTuple):
    label: str
    unit: str


# The names are those of conch_bench where it has the same figure.
FIGURES = {
    'pairs_per_s': Figure('lock + unlock pairs', '/s'),
    'acquisitions_per_s': Figure('acquisitions', '/s'),
    'count_downs_per_s': Figure('count-downs', '/s'),
    'p50_us': Figure('p50', 'us'),
    'p99_us': Figure('p99', 'us'),
    'longest_wait_ms': Figure('longest wait', 'ms'),
    'jain_index': Figure("Jain's index", ''),
}

Figures = Dict[str, Any]


def percentile(values: List[float], p: float) -> float:
    """The smallest value that at least p percent of the values do not exceed."""
    return sorted(values)[max(0, math.ceil(len(values) * p / 100) - 1)]


def jain_index(got: List[int]) -> float:
    """1 if all got as much, 1/n if one of n got all."""
    squares = sum(n * n for n in got)
    return sum(got) ** 2 / (len(got) * squares) if squares else 0.0


class Benchmark:
    """`name` is for programs, `title` for people; each participant has so many processes. The
    participants that have what it takes; none named: all."""

    def __init__(self, name: str, title: str, processes: int, figures: List[str],
                 participants: Sequence[str] = ()):
        self.name, self.title = name, title
        self.processes = processes
        self.figures = figures
        self._participants = participants

    def has(self, participant: str) -> bool:
        return not self._participants or participant in self._participants

    def slice(self, drivers: List[Driver], seconds: float) -> Figures:
        raise NotImplementedError

    def summary(self, rounds: List[Figures]) -> Figures:
        return {name: median(r[name] for r in rounds) for name in self.figures}

    def ratios(self, rounds: List[Figures], reference: List[Figures]) -> Figures:
        """To the reference: the median of those of each round."""
        return {name: median(_ratio(r[name], c[name]) for r, c in zip(rounds, reference))
                for name in self.figures}


def _ratio(one: float, other: float) -> float:
    return one / other if other else math.inf


class Loop(Benchmark):
    """Workers of each process lock and unlock, as the word `locks` of driver.py says."""

    def __init__(self, name: str, title: str, processes: int, workers: int, locks: str,
                 figures: List[str], participants: Sequence[str] = ()):
        super().__init__(name, title, processes, figures, participants)
        self._workers = workers
        self._locks = locks

    def slice(self, drivers: List[Driver], seconds: float) -> Figures:
        begin = time.monotonic_ns() + int(HEAD_START_S * 1e9)
        end = begin + int(seconds * 1e9)
        for d in drivers:
            d.ask(f'loop {self._workers} {self._locks} {begin} {end}')
        answers = [d.answer(HEAD_START_S + seconds + PATIENCE_S) for d in drivers]
        got = [n for a in answers for n in a['got']]
        if not any(got):
            raise DriverFailed('not one pair within a slice')
        all_figures = {
            **dict.fromkeys(('pairs_per_s', 'acquisitions_per_s', 'count_downs_per_s'),
                            sum(got) / seconds),
            'p50_us': answers[0]['p50_us'],
            'p99_us': answers[0]['p99_us'],
            'longest_wait_ms': max(a['longest_wait_us'] for a in answers) / 1e3,
            'jain_index': jain_index(got),
        }
        chosen = {name: all_figures[name] for name in self.figures}
        return {**chosen, 'left_waiting': sum(a.get('left_waiting', 0) for a in answers)}

    def summary(self, rounds: List[Figures]) -> Figures:
        left = sum(r['left_waiting'] for r in rounds)
        return {**super().summary(rounds), **({'left_waiting': left} if left else {})}


class HandOff(Benchmark):
    """Two processes pass one lock to and fro: from the start of the unlock in one to the grant in
    the other, which waits. `lock` is what they are asked for it."""

    def __init__(self, name: str, title: str, lock: str, passes: int,
                 participants: Sequence[str] = (), hold_s=HOLD_S):
        super().__init__(name, title, 2, ['p50_us', 'p99_us'], participants)
        self._lock = lock
        self._passes = passes
        self._hold_s = hold_s
        self._random = random.Random(1)

    def slice(self, drivers: List[Driver], seconds: float) -> Figures:
        del seconds  # as long as the passes take
        holder, waiter = drivers
        _at(holder, self._lock)
        passes_us = []
        for _ in range(self._passes):
            waiter.ask(self._lock)
            time.sleep(self._random.uniform(*self._hold_s))
            holder.ask('unlock')
            # First that of the waiter: until it is granted, nothing else wakes up.
            granted = waiter.answer(PATIENCE_S)['at']
            unlocked = holder.answer(PATIENCE_S)['at']
            if granted < unlocked:
                raise DriverFailed('granted before the unlock began')
            passes_us.append((granted - unlocked) / 1e3)
            holder, waiter = waiter, holder
        _at(holder, 'unlock')
        return {'p50_us': percentile(passes_us, 50), 'passes_us': passes_us}

    def summary(self, rounds: List[Figures]) -> Figures:
        """One round has too few passes for a p99: that is of all."""
        passes_us = [us for r in rounds for us in r['passes_us']]
        return {'p50_us': median(r['p50_us'] for r in rounds), 'p99_us': percentile(passes_us, 99),
                'percentiles_us': [percentile(passes_us, p) for p in range(1, 101)]}

    def ratios(self, rounds: List[Figures], reference: List[Figures]) -> Figures:
        p99, other = self.summary(rounds)['p99_us'], self.summary(reference)['p99_us']
        return {'p50_us': median(_ratio(r['p50_us'], c['p50_us'])
                                 for r, c in zip(rounds, reference)),
                'p99_us': _ratio(p99, other)}


def _at(driver: Driver, what: str) -> int:
    driver.ask(what)
    return driver.answer(PATIENCE_S)['at']


def all_benchmarks(passes: int, processes: int, workers: int) -> List[Benchmark]:
    shared = ['acquisitions_per_s', 'jain_index', 'longest_wait_ms']
    family = 'conch', 'redisson'
    return [
        Loop('uncontended-1', 'uncontended, 1 worker', 1, 1, 'own', ['pairs_per_s', 'p50_us']),
        Loop('uncontended-128', 'uncontended, 128 workers', 1, 128, 'own', ['pairs_per_s']),
        HandOff('handoff', 'hand-off', 'lock', passes),
        HandOff('handoff-fair', 'hand-off of a fair lock', 'lock fair', passes, family),
        Loop('contended', f'contended, {processes} processes of {workers} workers', processes,
             workers, 'shared', shared),
        Loop('local', 'local, 128 workers', 1, 128, 'shared', shared),
        Loop('readers', f'read-write lock, {processes} processes of {workers} workers, 1 % write',
             processes, workers, 'readers', ['acquisitions_per_s', 'longest_wait_ms'], family),
        Loop('local-readers', 'read-write lock, 128 workers of one process, only readers', 1, 128,
             'only-readers', ['acquisitions_per_s'], family),
        Loop('fair', f'fair lock, {processes} processes of 1 worker', processes, 1, 'fair', shared,
             family),
        Loop('several', 'uncontended, three locks at once, 128 workers', 1, 128, 'several',
             ['acquisitions_per_s'], family),
        Loop('permits', 'leased permits of semaphores, 128 workers', 1, 128, 'permits',
             ['acquisitions_per_s'], [*family, 'redis-semaphore']),
        Loop('counters', 'counting semaphores, 128 workers', 1, 128, 'counters',
             ['acquisitions_per_s'], family),
        Loop('latches', 'latches, 128 workers', 1, 128, 'latches', ['count_downs_per_s'], family),
    ]
