#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Draws what bench/run.sh has measured: an SVG file for each plot, beside the JSON.

    plot.py [--peers] [FOLDER]    default: bench/results

A plot whose figures are missing is not drawn, which is told, and the status is 1; but that of the
peers is drawn only where these were measured. --peers: that one alone.
"""

import sys
from pathlib import Path
from typing import List, Tuple

from chart import LinearAxis, LogAxis, Point, Series, chart
from figures import Missing, read


def curve(folder: Path, name: str, x: str, y: str) -> List[Point]:
    """A point for each file NAME-*.json that has both figures."""
    found = [read(path) for path in folder.glob(f'{name}-*.json')]
    points = sorted((f[x], f[y]) for f in found if f.get(x) and f.get(y))
    if not points:
        raise Missing(f'no {name}-*.json with {x} and {y} in {folder}')
    return points


def ordinates(all_series: List[Series]) -> List[float]:
    return [y for s in all_series for _, y in s.points]


def both(folder: Path, name: str, x: str, y: str) -> Tuple[List[Series], LogAxis]:
    """conch and its limit, on an axis for x."""
    own, limit = curve(folder, name, x, y), curve(folder, name, x, f'raw_{y}')
    axis = LogAxis({'coroutines': 'coroutines (log scale)',
                    'holds': 'locks held and renewed (log scale)'}[x], [p[0] for p in own])
    return [Series('conch', own), Series('limit', limit, dashed=True)], axis


def throughput(folder: Path) -> str:
    series, x_axis = both(folder, 'uncontended', 'coroutines', 'pairs_per_s')
    return chart('Uncontended lock + unlock, one client on one thread', series, x_axis,
                 LinearAxis('pairs per second', max(ordinates(series))))


def hand_off(folder: Path) -> str:
    figures = read(folder / 'handoff.json')
    series = []
    for name, field in (('conch', 'percentiles_us'), ('limit', 'raw_percentiles_us')):
        if not figures.get(field):
            raise Missing(f'no {field} in {folder / "handoff.json"}')
        points = [(us, p) for p, us in enumerate(figures[field], 1) if p < 100]
        series.append(Series(name, points, dashed=name == 'limit', dots=False))
    most = max(s.points[-1][0] for s in series)
    return chart('Hand-off between two processes, from the start of the unlock to the grant',
                 series, LinearAxis('microseconds (to the 99th percentile)', most),
                 LinearAxis('% of the passes', 100))


def cost(folder: Path) -> str:
    series, x_axis = both(folder, 'holds', 'holds', 'cpu_share')
    percent = [s._replace(points=[(x, 100 * y) for x, y in s.points]) for s in series]
    leases = [lease / 1000 for _, lease in curve(folder, 'holds', 'holds', 'lease_ms')]
    return chart(f'What it costs to keep locks renewed, with a lease of {leases[0]:g} s', percent,
                 x_axis, LogAxis('CPU time, % of one core (log scale)', ordinates(percent)))


def peers(folder: Path) -> str:
    results = read(folder / 'peers.json')
    entries = next((b['participants'] for b in results['benchmarks'] if b['name'] == 'handoff'), {})
    series = [Series(name, [(us / 1e3, p) for p, us in enumerate(e['percentiles_us'], 1)],
                     dots=False)
              for name, e in entries.items() if 'percentiles_us' in e]
    if not series:
        raise Missing(f'no hand-off in {folder / "peers.json"}')
    return chart('Hand-off after 20 to 220 ms of waiting', series,
                 LogAxis('milliseconds (log scale)', [x for s in series for x, _ in s.points]),
                 LinearAxis('% of the passes', 100))


PLOTS = {'throughput.svg': throughput, 'handoff.svg': hand_off, 'holds.svg': cost}
PEERS_PLOT = {'handoff-peers.svg': peers}


def main() -> int:
    only_peers = sys.argv[1:2] == ['--peers']
    paths = sys.argv[1 + only_peers:]
    if len(paths) > 1 or paths[:1] == ['--help']:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    folder = Path(paths[0]) if paths else Path(__file__).resolve().parent / 'results'
    wanted = {} if only_peers else PLOTS
    if only_peers or (folder / 'peers.json').exists():
        wanted = {**wanted, **PEERS_PLOT}
    status = 0
    for name, plot in wanted.items():
        try:
            text = plot(folder)
        except Missing as e:
            print(f'plot: {name}: {e}', file=sys.stderr)
            status = 1
            continue
        (folder / name).write_text(text)
    return status


if __name__ == '__main__':
    sys.exit(main())
