#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""That bench/peers measures what its drivers do, and says what it can't measure. With a fake in
place of most drivers; with the real ones where a build folder has them."""

import json
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
PEERS = HERE.parents[1] / 'bench' / 'peers'
# The folders that conch_peer and installed peers may be in.
BUILDS = [Path(p) for p in os.environ.get('CONCH_BUILDS', '').split(':') if p]
PATIENCE_S = 300
sys.dont_write_bytecode = True
sys.path.insert(0, str(PEERS))

import benchmarks  # noqa: E402
import table  # noqa: E402
from driver import Driver, DriverFailed  # noqa: E402
from participants import PEERS as REAL_PEERS  # noqa: E402
from private_server import PrivateServer  # noqa: E402

SMALL = ['--rounds', '3', '--seconds', '0.01', '--warm-up', '0', '--passes', '2', '--processes',
         '2', '--workers', '2']
LOOPS_OF_REDISSON = ['readers', 'local-readers', 'fair', 'several', 'counters', 'latches']
LOOPS = ['uncontended-1', 'uncontended-128', 'contended', 'local', 'permits', *LOOPS_OF_REDISSON]


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.json = self.folder / 'peers.json'
        self.environment = dict(os.environ, TMPDIR=str(self.folder / 'tmp'))
        (self.folder / 'tmp').mkdir()

    def enterContext(self, manager):  # Python 3.11 has it
        self.addCleanup(manager.__exit__, None, None, None)
        return manager.__enter__()

    def fake(self, name, *options):
        words = [sys.executable, '-B', str(HERE / 'fake_driver.py'), *options, '--lock',
                 str(self.folder / f'{name}.lock')]
        return ['--driver', f'{name}={shlex.join(words)}']

    def line(self, *options):
        return [sys.executable, '-B', str(PEERS / 'peers.py'), '--build', str(self.folder),
                '--json', str(self.json), *SMALL, *options]

    def run_peers(self, *options, status=0):
        done = subprocess.run(self.line(*options), env=self.environment, text=True,
                              capture_output=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, status, done.stderr)
        self.table = done.stdout
        results = json.loads(self.json.read_text())
        return {b['name']: b['participants'] for b in results['benchmarks']}


class Figures(Case):
    def test_each_benchmark_has_figures_and_their_ratios_to_conch(self):
        found = self.run_peers('--only', 'conch,half', *self.fake('conch'),
                               *self.fake('half', '--rate', '64000'))
        self.assertEqual(set(found), {*LOOPS, 'handoff', 'handoff-fair'})
        for name, figure in (('uncontended-1', 'pairs_per_s'), ('uncontended-128', 'pairs_per_s'),
                             ('local', 'acquisitions_per_s'), ('permits', 'acquisitions_per_s'),
                             ('local-readers', 'acquisitions_per_s'),
                             ('several', 'acquisitions_per_s'),
                             ('counters', 'acquisitions_per_s'), ('latches', 'count_downs_per_s')):
            self.assertAlmostEqual(found[name]['conch'][figure], 128_000, delta=1)
            self.assertAlmostEqual(found[name]['half'][figure], 64_000, delta=1)
            self.assertAlmostEqual(found[name]['half']['ratios'][figure], 0.5)
        self.assertAlmostEqual(found['uncontended-1']['half']['ratios']['p50_us'], 2)
        contended = found['contended']['half']
        self.assertAlmostEqual(contended['acquisitions_per_s'], 2 * 64_000, delta=1)
        self.assertAlmostEqual(contended['jain_index'], 1)
        self.assertAlmostEqual(contended['longest_wait_ms'], 4e3 / 64_000)

    def test_a_hand_off_lasts_from_the_unlock_to_the_grant(self):
        found = self.run_peers('--only', 'conch', *self.fake('conch'))
        for entry in (found[name]['conch'] for name in ('handoff', 'handoff-fair')):
            self.assertGreater(entry['p50_us'], 0)
            self.assertLessEqual(entry['p50_us'], entry['p99_us'])
            self.assertEqual(len(entry['percentiles_us']), 100)

    def test_each_kind_of_lock_is_asked_for_by_its_name(self):
        lines = {'handoff-fair': 'lock fair', 'readers': 'loop 2 readers', 'fair': 'loop 1 fair',
                 'local-readers': 'loop 128 only-readers',
                 **{kind: f'loop 128 {kind}' for kind in ('several', 'permits', 'counters',
                                                          'latches')}}
        fakes = (self.fake(f'bad-{name}', '--fails-at', line) for name, line in lines.items())
        found = self.run_peers('--only', ','.join(['conch', *(f'bad-{name}' for name in lines)]),
                               *self.fake('conch'), *(word for words in fakes for word in words))
        for name, participants in found.items():
            failed = [who for who, entry in participants.items() if 'not_measured' in entry]
            self.assertEqual(failed, [f'bad-{name}'] if name in lines else [], name)

    def test_the_table_has_a_row_for_each_participant_of_each_figure(self):
        self.run_peers('--only', 'conch,half', *self.fake('conch'),
                       *self.fake('half', '--rate', '64000'))
        rows = [line.split() for line in self.table.splitlines()]
        for name in ('fake 128000', 'fake 64000'):
            self.assertEqual(sum(name in ' '.join(row) for row in rows), 23)
        self.assertIn(['fake', '64000', '64,000', '/s', '0.50'], rows)

    def test_waits_that_were_given_up_are_told(self):
        found = self.run_peers('--only', 'conch', *self.fake('conch', '--left', '3'))
        self.assertEqual(found['local']['conch']['left_waiting'], 9)
        self.assertNotIn('left_waiting', found['uncontended-1']['conch'])
        self.assertRegex(self.table, r'fake 128000, local.*given up.*: 9\n')


class NotMeasured(Case):
    def test_who_has_no_such_lock_is_not_asked_for_it(self):
        names = ['redisson', 'redlock', 'redis-semaphore']
        found = self.run_peers('--only', ','.join(['conch', *names]), *self.fake('conch'),
                               *(word for name in names for word in self.fake(name)))
        for benchmark, participants in found.items():
            there = {'permits': ['redisson', 'redis-semaphore'],
                     **dict.fromkeys(['handoff-fair', *LOOPS_OF_REDISSON],
                                     ['redisson'])}.get(benchmark, names)
            self.assertEqual(list(participants), ['conch', *there], benchmark)

    def test_a_driver_that_fails_has_no_figure_there_but_its_last_words(self):
        found = self.run_peers('--only', 'conch,bad', *self.fake('conch'),
                               *self.fake('bad', '--fails-at', 'unlock'))
        self.assertEqual(found['handoff']['bad'], {'not_measured': 'broken on purpose'})
        self.assertAlmostEqual(found['local']['bad']['ratios']['acquisitions_per_s'], 1)
        self.assertIn('fake 128000, hand-off: not measured: broken on purpose\n', self.table)
        self.assertRegex(self.table, r'(?m)fake 128000 +not measured$')

    def test_a_driver_that_fails_in_a_later_round_has_no_figure_of_the_earlier_ones(self):
        found = self.run_peers('--only', 'conch,bad', *self.fake('conch'),
                               *self.fake('bad', '--fails-at', 'loop', '--times', '3'))
        for name in LOOPS:
            self.assertEqual(found[name]['bad'], {'not_measured': 'broken on purpose'})
            self.assertEqual(found[name]['conch']['ratios'][list(found[name]['conch'])[0]], 1)

    def test_a_driver_that_grants_before_the_unlock_is_not_measured(self):
        found = self.run_peers('--only', 'conch,bad', *self.fake('conch'),
                               *self.fake('bad', '--grants-early'))
        self.assertEqual(found['handoff']['bad'],
                         {'not_measured': 'granted before the unlock began'})

    def test_a_driver_that_gets_nothing_is_not_measured_instead_of_zero(self):
        found = self.run_peers('--only', 'conch,bad', *self.fake('conch'),
                               *self.fake('bad', '--rate', '0.1'))
        self.assertEqual(found['local']['bad'], {'not_measured': 'not one pair within a slice'})

    def test_without_conch_there_is_no_ratio_and_the_run_has_failed(self):
        found = self.run_peers('--only', 'conch,other', *self.fake('other'), status=1)
        self.assertIn('conch_peer', found['local']['conch']['not_measured'])
        self.assertEqual(found['local']['other']['ratios'], {})

    def test_a_driver_that_does_not_answer_fails(self):
        words = [sys.executable, '-B', str(HERE / 'fake_driver.py'), '--stops-at', 'loop',
                 '--lock', str(self.folder / 'lock')]
        d = Driver(words, 'redis://', self.folder / 'errors.txt')
        self.addCleanup(d.close)
        d.ask('loop 1 own 0 0')
        with self.assertRaisesRegex(DriverFailed, 'no answer'):
            d.answer(0.05)


class Toolchains(Case):
    def with_path(self, **scripts):
        """A PATH with redis-server, and these shell scripts."""
        path = self.folder / 'bin'
        path.mkdir()
        (path / 'redis-server').symlink_to(shutil.which('redis-server'))
        for name, text in scripts.items():
            (path / name).write_text(f'#!/bin/sh\n{text}\n')
            (path / name).chmod(0o755)
        self.environment['PATH'] = str(path)

    def test_a_missing_one_is_the_reason(self):
        self.with_path()
        found = self.run_peers('--only', 'conch,redisson,rueidislock,redlock',
                               *self.fake('conch'))
        for name, program in (('redisson', 'java'), ('rueidislock', 'go'), ('redlock', 'node')):
            self.assertEqual(found['local'][name], {'not_measured': f'no {program} in PATH'})
            self.assertIn(f'{name}: not measured: no {program} in PATH\n', self.table)

    def test_one_that_fails_tells_why(self):
        self.with_path(node='exit 0', npm='echo installing; echo "npm error: no network"; exit 1')
        found = self.run_peers('--only', 'conch,redlock', *self.fake('conch'))
        self.assertEqual(found['local']['redlock'],
                         {'not_measured': 'npm: npm error: no network'})

    def test_what_is_not_installed_is_left_so_when_asked(self):
        found = self.run_peers('--no-install', *self.fake('conch'))
        for name in REAL_PEERS:
            self.assertEqual(found['local'][name], {'not_measured': 'not installed'})
        self.assertFalse((self.folder / 'peers').exists())


class Ends(Case):
    def stop(self, number):
        """The status of a run which gets that signal in the midst of a slice, after all that it
        started is gone."""
        fifo = self.folder / f'fifo-{number}'
        os.mkfifo(fifo)
        run = subprocess.Popen(
            self.line('--only', 'conch', *self.fake('conch', '--stops-at', 'loop', '--tells',
                                                    str(fifo))),
            env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(run.kill)
        with fifo.open() as f:
            self.assertEqual(f.read(), 'stopped\n')
        started = [os.pidfd_open(pid) for pid in self.children(run.pid)]
        self.assertEqual(len(started), 2)  # the server, a driver
        run.send_signal(number)
        status = run.wait(PATIENCE_S)
        for fd in started:
            self.assertTrue(select.select([fd], [], [], 60)[0], 'a process is left')
            os.close(fd)
        return status

    def children(self, parent):
        for p in Path('/proc').glob('[0-9]*'):
            try:
                after_name = (p / 'stat').read_text().rpartition(')')[2].split()
            except OSError:
                continue  # it has just ended
            if int(after_name[1]) == parent:
                yield int(p.name)

    def test_a_signal_ends_the_server_and_the_drivers_and_leaves_no_file(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number):
                self.assertEqual(self.stop(number), 128 + number)
                self.assertEqual(list((self.folder / 'tmp').iterdir()), [])

    def test_a_server_is_gone_after_its_block(self):
        with self.assertRaises(ZeroDivisionError):
            with PrivateServer() as server:
                self.assertEqual(server.call('PING'), '+PONG')
                process, folder = server._process, Path(server._folder.name)
                self.assertTrue(folder.exists())
                raise ZeroDivisionError
        self.assertIsNotNone(process.returncode)
        self.assertFalse(folder.exists())

    def test_they_do_not_outlive_a_run_that_is_killed(self):
        self.assertEqual(self.stop(signal.SIGKILL), -signal.SIGKILL)


class Run(Case):
    def test_run_sh_measures_peers_into_a_folder_that_has_nothing_else(self):
        """With nothing to build, a fake in place of conch, and less to measure."""
        path = self.folder / 'bin'
        path.mkdir()
        given = shlex.join([*SMALL, '--only', 'conch', *self.fake('conch')])
        for name, text in (('cmake', 'exit 0'), ('python3', f"""
            case $* in *peers.py*) set -- "$@" {given} ;; esac
            exec {shlex.quote(sys.executable)} "$@"
            """)):
            (path / name).write_text(f'#!/bin/sh\n{text}\n')
            (path / name).chmod(0o755)
        results = self.folder / 'results'
        done = subprocess.run(
            ['bash', str(PEERS.parent / 'run.sh'), '--peers', str(results)], text=True,
            env={**self.environment, 'PATH': f'{path}:{os.environ["PATH"]}',
                 'CONCH_BENCH_BUILD': str(self.folder)}, capture_output=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({p.name for p in results.iterdir()}, {'peers.json', 'handoff-peers.svg'})


class Numbers(unittest.TestCase):
    def test_a_ratio_is_the_median_of_those_within_a_round(self):
        b = benchmarks.Loop('x', 'x', 1, 1, 'own', ['pairs_per_s'])
        rounds = [{'pairs_per_s': v, 'left_waiting': 0} for v in (10, 20, 60)]
        reference = [{'pairs_per_s': v, 'left_waiting': 0} for v in (20, 100, 30)]
        self.assertEqual(b.ratios(rounds, reference), {'pairs_per_s': 0.5})  # of 0.5, 0.2, 2
        self.assertEqual(b.summary(rounds), {'pairs_per_s': 20})

    def test_a_p99_of_hand_offs_is_that_of_all_rounds(self):
        rounds = [{'p50_us': 1, 'passes_us': [1] * 50}, {'p50_us': 3, 'passes_us': [3] * 50}]
        summary = benchmarks.HandOff('x', 'x', 'lock', 50).summary(rounds)
        self.assertEqual((summary['p50_us'], summary['p99_us']), (2, 3))
        self.assertEqual(summary['percentiles_us'], [1] * 50 + [3] * 50)

    def test_jain_index_is_1_over_n_where_one_got_all(self):
        self.assertEqual(benchmarks.jain_index([8, 0, 0, 0]), 0.25)
        self.assertEqual(benchmarks.jain_index([2, 2]), 1)

    def test_percentiles_are_of_the_nearest_rank(self):
        self.assertEqual([benchmarks.percentile([4, 1, 3, 2], p) for p in (1, 50, 51, 100)],
                         [1, 2, 3, 4])

    def test_the_table_has_three_digits_and_two_below_one(self):
        texts = [table.number(v) for v in (0, 0.0123, 0.4, 0.99999, 1, 12.34, 1234.5)]
        self.assertEqual(texts, ['0', '0.012', '0.40', '1.00', '1.00', '12.3', '1,234'])


@unittest.skipIf(shutil.which('redis-server') is None, 'no redis-server in PATH')
class RealDrivers(Case):
    def test_each_that_is_installed_answers_in_each_benchmark(self):
        own = next((b for b in BUILDS if (b / 'bin' / 'conch_peer').exists()), None)
        if own is None:
            self.skipTest('conch_peer is not built')
        build = max(BUILDS, key=lambda b: len(list(b.glob('peers/*/complete'))))
        driver = ['--driver', f'conch={own / "bin" / "conch_peer"}']
        found = self.run_peers('--build', str(build), '--no-install', '--rounds', '1',
                               '--seconds', '0.3', '--warm-up', '0.3', *driver)
        for name in ('conch', *REAL_PEERS):
            for benchmark, participants in found.items():
                if name not in participants:
                    continue
                entry = participants[name]
                # On a busy machine the first slices of a JVM may be too short: it has answered.
                if entry.get('not_measured') in ('not installed', 'not one pair within a slice'):
                    continue
                self.assertNotIn('not_measured', entry, (name, benchmark))
                for figure in entry['ratios']:
                    self.assertGreater(entry[figure], 0, (name, benchmark, figure))


if __name__ == '__main__':
    unittest.main()
