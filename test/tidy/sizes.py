# SPDX-License-Identifier: BSL-1.0
"""How long files, functions and lines may be."""

from statistics import median
from typing import Iterator, List

from cpp_text import line_of
from source_file import Finding, SourceFile

MAX_FILE = 400
MAX_SOURCE_FILE = 350
MAX_MEDIAN = 149
MAX_FUNCTION = 70
MAX_COLUMNS = 100


def check(f: SourceFile) -> Iterator[Finding]:
    if not f.is_code:
        return
    most = MAX_SOURCE_FILE if f.parts[0] in ('src', 'include') else MAX_FILE
    if len(f.lines) > most:
        yield f.finding(1, 'file size', f'{len(f.lines)} lines; at most {most}')
    for number, line in enumerate(f.lines, 1):
        if len(line) > MAX_COLUMNS:
            yield f.finding(number, 'line length', f'{len(line)} columns; at most {MAX_COLUMNS}')
    if f.is_cpp:
        for function in f.functions:
            first = line_of(f.code, function.begin)
            length = line_of(f.code, function.end) - first + 1
            if length > MAX_FUNCTION:
                yield f.finding(first, 'function size',
                                f'{length} lines; at most {MAX_FUNCTION}')


def check_all(files: List[SourceFile]) -> Iterator[Finding]:
    lengths = [len(f.lines) for f in files if f.is_cpp and f.parts[0] in ('src', 'include')]
    if lengths and median(lengths) > MAX_MEDIAN:
        yield Finding('src', 1, 'median size',
                      f'half of the files have more than {MAX_MEDIAN} lines')
