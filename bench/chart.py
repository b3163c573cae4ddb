# SPDX-License-Identifier: BSL-1.0
"""A line chart as SVG text, that reads well on a light and on a dark page."""

import math
from typing import List, NamedTuple, Tuple
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 720, 440
LEFT, RIGHT, TOP, BOTTOM = 84, 36, 104, 58

# Both opaque: a page that shows the picture by itself may not tell whether it is dark.
STYLE = '''
  .page { fill: #ffffff; stroke: #d0d7de }
  .grid { stroke: #d8dee4 }
  .axis { stroke: #57606a }
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-size: 16px; font-weight: 600 }
  .small { fill: #57606a }
  .line { fill: none; stroke-width: 2.5; stroke-linejoin: round }
  .c0 { stroke: #0969da } .c1 { stroke: #bc4c00 } .c2 { stroke: #1a7f37 }
  .c3 { stroke: #8250df } .c4 { stroke: #bf3989 } .c5 { stroke: #7d5a00 }
  .dot { stroke-width: 2.5; fill: #ffffff }
  .dashed { stroke-dasharray: 6 5 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; stroke: #30363d }
    .grid { stroke: #21262d }
    .axis { stroke: #8b949e }
    text { fill: #e6edf3 }
    .small { fill: #9da7b3 }
    .c0 { stroke: #58a6ff } .c1 { stroke: #f0883e } .c2 { stroke: #3fb950 }
    .c3 { stroke: #bc8cff } .c4 { stroke: #ff7bac } .c5 { stroke: #d9b44a }
    .dot { fill: #0d1117 }
  }
'''
COLOURS = 6

Point = Tuple[float, float]


class Series(NamedTuple):
    name: str
    points: List[Point]
    dashed: bool = False
    dots: bool = True


def tick_text(value: float) -> str:
    return f'{value:,.0f}' if value >= 10 or value == int(value) else f'{value:g}'


class LinearAxis:
    """From zero to a round number that nothing exceeds, in steps of 1, 2 or 5."""

    def __init__(self, label: str, most: float):
        self.label = label
        step = 10 ** math.floor(math.log10(most / 4))
        step *= next(f for f in (1, 2, 5, 10) if most / 6 <= f * step)
        count = math.ceil(most / step - 1e-9)
        self.ticks = [i * step for i in range(count + 1)]

    def place(self, value: float) -> float:
        return min(1, max(0, value / self.ticks[-1]))


class LogAxis:
    """From a power of ten to another."""

    def __init__(self, label: str, values: List[float]):
        self.label = label
        self._low = math.floor(math.log10(min(values)) + 1e-9)
        high = math.ceil(math.log10(max(values)) - 1e-9)
        self._high = max(high, self._low + 1)
        self.ticks = [10.0 ** e for e in range(self._low, self._high + 1)]

    def place(self, value: float) -> float:
        at = (math.log10(value) - self._low) / (self._high - self._low)
        return min(1, max(0, at))


def _x(axis, value: float) -> float:
    return LEFT + axis.place(value) * (WIDTH - LEFT - RIGHT)


def _y(axis, value: float) -> float:
    return HEIGHT - BOTTOM - axis.place(value) * (HEIGHT - TOP - BOTTOM)


def _text(x: float, y: float, text: str, kind: str = '', anchor: str = 'start') -> str:
    return (f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">'
            f'{escape(text)}</text>')


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def _axes(x_axis, y_axis) -> List[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    out = []
    for tick in y_axis.ticks:
        y = _y(y_axis, tick)
        out.append(_line(LEFT, y, right, y, 'axis' if tick == y_axis.ticks[0] else 'grid'))
        out.append(_text(LEFT - 8, y + 4, tick_text(tick), 'small', 'end'))
    for tick in x_axis.ticks:
        x = _x(x_axis, tick)
        out.append(_line(x, TOP, x, bottom, 'grid'))
        out.append(_line(x, bottom, x, bottom + 5, 'axis'))
        out.append(_text(x, bottom + 20, tick_text(tick), 'small', 'middle'))
    out.append(_text((LEFT + right) / 2, HEIGHT - 14, x_axis.label, '', 'middle'))
    out.append(_text(16, TOP - 14, y_axis.label))
    return out


def _curve(number: int, series: Series, x_axis, y_axis) -> List[str]:
    colour = f'c{number % COLOURS}'
    places = [(_x(x_axis, x), _y(y_axis, y)) for x, y in series.points]
    path = ' '.join(f'{x:.1f},{y:.1f}' for x, y in places)
    kind = f'line {colour}' + (' dashed' if series.dashed else '')
    out = [f'<polyline class="{kind}" points="{path}"/>']
    if series.dots:
        out += [f'<circle class="dot {colour}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
                for x, y in places]
    return out


def _legend(all_series: List[Series]) -> List[str]:
    out: List[str] = []
    x, y = 16.0, 58
    for number, series in enumerate(all_series):
        kind = f'line c{number % COLOURS}' + (' dashed' if series.dashed else '')
        out.append(_line(x, y - 4, x + 26, y - 4, kind))
        out.append(_text(x + 32, y, series.name))
        x += 32 + 7.2 * len(series.name) + 16  # more than the letters take
    return out


def chart(title: str, all_series: List[Series], x_axis, y_axis) -> str:
    body = [f'<rect class="page" x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" '
            'rx="8"/>', _text(16, 30, title, 'title'), *_axes(x_axis, y_axis), *_legend(all_series)]
    for number, series in enumerate(all_series):
        body += _curve(number, series, x_axis, y_axis)
    return ('<!-- SPDX-License-Identifier: BSL-1.0 -->\n'
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'width="{WIDTH}" height="{HEIGHT}" role="img">\n'
            f'<title>{escape(title)}</title>\n<style>{STYLE}</style>\n'
            + '\n'.join(body) + '\n</svg>\n')
