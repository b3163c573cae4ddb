#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Writes the tables of figures into the page on performance and into the README, from what
bench/run.sh has left.

    readme.py [--check] [PAGE README RESULTS]
                                default: src/doc/performance.md, README.md, and bench/results

--check changes nothing: the status is 1 if a page has other tables than these, or if the
results of one run are of several commits.
"""

import sys
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / 'bench' / 'peers'))

from benchmarks import FIGURES, Benchmark, all_benchmarks  # noqa: E402
from figures import Missing, commits, read  # noqa: E402
from table import NOT_MEASURED, number, reasons  # noqa: E402

NO_SUCH_LOCK = '–'
BEGIN = '<!-- {}: written by bench/readme.py -->'
END = '<!-- end of {} -->'


class Row(NamedTuple):
    """One figure of conch, of its limit where there is one, and their ratio: a figure, too, or the
    quotient of the two."""
    title: str
    file: str
    figure: str
    unit: str = ''
    limit: str = ''
    ratio: str = ''
    scale: float = 1
    optional: bool = False  # where its file is not there, it was not measured


def acquisitions(title: str, file: str, optional: bool = False) -> List[Row]:
    return [Row(f'{title}: acquisitions', file, 'acquisitions_per_s', '/s',
                'raw_acquisitions_per_s', 'ratio', optional=optional),
            Row('the same, script calls of an acquisition', file, 'script_calls_per_acquisition',
                optional=optional)]


def fairness(file: str, optional: bool = False) -> List[Row]:
    return [Row("the same, Jain's index of the coroutines", file, 'jain_index', optional=optional),
            Row('the same, longest wait of all', file, 'longest_wait_ms', 'ms', optional=optional)]


ROWS = [
    *(Row(f'uncontended, {n:,} coroutine{"s" if n > 1 else ""}: pairs', f'uncontended-{n}',
          'pairs_per_s', '/s', 'raw_pairs_per_s', 'ratio') for n in (1, 16, 128, 1024, 10000)),
    *(Row(f'a pair of one coroutine, {where}, p50', file, 'p50_us', 'us', 'raw_p50_us',
          'latency_ratio', optional=optional)
      for where, file, optional in (
          ('all on one CPU', 'uncontended-1-pinned', True),
          ('on any CPU', 'uncontended-1', False))),
    Row('client CPU time of a pair, 128 coroutines', 'uncontended-128', 'cpu_us_per_pair', 'us',
        'raw_cpu_us_per_pair'),
    Row('allocations of a pair, 1 coroutine', 'uncontended-1', 'allocations_per_pair'),
    *(Row(f'the same, {n:,} coroutines', f'uncontended-{n}', 'allocations_per_pair')
      for n in (128, 1024, 10000)),
    *(Row(f'{title}, 128 coroutines: pairs', file, 'pairs_per_s', '/s', 'raw_pairs_per_s', 'ratio',
          optional=True)
      for title, file in (('permits of semaphores', 'permits-128'),
                          ('two locks at once, as a multi_lock', 'several-128'))),
    *(Row(f'{title}, 128 coroutines', file, 'calls_per_s', '/s', 'raw_calls_per_s', 'ratio',
          optional=True)
      for title, file in (
          ('verdicts of rate limiters, by GCRA', 'calls-verdicts-128'),
          ('count-downs of latches', 'calls-latch-128'),
          ('pairs of counting semaphores', 'calls-permits-128'))),
    *(Row(f'{title}, {p}', file, f'{p}_us', 'us', f'raw_{p}_us', f'ratio_{p}', optional=optional)
      for title, file, optional in (
          ('hand-off between two processes, on fixed CPUs', 'handoff', False),
          ('hand-off between two processes, on any CPU', 'handoff-unpinned', True),
          ('hand-off of a fair lock, on fixed CPUs', 'handoff-fair', True))
      for p in ('p50', 'p99')),
    *acquisitions('one lock without fences, 128 coroutines of one client', 'local-128'),
    *acquisitions('one lock without fences, 4 processes of 16 coroutines',
                  'contended-4-16'),
    *fairness('contended-4-16'),
    Row('one lock without fences, 4 processes of 1 coroutine: script calls of an acquisition',
        'contended-4-1',
        'script_calls_per_acquisition'),
    Row('one fair lock, the same', 'contended-fair-4-1', 'script_calls_per_acquisition',
        optional=True),
    Row("the same, Jain's index of the coroutines", 'contended-fair-4-1', 'jain_index',
        optional=True),
    *acquisitions('one read-write lock, 128 coroutines of one client that read', 'local-readers',
                  True),
    *acquisitions('one read-write lock, 4 processes of 16 coroutines, 1 % of which write',
                  'contended-readers-4-16', True),
    *acquisitions('one lock with fences, 128 coroutines of one client', 'local-fenced',
                  True),
    *acquisitions('one lock with fences, 4 processes of 16 coroutines',
                  'contended-fenced-4-16', True),
    *fairness('contended-fenced-4-16', True),
    Row('1,000 locks held, lease 3 s: memory of a hold', 'holds-1000', 'bytes_per_hold', 'bytes'),
    Row('100,000 locks held, lease 3 s: CPU time', 'holds-100000', 'cpu_share', '% of a core',
        'raw_cpu_share', 'ratio', 100),
    Row('the same, lost', 'holds-100000', 'lost'),
    Row('the same, lateness of a renewal, p99', 'holds-100000', 'lateness_p99_ms', 'ms'),
    Row('the same, memory of a hold', 'holds-100000', 'bytes_per_hold', 'bytes'),
    Row('10,000 contended names: connections', 'names-10000', 'connections'),
    Row('the same, memory of a waiter', 'names-10000', 'bytes_per_waiter', 'bytes'),
    *(Row(f'10,000 contended {what}: memory of a waiter', f'waiters-{file}',
          'bytes_per_waiter', 'bytes', optional=True)
      for what, file in (('fair locks', 'fair'), ('read-write locks, for reading', 'readers'),
                         ('semaphores', 'permits'), ('counting semaphores', 'counters'),
                         ('latches', 'latches'), ('multi_locks of two', 'several'))),
    Row('restart of the server to the first grant', 'reconnect-10000', 'first_grant_ms', 'ms',
        'raw_first_grant_ms'),
    Row('restart until 10,000 holds and 10,000 waiters work again', 'reconnect-10000', 'whole_ms',
        'ms',
        'raw_whole_ms', 'whole_ratio'),
    *(Row(f'client instructions of a pair, {n} coroutine{"s" if n > 1 else ""}',
          f'instructions-{n}', 'instructions_per_pair', '', 'raw_instructions_per_pair', 'ratio')
      for n in (1, 128)),
    *(Row(f'the same with metrics, {n} coroutine{"s" if n > 1 else ""}',
          f'instructions-metrics-{n}', 'instructions_per_pair', optional=True) for n in (1, 128)),
]


class Headline(NamedTuple):
    """A row that the README shows, too, and how it names it."""
    title: str
    file: str
    figure: str
    better: str = 'more'


HEADLINES = [
    Headline('lock and unlock, one coroutine', 'uncontended-1', 'pairs_per_s'),
    Headline('lock and unlock, 1,024 coroutines', 'uncontended-1024', 'pairs_per_s'),
    Headline('hand-off between two processes, p50', 'handoff-unpinned', 'p50_us', 'less'),
    Headline('one contended lock without fences, 4 processes of 16 coroutines', 'contended-4-16',
             'acquisitions_per_s'),
    Headline('the same with fences', 'contended-fenced-4-16', 'acquisitions_per_s'),
    Headline('memory of a hold', 'holds-1000', 'bytes_per_hold', 'less'),
    Headline('memory of a waiter', 'names-10000', 'bytes_per_waiter', 'less'),
    Headline('100,000 locks held, lease 3 s: CPU time', 'holds-100000', 'cpu_share', 'less'),
]

TOPOLOGIES = {'single': 'one server', 'tls': 'one server, TLS',
              'sentinel': 'Sentinel: a master, two replicas', 'cluster': 'Cluster: three masters'}


def cell(value: Optional[float], unit: str = '') -> str:
    if value is None:
        return NOT_MEASURED
    text = f'{value:,}' if isinstance(value, int) else number(value)
    return f'{text} {unit}'.strip()


def markdown(rows: List[List[str]]) -> str:
    head, *rest = rows
    return '\n'.join(f'| {" | ".join(row)} |' for row in
                     [head, ['---', *['---:'] * (len(head) - 1)], *rest])


def cells(r: Row, results: Path) -> List[str]:
    """Of conch, of the baseline, and their ratio."""
    path = results / f'{r.file}.json'
    figures = measured(path) if r.optional else read(path)
    if figures and r.figure not in figures:
        raise Missing(f'no {r.figure} in {r.file}.json')
    own, limit = (None if f is None else f * r.scale
                  for f in map(figures.get, (r.figure, r.limit)))
    ratio = figures.get(r.ratio) if r.ratio or not (own and limit) else own / limit
    return [cell(own, r.unit), *([cell(limit, r.unit), cell(ratio)] if r.limit else ['', ''])]


def headlines(results: Path) -> str:
    row_of = {(r.file, r.figure): r for r in ROWS}
    return markdown([['', 'conch', 'raw commands', 'better is'],
                     *([h.title, *cells(row_of[h.file, h.figure], results)[:2], h.better]
                       for h in HEADLINES)])


def speed(results: Path) -> str:
    rows = [['', 'conch', 'baseline', 'ratio'], *([r.title, *cells(r, results)] for r in ROWS)]
    machine = read(results / 'machine.json')
    return (f'{markdown(rows)}\n\n{machine["cpu"]}, {machine["cores"]} cores; Redis '
            f'{machine["redis"]}, {machine["compiler"]}.')


def topologies(results: Path) -> str:
    rows = [['', 'pairs/s, 1 coroutine', 'ratio to its baseline', 'round trips of a pair',
             'hand-off, p50']]
    for name, title in TOPOLOGIES.items():
        pairs, passes = (measured(results / f'topology-{benchmark}-{name}.json')
                         for benchmark in ('uncontended', 'handoff'))
        ratio = cell(pairs.get('ratio'))
        if pairs.get('limit') == 'without TLS':
            ratio += ' (baseline without TLS)'
        rows.append([title, cell(pairs.get('pairs_per_s')), ratio,
                     cell(pairs.get('round_trips_per_pair')), cell(passes.get('p50_us'), 'us')])
    return markdown(rows)


def measured(path: Path) -> Dict:
    """Nothing, where nothing was measured."""
    return read(path) if path.exists() else {}


def peer_cell(entry: Optional[Dict], figure: str, is_reference: bool) -> str:
    if entry is None:
        return NO_SUCH_LOCK
    if 'not_measured' in entry:
        return NOT_MEASURED
    ratio = entry['ratios'].get(figure)
    value = number(entry[figure])
    return value if is_reference or ratio is None else f'{value} ({number(ratio)})'


def not_measured(b: Benchmark, names: List[str]) -> Dict:
    """As its results, where there are none."""
    return {'title': b.title, 'figures': b.figures,
            'participants': {name: {'not_measured': ''} for name in names if b.has(name)}}


def peers(results: Path) -> str:
    found = read(results / 'peers.json')
    names = list(found['benchmarks'][0]['participants'])
    rows = [['', *(found['versions'].get(name, name) for name in names)]]
    results_of = {b['name']: b for b in found['benchmarks']}
    sizes = (found['settings'][name] for name in ('passes', 'processes', 'workers'))
    for benchmark in all_benchmarks(*sizes):
        b = results_of.get(benchmark.name) or not_measured(benchmark, names)
        for figure in b['figures']:
            label, unit = FIGURES[figure]
            rows.append([f'{b["title"]}: {label}{", " if unit else ""}{unit}',
                         *(peer_cell(b['participants'].get(name), figure,
                                     name == found['reference']) for name in names)])
    notes = [f'* {reason}' for reason in reasons(found)]
    return '\n'.join([markdown(rows), *([''] if notes else []), *notes])


def with_table(text: str, name: str, table: str) -> str:
    begin, end = BEGIN.format(name), END.format(name)
    before, found, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise Missing(f'the page has no place for the table "{name}"')
    return f'{before}{begin}\n{table}\n{end}{after}'


def mixtures(results: Path) -> List[str]:
    """The runs whose files are of several commits."""
    return [f'the results of {" ".join(["bench/run.sh", run]).strip()} are of several commits: '
            f'{", ".join(sorted(found))}'
            for run, found in sorted(commits(results).items()) if len(found) > 1]


def main() -> int:
    words = sys.argv[1:]
    check = words[:1] == ['--check']
    paths = words[check:] or [ROOT / 'src' / 'doc' / 'performance.md', ROOT / 'README.md',
                              ROOT / 'bench' / 'results']
    if len(paths) != 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    page, readme, results = (Path(p) for p in paths)
    old = {p: p.read_text() for p in (page, readme)}
    new = dict(old)
    try:
        for path, name, table in ((page, 'speed', speed), (page, 'topologies', topologies),
                                  (page, 'peers', peers), (readme, 'headlines', headlines)):
            new[path] = with_table(new[path], name, table(results))
    except Missing as e:
        print(f'readme: {e}', file=sys.stderr)
        return 1
    if check:
        wrong = mixtures(results)
        if new != old:
            wrong.append('the tables are not those of the results: run bench/readme.py')
        for line in wrong:
            print(f'readme: {line}', file=sys.stderr)
        return int(bool(wrong))
    for path, text in new.items():
        path.write_text(text)
    return 0


if __name__ == '__main__':
    sys.exit(main())
