# SPDX-License-Identifier: BSL-1.0
"""The table of peers, for people: a row for each figure of each participant."""

import math
from typing import Dict, List, Optional

from benchmarks import FIGURES

NOT_MEASURED = 'not measured'


def number(value: float) -> str:
    """Three digits, or all before the point; two of what is below 1."""
    if value >= 100 or not math.isfinite(value):
        return f'{value:,.0f}'
    if value >= 1:
        return f'{value:.{3 - len(str(int(value)))}f}'
    return f'{value:.{max(2, 1 - math.floor(math.log10(value)))}f}' if value > 0 else '0'


def _cells(figure: str, entry: Dict) -> List[str]:
    unit = FIGURES[figure].unit
    ratio: Optional[float] = entry['ratios'].get(figure)
    return [f'{number(entry[figure])} {unit}'.strip(), '' if ratio is None else number(ratio)]


def rows(results: Dict) -> List[List[str]]:
    """What is measured, by whom, its figure, its ratio to the reference's."""
    out = []
    for b in results['benchmarks']:
        for figure in b['figures']:
            title = f'{b["title"]}: {FIGURES[figure].label}'
            for name, entry in b['participants'].items():
                said = results['versions'].get(name, name)
                cells = [NOT_MEASURED, ''] if 'not_measured' in entry else _cells(figure, entry)
                out.append([title, said, *cells])
    return out


def reasons(results: Dict) -> List[str]:
    """Why what is missing was not measured; once for each participant that has one reason."""
    out = []
    for b in results['benchmarks']:
        for name, entry in b['participants'].items():
            said = results['versions'].get(name, name)
            if 'not_measured' in entry:
                where = f', {b["title"]}' if name in results['versions'] else ''
                out.append(f'{said}{where}: {NOT_MEASURED}: {entry["not_measured"]}')
            elif 'left_waiting' in entry:
                out.append(f'{said}, {b["title"]}: workers that never got the lock, and were given '
                           f'up after a slice: {entry["left_waiting"]}')
    return list(dict.fromkeys(out))


def text(results: Dict) -> str:
    head = ['figure', 'peer', 'value', f'ratio to {results["reference"]}']
    table = [head, *rows(results)]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    lines, last = [], ''
    for title, who, value, ratio in table:
        shown = '' if title == last else title
        last = title
        line = (f'{shown:{widths[0]}}  {who:{widths[1]}}  {value:>{widths[2]}}'
                f'  {ratio:>{widths[3]}}')
        lines.append(line.rstrip())
    return '\n'.join(lines + [''] * bool(reasons(results)) + reasons(results))
