# SPDX-License-Identifier: BSL-1.0
"""A driver: a process that locks and unlocks with one library, as the lines of its input say.

It is started with the server's URL. Times are nanoseconds of CLOCK_MONOTONIC, which all processes
of a machine share. It writes one JSON object a line: first {"driver": NAME AND VERSION}, then an
answer to each line that it reads:

    lock        waits for one lock, and holds it: {"at": WHEN IT WAS GRANTED}
    lock fair   the same with a fair lock
    unlock      releases that: {"at": WHEN THE CALL BEGAN}
    loop WORKERS LOCKS BEGIN END
                so many workers at a time lock and unlock from BEGIN to END:
                {"got": [PAIRS OF EACH THAT ENDED BY END], "p50_us": of a pair, "p99_us": ...,
                "longest_wait_us": for a grant}. A worker that waits at END waits on;
                "left_waiting": those that were given up, with nobody to wait for. LOCKS:
                own           each worker has a lock of its own
                shared        all have the same
                readers       all read-lock the same, and write-lock it each hundredth time
                only-readers  all read-lock the same
                fair          all have the same fair lock
                several       each locks three of its own at once
                permits       each takes and gives back the one permit of its own semaphore, for a
                              lease that ends
                counters      the same of its own counting semaphore, without a lease
                latches       each counts its own latch down, which doesn't open: that is a pair

Each driver understands `lock`, `unlock`, and `loop` with `own` and `shared`; the rest only if its
library has such locks.
It ends with its input, or with a line on standard error and a status that is not 0.
"""

import ctypes
import json
import os
import selectors
import signal
import subprocess
import time
from pathlib import Path
from typing import Dict, List

START_LIMIT_S = 60
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


class DriverFailed(Exception):
    """With a reason in one line."""


def end_with_parent() -> None:
    """In a child, before it becomes another program: whatever ends this one ends it too."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def end(process: subprocess.Popen, patience_s: float) -> None:
    """Waits for its end so long, and then sees to it."""
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Driver:
    def __init__(self, command: List[str], url: str, errors: Path):
        self._errors = errors
        self._text = b''
        with errors.open('w') as log:
            try:
                self._process = subprocess.Popen(
                    [*command, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                    preexec_fn=end_with_parent)
            except OSError as e:
                raise DriverFailed(f'{command[0]}: {e.strerror}') from e
        try:
            self.name = str(self.answer(START_LIMIT_S)['driver'])
        except BaseException:
            self.close()
            raise

    def ask(self, line: str) -> None:
        try:
            self._process.stdin.write(line.encode() + b'\n')
            self._process.stdin.flush()
        except BrokenPipeError:
            raise DriverFailed(self._last_words()) from None

    def answer(self, limit_s: float) -> Dict:
        deadline = time.monotonic() + limit_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b'\n' not in self._text:
                if not selector.select(max(0, deadline - time.monotonic())):
                    raise DriverFailed(f'no answer within {limit_s:g} s')
                more = os.read(self._process.stdout.fileno(), 1 << 16)
                if not more:
                    raise DriverFailed(self._last_words())
                self._text += more
        line, _, self._text = self._text.partition(b'\n')
        try:
            return dict(json.loads(line))
        except ValueError:
            raise DriverFailed(f'not an answer: {line[:80]!r}') from None

    def close(self) -> None:
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        end(self._process, 2)
        self._process.stdout.close()

    def _last_words(self) -> str:
        lines = self._errors.read_text(errors='replace').strip().splitlines()
        return lines[-1].strip() if lines else 'it ended without a word'
