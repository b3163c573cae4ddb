#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Measures conch beside the libraries that users would pick instead.

All use one private redis-server and take turns: a slice of each in each round. A figure is the
median over the rounds, a ratio that of the ratios to conch in the same round. What can't be
installed, or fails, is not measured, and the reason is told.
"""

import argparse
import json
import shlex
import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Dict, List

import table
from benchmarks import Benchmark, Figures, all_benchmarks
from driver import Driver, DriverFailed
from participants import PEERS, NotInstalled
from private_server import NoServer, PrivateServer

REFERENCE = 'conch'


def parse() -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument('--build', type=Path, default=Path('build/release'), metavar='FOLDER',
                   help='has bin/conch_peer, and gets peers/ (default: build/release)')
    p.add_argument('--json', type=Path, metavar='FILE', help='leave the figures there')
    p.add_argument('--only', metavar='NAME,...', help=f'of: {", ".join([REFERENCE, *PEERS])}')
    p.add_argument('--no-install', action='store_true', help='measure what is installed already')
    p.add_argument('--driver', action='append', default=[], metavar='NAME=COMMAND',
                   help="start that, with the server's URL, in place of the usual driver")
    p.add_argument('--rounds', type=int, default=11, help='default: 11')
    p.add_argument('--seconds', type=float, default=0.5, help='of a slice (default: 0.5)')
    p.add_argument('--warm-up', type=float, default=3, metavar='SECONDS', dest='warm_up',
                   help='of each participant, before the rounds of a benchmark (default: 3)')
    p.add_argument('--passes', type=int, default=10, help='hand-offs of a slice (default: 10)')
    p.add_argument('--processes', type=int, default=4, help='that contend (default: 4)')
    p.add_argument('--workers', type=int, default=16, help='in each of these (default: 16)')
    given = p.parse_args()
    if min(given.rounds, given.passes, given.processes, given.workers) < 1 or given.seconds <= 0:
        p.error('nothing would be measured')
    return given


def choose(given: argparse.Namespace) -> Dict[str, List[str]]:
    """The command of each participant that there is; what is in its place otherwise: a reason."""
    commands = {}
    own = dict(d.partition('=')[::2] for d in given.driver)
    names = given.only.split(',') if given.only else [REFERENCE, *PEERS, *own]
    for name in dict.fromkeys(names):
        if name in own:
            commands[name] = shlex.split(own[name])
        elif name == REFERENCE:
            commands[name] = [str((given.build / 'bin' / 'conch_peer').resolve())]
        elif name in PEERS:
            try:
                commands[name] = PEERS[name].prepare((given.build / 'peers').resolve(),
                                                     not given.no_install)
            except NotInstalled as e:
                commands[name] = str(e)
        else:
            sys.exit(f'peers: nobody is called {name}')
    return commands


class Contest:
    """One benchmark, among all that can be started."""

    def __init__(self, benchmark: Benchmark, commands: Dict, url: str, folder: Path):
        self._benchmark = benchmark
        self._commands = commands
        self._url, self._folder = url, folder
        self.versions: Dict[str, str] = {}
        self.rounds: Dict[str, List[Figures]] = {}
        self.failures: Dict[str, str] = {}

    def run(self, given: argparse.Namespace) -> None:
        with ExitStack() as running:
            drivers = {}
            for name, command in self._commands.items():
                try:
                    if isinstance(command, str):
                        raise DriverFailed(command)
                    if name in PEERS and not self._benchmark.has(name):
                        raise DriverFailed(f'it has no {self._benchmark.what}')
                    drivers[name] = self._start(running, name, command)
                    self._benchmark.slice(drivers[name], given.warm_up or given.seconds)
                    self.rounds[name] = []
                except DriverFailed as e:
                    self.failures[name] = str(e)
            for number in range(given.rounds):
                self._round(drivers, number, given.seconds)

    def _start(self, running: ExitStack, name: str, command: List[str]) -> List[Driver]:
        out = []
        for i in range(self._benchmark.processes):
            out.append(Driver(command, self._url, self._folder / f'{name}-{i}.txt'))
            running.callback(out[-1].close)
        self.versions[name] = out[0].name
        return out

    def _round(self, drivers: Dict[str, List[Driver]], number: int, seconds: float) -> None:
        names = [name for name in drivers if name not in self.failures]
        first = number % max(1, len(names))  # nobody always comes after the same one
        for name in names[first:] + names[:first]:
            try:
                self.rounds[name].append(self._benchmark.slice(drivers[name], seconds))
            except DriverFailed as e:
                self.failures[name] = str(e)

    def outcome(self) -> Dict:
        b = self._benchmark
        participants = {}
        for name in self._commands:
            if name in self.failures:
                participants[name] = {'not_measured': self.failures[name]}
                continue
            entry = b.summary(self.rounds[name])
            compared = REFERENCE in self.rounds and REFERENCE not in self.failures
            entry['ratios'] = (b.ratios(self.rounds[name], self.rounds[REFERENCE])
                               if compared else {})
            participants[name] = entry
        return {'name': b.name, 'title': b.title, 'figures': b.figures,
                'participants': participants}


def measure(given: argparse.Namespace) -> Dict:
    commands = choose(given)
    results: Dict = {'reference': REFERENCE, 'versions': {}, 'benchmarks': [],
                     'settings': {name: getattr(given, name) for name in
                                  ('rounds', 'seconds', 'passes', 'processes', 'workers')}}
    with tempfile.TemporaryDirectory(prefix='conch-peers-') as folder, PrivateServer() as server:
        for benchmark in all_benchmarks(given.passes, given.processes, given.workers):
            print(benchmark.title, file=sys.stderr, flush=True)
            server.call('FLUSHALL')
            theirs = {name: command for name, command in commands.items()
                      if name not in PEERS or benchmark.has(name)}
            contest = Contest(benchmark, theirs, server.url, Path(folder))
            contest.run(given)
            results['versions'].update(contest.versions)
            results['benchmarks'].append(contest.outcome())
    return results


def main() -> int:
    given = parse()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda n, _: sys.exit(128 + n))
    try:
        results = measure(given)
    except NoServer as e:
        print(f'peers: {e}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    print(table.text(results))
    if given.json:
        given.json.write_text(json.dumps(results, indent=1) + '\n')
    failed = any('not_measured' in b['participants'].get(REFERENCE, {})
                 for b in results['benchmarks'])
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
