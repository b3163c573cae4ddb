#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""That bench/plot.py draws, and bench/readme.py writes, what the results say; and that those of
bench/results keep their bounds."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / 'bench'
sys.dont_write_bytecode = True
sys.path.insert(0, str(BENCH))

import bounds  # noqa: E402
import chart  # noqa: E402
import readme  # noqa: E402

SVG = '{http://www.w3.org/2000/svg}'
PLOTS = {'throughput.svg', 'handoff.svg', 'holds.svg'}
ENTRY = {'p50_us': 250, 'p99_us': 400, 'percentiles_us': list(range(101, 201)),
         'ratios': {'p50_us': 1, 'p99_us': 1}}
PEERS_RESULTS = {
    'reference': 'conch', 'settings': {'passes': 10, 'processes': 4, 'workers': 16},
    'versions': {'conch': 'conch 9', 'other': 'other 7'}, 'benchmarks': [
        {'name': 'handoff', 'title': 'hand-off', 'figures': ['p50_us', 'p99_us'], 'participants': {
            'conch': ENTRY, 'other': {**ENTRY, 'p50_us': 500, 'ratios': {'p50_us': 2}},
            'gone': {'not_measured': 'no go in PATH'}}}]}
PEERS_FIGURES = sum(len(b.figures) for b in readme.all_benchmarks(10, 4, 16))


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for r in readme.ROWS:
            self.change(r.file, **{f: 0.25 for f in (r.figure, r.limit, r.ratio) if f})
        for n in (1, 16, 128, 1024, 10000):
            self.change(f'uncontended-{n}', coroutines=n, pairs_per_s=1000.0 * n,
                        raw_pairs_per_s=1100.0 * n)
        for n in (1000, 10000, 100000):
            self.change(f'holds-{n}', holds=n, lease_ms=3000, cpu_share=n / 1e6,
                        raw_cpu_share=n / 2e6)
        self.change('handoff', percentiles_us=list(range(51, 151)),
                    raw_percentiles_us=list(range(41, 141)))
        self.change('machine', cpu='A <fast> one', cores=2, redis='7', compiler='c++')

    def path(self, name):
        return self.folder / f'{name}.json'

    def change(self, name, **figures):
        old = json.loads(self.path(name).read_text()) if self.path(name).exists() else {}
        self.path(name).write_text(json.dumps({**old, **figures}))

    def run_script(self, script, *words, status=0):
        done = subprocess.run([sys.executable, '-B', str(BENCH / script), *map(str, words)],
                              text=True, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr


class Plots(Case):
    def curves(self, name):
        root = ElementTree.parse(self.folder / name).getroot()
        self.assertEqual(root.tag, f'{SVG}svg')
        return [[tuple(map(float, p.split(','))) for p in line.get('points').split()]
                for line in root.iter(f'{SVG}polyline')]

    def drawn(self):
        return {p.name for p in self.folder.glob('*.svg')}

    def test_each_has_a_curve_for_conch_and_one_for_the_limit(self):
        self.run_script('plot.py', self.folder)
        self.assertEqual(self.drawn(), PLOTS)
        for name, points in (('throughput.svg', 5), ('handoff.svg', 99), ('holds.svg', 3)):
            self.assertEqual([len(c) for c in self.curves(name)], [points, points], name)

    def test_a_higher_rate_stands_higher_and_more_coroutines_further_right(self):
        self.run_script('plot.py', self.folder)
        own, limit = self.curves('throughput.svg')
        self.assertEqual(own, sorted(own))
        self.assertGreater(own[-2][1], own[-1][1])
        self.assertGreater(own[-1][1], limit[-1][1])
        steps = [b[0] - a[0] for a, b in zip(own, own[1:])]
        self.assertAlmostEqual(steps[0] / steps[2], 1.204 / 0.903, places=1)  # log 16 : log 8

    def test_all_points_are_on_the_chart(self):
        self.change('peers', **PEERS_RESULTS)
        self.run_script('plot.py', self.folder)
        for name in self.drawn():
            for x, y in (point for curve in self.curves(name) for point in curve):
                self.assertTrue(chart.LEFT <= x <= chart.WIDTH - chart.RIGHT, (name, x))
                self.assertTrue(chart.TOP <= y <= chart.HEIGHT - chart.BOTTOM, (name, y))

    def test_peers_that_were_measured_have_a_curve(self):
        self.change('peers', **PEERS_RESULTS)
        self.run_script('plot.py', self.folder)
        self.assertEqual(len(self.curves('handoff-peers.svg')), 2)

    def test_peers_alone_need_no_other_results(self):
        with tempfile.TemporaryDirectory() as empty:
            told = self.run_script('plot.py', '--peers', empty, status=1)
            self.assertEqual(told, f'plot: handoff-peers.svg: no {empty}/peers.json\n')
            (Path(empty) / 'peers.json').write_text(json.dumps(PEERS_RESULTS))
            self.run_script('plot.py', '--peers', empty)
            self.assertEqual([p.name for p in Path(empty).glob('*.svg')], ['handoff-peers.svg'])

    def test_topologies_are_no_points_of_a_curve(self):
        self.change('topology-uncontended-tls', coroutines=1, pairs_per_s=5000.0,
                    raw_pairs_per_s=9000.0)
        self.run_script('plot.py', self.folder)
        self.assertEqual([len(c) for c in self.curves('throughput.svg')], [5, 5])

    def test_what_was_not_measured_is_left_out(self):
        self.change('uncontended-16', pairs_per_s=None)
        self.run_script('plot.py', self.folder)
        self.assertEqual([len(c) for c in self.curves('throughput.svg')], [4, 5])

    def test_missing_figures_are_told_and_the_others_drawn(self):
        self.path('handoff').unlink()
        told = self.run_script('plot.py', self.folder, status=1)
        self.assertEqual(told, f'plot: handoff.svg: no {self.path("handoff")}\n')
        self.assertEqual(self.drawn(), PLOTS - {'handoff.svg'})

    def test_a_folder_without_results_is_an_error_for_each_plot(self):
        with tempfile.TemporaryDirectory() as empty:
            told = self.run_script('plot.py', empty, status=1)
            self.assertEqual(list(Path(empty).iterdir()), [])
        self.assertEqual(len(told.splitlines()), len(PLOTS))

    def test_what_is_no_json_is_told(self):
        self.path('handoff').write_text('{')
        told = self.run_script('plot.py', self.folder, status=1)
        self.assertIn(f'{self.path("handoff")} is not JSON', told)


class Axes(unittest.TestCase):
    def test_a_linear_one_ends_at_a_round_number_that_nothing_exceeds(self):
        for most, last in ((1, 1), (99, 100), (101, 120), (230_000, 250_000), (0.011, 0.012)):
            ticks = chart.LinearAxis('', most).ticks
            self.assertAlmostEqual(ticks[-1], last)
            self.assertIn(len(ticks), range(4, 8))

    def test_a_logarithmic_one_has_a_tick_at_each_power_of_ten(self):
        self.assertEqual(chart.LogAxis('', [1, 30, 10_000]).ticks, [1, 10, 100, 1000, 10_000])
        self.assertEqual(chart.LogAxis('', [0.2, 0.3]).ticks, [0.1, 1])

    def test_text_is_escaped(self):
        svg = chart.chart('a < b', [chart.Series('c & d', [(1, 1)])], chart.LogAxis('x', [1]),
                          chart.LinearAxis('y', 1))
        self.assertEqual(ElementTree.fromstring(svg).find(f'{SVG}title').text, 'a < b')


class Tables(Case):
    def setUp(self):
        super().setUp()
        self.change('peers', **PEERS_RESULTS)
        self.page, self.readme = (self.folder / name for name in ('performance.md', 'README.md'))
        self.put(self.page, 'speed', 'topologies', 'peers')
        self.put(self.readme, 'headlines')

    def put(self, page, *tables):
        places = (f'{readme.BEGIN.format(n)}\nold\n{readme.END.format(n)}\n' for n in tables)
        page.write_text('before\n' + 'between\n'.join(places) + 'after\n')

    def write(self, *words, status=0):
        told = self.run_script('readme.py', *words, self.page, self.readme, self.folder,
                               status=status)
        return self.page.read_text(), told

    def test_they_take_the_place_of_the_old_ones_and_nothing_else(self):
        text, _ = self.write()
        self.assertNotIn('\nold\n', text)
        table = '<!.*->\n'
        self.assertRegex(text, rf'(?s)^before\n{table}between\n{table}between\n{table}after\n$')
        self.assertEqual(self.write()[0], text)

    def test_there_is_a_row_for_each_figure_with_its_limit_and_ratio(self):
        text, _ = self.write()
        self.assertIn('| uncontended, 128 coroutines: pairs | 128,000 /s | 140,800 /s | 0.25 |\n',
                      text)
        self.assertIn('| the same, lost | 0.25 |  |  |\n', text)
        self.assertNotIn('not measured |  |', text)
        self.assertEqual(len(re.findall(r'(?m)^\| .*\|$', text)),
                         len(readme.ROWS) + len(readme.TOPOLOGIES) + 6 + PEERS_FIGURES)

    def test_the_readme_has_the_same_figures_of_some_and_no_others(self):
        self.change('contended-4-16', acquisitions_per_s=224_130, raw_acquisitions_per_s=27_415)
        self.write()
        text = self.readme.read_text()
        self.assertIn('4 processes of 16 coroutines | 224,130 /s | 27,415 /s | more |\n', text)
        self.assertIn('| memory of a hold | 0.25 bytes |  | less |\n', text)
        self.assertRegex(text, r'(?s)^before\n<!.*->\nafter\n$')
        self.assertEqual(len(re.findall(r'(?m)^\| .*\|$', text)), len(readme.HEADLINES) + 2)

    def test_permits_verdicts_and_count_downs_stand_beside_their_limits(self):
        self.change('permits-128', pairs_per_s=45_000, raw_pairs_per_s=50_000, ratio=0.91)
        self.change('calls-verdicts-128', calls_per_s=60_000, raw_calls_per_s=64_000, ratio=0.95)
        self.change('calls-latch-128', calls_per_s=70_000, raw_calls_per_s=72_000, ratio=0.96)
        self.change('calls-permits-128', calls_per_s=40_000, raw_calls_per_s=44_000, ratio=0.93)
        text, _ = self.write()
        self.assertIn('semaphores, 128 coroutines: pairs | 45,000 /s | 50,000 /s | 0.91 |\n', text)
        self.assertIn('GCRA, 128 coroutines | 60,000 /s | 64,000 /s | 0.95 |\n', text)
        self.assertIn('latches, 128 coroutines | 70,000 /s | 72,000 /s | 0.96 |\n', text)
        self.assertIn('semaphores, 128 coroutines | 40,000 /s | 44,000 /s | 0.93 |\n', text)

    def test_peers_stand_beside_conch_with_the_ratio_to_it(self):
        text, _ = self.write()
        self.assertIn('|  | conch 9 | other 7 | gone |\n', text)
        self.assertIn('| hand-off: p50, us | 250 | 500 (2.00) | not measured |\n', text)
        self.assertIn('* gone: not measured: no go in PATH\n', text)

    def test_what_peers_were_not_yet_measured_at_has_a_row_without_numbers(self):
        text, _ = self.write()
        self.assertIn('| uncontended, 1 worker: p50, us |' + ' not measured |' * 3 + '\n', text)
        self.assertIn('| hand-off of a fair lock: p50, us | not measured | – | – |\n', text)
        self.assertRegex(text, r'\| read-write lock, 4 processes of 16 workers.* not measured \|')

    def test_a_peer_without_such_a_lock_has_a_dash(self):
        found = json.loads(json.dumps(PEERS_RESULTS))
        found['benchmarks'].append({
            'name': 'handoff-fair', 'title': 'fair hand-off', 'figures': ['p50_us'],
            'participants': {'conch': ENTRY, 'other': {'p50_us': 750, 'ratios': {'p50_us': 3}}}})
        self.change('peers', **found)
        self.assertIn('| fair hand-off: p50, us | 250 | 750 (3.00) | – |\n', self.write()[0])

    def test_each_topology_has_its_rate_its_ratio_its_round_trips_and_its_hand_off(self):
        self.change('topology-uncontended-cluster', limit='as conch', pairs_per_s=5000.0,
                    ratio=0.75, round_trips_per_pair=2.0004)
        self.change('topology-handoff-cluster', p50_us=150.4)
        self.assertIn('| Cluster: three masters | 5,000 | 0.75 | 2.00 | 150 us |\n',
                      self.write()[0])

    def test_a_limit_that_goes_without_tls_is_said_to(self):
        self.change('topology-uncontended-tls', limit='without TLS', pairs_per_s=5000.0, ratio=0.75)
        self.assertIn('| 5,000 | 0.75 (baseline without TLS) | not measured |', self.write()[0])

    def test_a_topology_that_was_not_measured_has_no_numbers(self):
        self.assertIn(f'| one server |{" not measured |" * 4}\n', self.write()[0])

    def test_a_ratio_that_is_no_figure_is_the_quotient_of_the_two(self):
        self.change('reconnect-10000', first_grant_ms=150, raw_first_grant_ms=60)
        self.assertIn('to the first grant | 150 ms | 60 ms | 2.50 |\n', self.write()[0])

    def test_an_optional_file_that_is_missing_was_not_measured(self):
        self.path('local-fenced').unlink()
        self.assertIn(f'one client: acquisitions |{" not measured |" * 3}\n', self.write()[0])

    def test_a_count_has_no_decimals(self):
        self.change('names-10000', connections=1)
        self.assertIn('connections | 1 |', self.write()[0])

    def test_a_figure_that_could_not_be_measured_is_no_number(self):
        self.change('instructions-1', instructions_per_pair=None)
        self.assertIn('a pair, 1 coroutine | not measured | 0.25 |', self.write()[0])

    def test_a_check_changes_nothing_and_fails_if_it_would(self):
        for page in (self.page, self.readme):
            self.write()
            self.write('--check')
            old = page.read_text().replace('0.25', '0.24')
            page.write_text(old)
            self.assertIn('not those of the results', self.write('--check', status=1)[1])
            self.assertEqual(page.read_text(), old)

    def test_a_check_fails_if_one_run_is_of_several_commits(self):
        self.change('topology-handoff-tls', commit='2222222')
        self.change('peers', commit='3333333')
        self.change('local-1', commit='1111111')
        self.write()
        self.write('--check')
        self.change('local-128', commit='1111111-dirty')
        self.assertEqual(self.write('--check', status=1)[1],
                         'readme: the results of bench/run.sh are of several commits: 1111111, '
                         '1111111-dirty\n')

    def test_missing_results_are_told_and_the_page_stays(self):
        old = self.page.read_text()
        self.path('names-10000').unlink()
        text, told = self.write(status=1)
        self.assertEqual(told, f'readme: no {self.path("names-10000")}\n')
        self.assertEqual(text, old)

    def test_a_page_without_a_place_for_them_is_told(self):
        for page, table in ((self.readme, 'headlines'), (self.page, 'speed')):
            page.write_text('nothing\n')
            self.assertIn(f'no place for the table "{table}"', self.write(status=1)[1])


class Bounds(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / 'results'
        shutil.copytree(bounds.RESULTS, self.folder)

    def broken(self, name=None, **figures):
        if name:
            path = self.folder / f'{name}.json'
            path.write_text(json.dumps({**json.loads(path.read_text()), **figures}))
        return [str(b) for b in bounds.broken(self.folder)]

    def test_the_results_keep_them(self):
        self.assertEqual(self.broken(), [])

    def test_a_figure_beyond_its_bound_is_named_with_both(self):
        for name, figure, value, told in (
                ('uncontended-128', 'ratio', 0.99, 'ratio is 0.99, not >= 1'),
                ('handoff', 'ratio_p50', 1.3, 'ratio_p50 is 1.3, not <= 1.25'),
                ('permits-128', 'ratio', 0.85, 'ratio is 0.85, not >= 0.9'),
                ('calls-verdicts-128', 'ratio', 0.85, 'ratio is 0.85, not >= 0.9'),
                ('calls-latch-128', 'ratio', 0.8, 'ratio is 0.8, not >= 0.85'),
                ('calls-permits-128', 'ratio', 0.8, 'ratio is 0.8, not >= 0.85'),
                ('waiters-fair', 'bytes_per_waiter', 1700.0,
                 'bytes_per_waiter is 1700, not < 1400'),
                ('holds-100000', 'lost', 1, 'lost is 1, not <= 0'),
                ('contended-8-64', 'jain_index', 0.5, 'jain_index is 0.5, not >= 0.9'),
                ('contended-fenced-4-16', 'longest_wait_ms', 2500.0,
                 'longest_wait_ms is 2500, not < 1000'),
                ('contended-4-1', 'script_calls_per_acquisition', 6.1,
                 'script_calls_per_acquisition is 6.1, not <= 6')):
            with self.subTest(name):
                self.assertEqual(self.broken(name, **{figure: value}), [f'{name}.json: {told}'])
                shutil.copy(bounds.RESULTS / f'{name}.json', self.folder)

    def test_a_figure_that_is_missing_or_null_is_named(self):
        self.assertEqual(self.broken('uncontended-1', allocations_per_pair=None),
                         ['uncontended-1.json: no allocations_per_pair'])
        (self.folder / 'uncontended-1.json').unlink()
        self.assertEqual(self.broken()[0], f'no {self.folder / "uncontended-1.json"}')

    def test_a_share_of_another_figure_that_is_too_large_is_named(self):
        plain = json.loads((bounds.RESULTS / 'instructions-1.json').read_text())
        self.assertEqual(
            self.broken('instructions-metrics-1',
                        instructions_per_pair=1.04 * plain['instructions_per_pair']),
            ['instructions-metrics-1.json: instructions_per_pair, as a share of '
             'instructions-1.json, is 1.04, not <= 1.03'])

    def with_peers(self, benchmark, **shares):
        """The results, in which these peers have such a share of conch's rate there."""
        found = json.loads((bounds.RESULTS / 'peers.json').read_text())
        others = [b for b in found['benchmarks'] if b['name'] != benchmark]
        entries = {name: {'ratios': {'acquisitions_per_s': share}} if share else
                   {'not_measured': 'it failed'} for name, share in shares.items()}
        found['benchmarks'] = [*others, {'name': benchmark, 'participants': {
            'conch': {'ratios': {'acquisitions_per_s': 1}}, **entries}}]
        return self.broken('peers', **found)

    def test_the_best_peer_counts(self):
        for name in ('local', 'readers'):
            self.assertEqual(self.with_peers(name, redisson=0.019, other=0.01), [])
            self.assertEqual(self.with_peers(name, redisson=0.021, other=0.01),
                             [f'peers.json: conch / best peer, {name}, is 47.619, not >= 50'])

    def test_a_benchmark_without_a_peer_is_named(self):
        for name in ('local', 'readers'):
            self.assertEqual(self.with_peers(name, redisson=None),
                             [f'peers.json: no peer was measured, {name}'])

    def test_the_passes_are_those_of_run_sh(self):
        words = re.findall(r'^run (handoff\S*) handoff --passes (\d+)',
                           (BENCH / 'run.sh').read_text(), re.MULTILINE)
        self.assertEqual([name for name, _ in words],
                         ['handoff', 'handoff-fair', 'handoff-unpinned'])
        for name, passes in words:
            path = bounds.RESULTS / f'{name}.json'
            if path.exists():
                self.assertEqual(json.loads(path.read_text())['passes'], int(passes), name)


if __name__ == '__main__':
    unittest.main()
