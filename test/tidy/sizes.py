# SPDX-License-Identifier: BSL-1.0
"""How long files, functions and lines may be."""

import re
from statistics import median
from typing import Iterator, List

from cpp_text import closing, line_of
from source_file import Finding, SourceFile

MAX_FILE = 400
MAX_SOURCE_FILE = 350
MAX_MEDIAN = 149
MAX_FUNCTION = 70
MAX_PRIVATE = 60  # a screen
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
        if f.is_header and f.parts[0] in ('src', 'include'):
            yield from check_private(f)


def check_private(f: SourceFile) -> Iterator[Finding]:
    """Who reads a header must be able to see a class's private members at once."""
    for m in re.finditer(r'^( *)(class|struct) ([^;{}]*)\{', f.code, re.MULTILINE):
        first, last = (line_of(f.code, at) for at in (m.end(), closing(f.code, m.end() - 1)))
        access = 'private' if m[2] == 'class' else 'public'
        length = 0
        for line in f.lines[first:last - 1]:
            label = re.fullmatch(m[1] + r'(public|protected|private):', line)
            access = label[1] if label else access
            length += access == 'private' and not label
        if length > MAX_PRIVATE:
            yield f.finding(first, 'private size',
                            f'{m[3].split()[0]} has {length} private lines; at most {MAX_PRIVATE}')


def check_all(files: List[SourceFile]) -> Iterator[Finding]:
    lengths = [len(f.lines) for f in files if f.is_cpp and f.parts[0] in ('src', 'include')]
    if lengths and median(lengths) > MAX_MEDIAN:
        yield Finding('src', 1, 'median size',
                      f'half of the files have more than {MAX_MEDIAN} lines')
