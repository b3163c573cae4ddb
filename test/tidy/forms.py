# SPDX-License-Identifier: BSL-1.0
"""What may not be written, or must be."""

import re
from typing import Iterator

from cpp_text import closing, inside, line_of, without_comments
from layering import RANK, SANS_IO
from source_file import Finding, SourceFile

LICENCE = 'SPDX-License-Identifier: BSL-1.0'
_DOTFILES = ('.clang-format', '.gitignore', '.gitattributes')


def check(f: SourceFile) -> Iterator[Finding]:
    yield from _licence(f)
    yield from _machine_paths(f)
    if f.is_cpp:
        yield from _include_guard(f)
        yield from _awaits(f)
        yield from _using_namespace(f)
        yield from _default_labels(f)
        yield from _heavy_types(f)
    if f.path.endswith('.lua'):
        yield from _undeclared_keys(f)
    if f.parts[0] == 'test' and f.parts[1] != 'tidy':
        yield from _sleeps(f)


def _licence(f: SourceFile) -> Iterator[Finding]:
    if f.is_code or f.path in _DOTFILES:
        if not any(LICENCE in line for line in f.lines[:2]):
            yield f.finding(1, 'licence', f'one of the first two lines says "{LICENCE}"')


def _machine_paths(f: SourceFile) -> Iterator[Finding]:
    yield from f.matches(r'(?<![\w.}-])/(?:root|home|work)/', f.text, 'machine path',
                         'a path of one machine: {}')


def _include_guard(f: SourceFile) -> Iterator[Finding]:
    if not f.is_header:
        return
    words = f.parts[1:] if f.parts[0] == 'include' else ['conch'] + f.parts
    guard = re.sub(r'[^A-Z0-9]', '_', '_'.join(words).upper())
    pattern = r'\s*#ifndef ' + guard + r'\n#define ' + guard + r'\n.*\n#endif\b[^\n]*\s*'
    if not re.fullmatch(pattern, without_comments(f.text), re.DOTALL):
        yield f.finding(1, 'include guard', f'the whole file is inside of {guard}')


def _awaits(f: SourceFile) -> Iterator[Finding]:
    """GCC 12 miscompiles a co_await in a condition, and one in a test macro."""
    for m in re.finditer(r'\b(?:if|while|switch)\s*(?:constexpr\s*)?\(', f.code):
        condition = f.code[m.end():closing(f.code, m.end() - 1)]
        awaited = re.sub(r'(?<![=!<>])=\s*co_await\b', '=', condition)
        if 'co_await' in awaited:
            yield f.finding(line_of(f.code, m.start()), 'co_await',
                            'not in a condition: await into a variable first')
    for m in re.finditer(r'\b(?:EXPECT|ASSERT)_\w+\s*\(', f.code):
        if 'co_await' in f.code[m.end():closing(f.code, m.end() - 1)]:
            yield f.finding(line_of(f.code, m.start()), 'co_await',
                            'not in a test macro: await into a variable first')


def _using_namespace(f: SourceFile) -> Iterator[Finding]:
    if not f.is_header:
        return
    # In a test header the standard's literals do no harm: they are operators only.
    literals = r'(?!\s+std(?:::literals)?::\w+_literals\s*;)' if f.parts[0] == 'test' else ''
    for m in re.finditer(r'\busing\s+namespace\b' + literals, f.code):
        if not inside(f.functions, m.start()):
            yield f.finding(line_of(f.code, m.start()), 'using namespace',
                            'not at the scope of a header')


def _default_labels(f: SourceFile) -> Iterator[Finding]:
    """A switch over an enum names every case, so that a new enumerator is a warning."""
    if f.layer not in RANK:
        return
    for m in re.finditer(r'\bswitch\s*\(', f.code):
        opening = f.code.find('{', closing(f.code, m.end() - 1))
        block = f.code[opening + 1:closing(f.code, opening)]
        default = re.search(r'\bdefault\s*:', block)
        cases = re.findall(r'\bcase\s+([^\s:])', block)
        literals_only = cases and all(c in "'-" or c.isdigit() for c in cases)
        if default and not literals_only:
            yield f.finding(line_of(f.code, opening + 1 + default.start()), 'default',
                            'a switch over an enum is exhaustive, without default')


def _heavy_types(f: SourceFile) -> Iterator[Finding]:
    """A group waits for several servers at a time: its path is not hot."""
    if f.layer == 'group' or RANK.get(f.layer, SANS_IO + 1) > SANS_IO:
        return
    forbidden = r'\b(?:shared_ptr|weak_ptr|make_shared|virtual)\b'
    yield from f.matches(forbidden, f.code, 'hot path', '{} below the driver')
    if f.path != 'src/core/log.hpp':
        yield from f.matches(r'\bstd\s*::\s*(?:move_only_)?function\b', f.code, 'hot path',
                             '{} below the driver')


def _undeclared_keys(f: SourceFile) -> Iterator[Finding]:
    """Some servers refuse a script whose commands do not spell their key KEYS[...]."""
    calls = r"""redis\.p?call\('(?!time'|publish'|spublish')\w+'(?!, KEYS\[)"""
    yield from f.matches(calls, re.sub(r'(?m)--.*$', '', f.text), 'key',
                         '{}: the key of a command is spelled KEYS[...]')


def _sleeps(f: SourceFile) -> Iterator[Finding]:
    text = without_comments(f.text) if f.is_cpp else re.sub(r'(?m)#.*$', '', f.text)
    yield from f.matches(r'\b(?:sleep_for|sleep_until|usleep|nanosleep|sleep\s*\(|sleep\s+[\d.$])',
                         text, 'sleep', '{}: await an event instead')
