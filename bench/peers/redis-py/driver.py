# SPDX-License-Identifier: BSL-1.0
"""redis-py's Lock behind the lines of bench/peers/driver.py.

One worker uses the plain client, many are tasks over redis.asyncio, as either is faster there; many
threads are slower than both. The defaults of a lock (waiters poll every 0.1 s), but a timeout:
without one a crash would leave the lock for ever. The defaults of a client, but the limit of its
pool: of more than 100 tasks at once some would get an error.
"""

import asyncio
import json
import sys
import time

import redis
import redis.asyncio

NAME = 'conch-peers:redis-py'
LEASE_S = 30
MAX_CONNECTIONS = 10_000
now = time.monotonic_ns


class Slice:
    """What the workers of one slice share."""

    def __init__(self, workers, shared, begin, end):
        self.begin, self.end = begin, end
        self.names = [f'{NAME}:shared' if shared else f'{NAME}:{i}' for i in range(workers)]
        self.got = [0] * workers
        self.pairs_ns = []
        self.longest_wait_ns = 0

    def until_begin_s(self):
        return max(0, self.begin - now()) / 1e9

    def add(self, worker, asked, granted, released):
        self.longest_wait_ns = max(self.longest_wait_ns, granted - asked)
        self.pairs_ns.append(released - asked)
        self.got[worker] += released <= self.end

    def one_worker(self, client):
        lock = client.lock(self.names[0], timeout=LEASE_S)
        time.sleep(self.until_begin_s())
        asked = now()
        while asked < self.end:
            lock.acquire()
            granted = now()
            lock.release()
            released = now()
            self.add(0, asked, granted, released)
            asked = released

    async def task(self, client, worker):
        lock = client.lock(self.names[worker], timeout=LEASE_S)
        asked = now()
        while asked < self.end:
            await lock.acquire()
            granted = now()
            await lock.release()
            released = now()
            self.add(worker, asked, granted, released)
            asked = released

    async def tasks(self, client):
        await asyncio.sleep(self.until_begin_s())
        await asyncio.gather(*(self.task(client, i) for i in range(len(self.got))))

    def outcome(self):
        self.pairs_ns.sort()
        return {'got': self.got, 'p50_us': self._percentile_us(50),
                'p99_us': self._percentile_us(99), 'longest_wait_us': self.longest_wait_ns / 1e3}

    def _percentile_us(self, p):
        rank = -(-p * len(self.pairs_ns) // 100)
        return self.pairs_ns[rank - 1] / 1e3 if self.pairs_ns else 0


class Driver:
    def __init__(self, url):
        self._plain = redis.Redis.from_url(url)
        self._asynchronous = redis.asyncio.Redis.from_url(url, max_connections=MAX_CONNECTIONS)
        self._passed = self._plain.lock(f'{NAME}:passed', timeout=LEASE_S)
        self._events = asyncio.new_event_loop()

    def obey(self, what, *words):
        if what == 'lock':
            self._passed.acquire()
            return {'at': now()}
        if what == 'unlock':
            begin = now()
            self._passed.release()
            return {'at': begin}
        if what == 'loop':
            workers, locks, begin, end = words
            s = Slice(int(workers), locks == 'shared', int(begin), int(end))
            if len(s.got) == 1:
                s.one_worker(self._plain)
            else:
                self._events.run_until_complete(s.tasks(self._asynchronous))
            return s.outcome()
        raise ValueError(f'not understood: {what}')


def answer(value):
    print(json.dumps(value), flush=True)


def main():
    driver = Driver(sys.argv[1])
    answer({'driver': f'redis-py {redis.__version__}'})
    for line in sys.stdin:
        answer(driver.obey(*line.split()))


if __name__ == '__main__':
    main()
