#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Runs ctest, and once more those tests that failed while the machine stood still.

usage: ctest_again.py BUILD_FOLDER LOG_FOLDER [CTEST_ARGUMENT...]

Tests hold leases of seconds. A machine that stands still for as long ends them, and proves nothing
about the lock. Whether it did is measured beside the tests, and not asked of them: this process
wakes up each 50 ms, and is late by a second or more. If each test that failed ran at such a
moment, those are run again; they fail for good if they fail again. What failed at any other time
has failed, and nothing is run again.

In LOG_FOLDER: ctest.txt, what ctest said at last; first.log, what the tests said at first;
again.txt, which were run again and why, if any were. The status is ctest's last one.
"""
import pathlib
import re
import subprocess
import sys
import threading
import time

TICK = 0.05  # s
STALL = 1.0  # s: later than this, and the machine stood still
LATE = 0.25  # s: so much later, at most, a line is heard after a stall
STARTED = re.compile(r'\s+Start\s+\d+: (?P<name>.*)')
ENDED = re.compile(r'\s*\d+/\d+ Test\s+#\d+: (?P<name>.*?) \.{2,}(?P<end>.*)')


class Watch:
    """The times, from one to another, when this process should have run and didn't."""

    def __init__(self):
        self.stalls = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self):
        before, ended = time.monotonic(), False
        while not ended:  # the end may be told before this thread goes on
            ended = self._end.wait(TICK)
            now = time.monotonic()
            if now - before >= TICK + STALL:
                self.stalls.append((before, now))
            before = now

    def stop(self):
        self._end.set()
        self._thread.join()


class Course:
    """When each test ran, and which failed, by what ctest says."""

    def __init__(self):
        self.started = {}
        self.failed = {}

    def hear(self, line, now):
        started, ended = STARTED.fullmatch(line), ENDED.fullmatch(line)
        if started:
            self.started[started['name'].strip()] = now
        elif ended:
            name = ended['name'].strip()
            if '***' in ended['end'] and '***Skipped' not in ended['end']:
                self.failed[name] = (self.started.get(name, now), now)


def excused(failed, stalls):
    """Whether each of them ran at a time when the machine stood still."""
    def met(run):
        # After a stall, ctest's line on a start is heard late, too.
        return any(begin < run[1] and run[0] - LATE < end for begin, end in stalls)
    return bool(failed) and all(met(run) for run in failed.values())


def run(command, course=None):
    """Its status and what it said, which is passed on as it comes."""
    said = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors='replace') as process:
        for line in process.stdout:
            said.append(line)
            print(line, end='', flush=True)
            if course:
                course.hear(line.rstrip('\n'), time.monotonic())
    return process.returncode, ''.join(said)


def main(build, logs, arguments):
    build, logs = pathlib.Path(build), pathlib.Path(logs)
    logs.mkdir(parents=True, exist_ok=True)
    (logs / 'again.txt').unlink(missing_ok=True)
    ctest = ['ctest', '--test-dir', str(build), '--output-on-failure', '--no-tests=error']
    course = Course()
    watch = Watch()
    try:
        status, said = run(ctest + arguments, course)
    finally:
        watch.stop()
    log = build / 'Testing' / 'Temporary' / 'LastTest.log'
    if log.exists():
        (logs / 'first.log').write_bytes(log.read_bytes())
    if status != 0 and excused(course.failed, watch.stalls):
        longest = max(end - begin for begin, end in watch.stalls)
        again = ''.join(
            [f'The machine stood still, {len(watch.stalls)} times, for up to {longest:.1f} s. '
             'What failed meanwhile was run again:\n'] +
            [f'    {name}\n' for name in sorted(course.failed)])
        (logs / 'again.txt').write_text(again)
        print(again, flush=True)
        status, said = run(ctest + ['--rerun-failed'])
    (logs / 'ctest.txt').write_text(said)
    return status


if __name__ == '__main__':
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
