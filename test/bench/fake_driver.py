# SPDX-License-Identifier: BSL-1.0
"""A driver of bench/peers without a lock in Redis: its lock is one of a file, its rates are what it
is told, and it can misbehave.

    fake_driver.py [--rate PAIRS_PER_S] [--left N] [--fails-at WHAT [--times N]] [--grants-early]
                   [--stops-at WHAT [--tells FIFO]] --lock FILE URL

It fails when it reads a line that begins with the words WHAT for the Nth time, the first if not
said otherwise.
"""

import argparse
import fcntl
import json
import sys
import time


def answer(value):
    print(json.dumps(value), flush=True)


class Fake:
    def __init__(self, given):
        self.given = given
        self.file = open(given.lock, 'w')

    def obey(self, what, *words):
        self.given.times -= ' '.join((what, *words, '')).startswith(f'{self.given.fails_at} ')
        if self.given.times == 0:
            sys.exit('first\nbroken on purpose')
        if what == self.given.stops_at:
            if self.given.tells:
                with open(self.given.tells, 'w') as fifo:
                    fifo.write('stopped\n')
        elif what == 'lock':
            fcntl.flock(self.file, fcntl.LOCK_EX)
            answer({'at': 1 if self.given.grants_early else time.monotonic_ns()})
        elif what == 'unlock':
            begin = time.monotonic_ns()
            fcntl.flock(self.file, fcntl.LOCK_UN)
            answer({'at': begin})
        else:
            answer(self.outcome(*words))

    def outcome(self, workers, locks, begin, end):
        seconds = (int(end) - int(begin)) / 1e9
        got = round(self.given.rate * seconds / int(workers))
        return {'got': [got] * int(workers), 'p50_us': 1e6 / self.given.rate,
                'p99_us': 2e6 / self.given.rate, 'longest_wait_us': 4e6 / self.given.rate,
                'left_waiting': self.given.left if locks == 'shared' else 0}


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--rate', type=float, default=128_000)
    p.add_argument('--left', type=int, default=0)
    p.add_argument('--fails-at')
    p.add_argument('--times', type=int, default=1)
    p.add_argument('--stops-at')
    p.add_argument('--tells')
    p.add_argument('--grants-early', action='store_true')
    p.add_argument('--lock', required=True)
    p.add_argument('url')
    fake = Fake(p.parse_args())
    answer({'driver': f'fake {fake.given.rate:g}'})
    for line in sys.stdin:
        fake.obey(*line.split())


if __name__ == '__main__':
    main()
