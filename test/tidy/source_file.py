# SPDX-License-Identifier: BSL-1.0
"""The files that tidy looks at, and what it says about them."""

import re
import shutil
import subprocess
from functools import cached_property
from pathlib import Path
from typing import Iterator, List, NamedTuple, Optional, Set

import cpp_text

FOLDERS = ('src', 'include', 'test', 'bench', '.ci')
CODE_SUFFIXES = ('.cpp', '.hpp', '.lua', '.py', '.sh', '.cmake', '.in')


class Finding(NamedTuple):
    path: str
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f'{self.path}:{self.line}: [{self.rule}] {self.text}'


class SourceFile:
    def __init__(self, path: str, text: str):
        self.path = path  # from the top level, with "/"
        self.text = text
        self.parts = path.split('/')
        self.name = self.parts[-1]

    @property
    def is_cpp(self) -> bool:
        return self.name.endswith(('.cpp', '.hpp'))

    @property
    def is_header(self) -> bool:
        return self.name.endswith('.hpp')

    @property
    def is_code(self) -> bool:
        return (self.name.endswith(CODE_SUFFIXES) or self.name == 'CMakeLists.txt'
                or self.path == '.ci/run')

    @property
    def layer(self) -> str:
        """"core" for src/core/x.hpp; "" for what is no source of the library or program."""
        return self.parts[1] if self.parts[0] == 'src' and len(self.parts) > 2 else ''

    @cached_property
    def lines(self) -> List[str]:
        return self.text.splitlines()

    @cached_property
    def code(self) -> str:
        """C++ without comments and without the inside of strings, at the same offsets."""
        return cpp_text.code_only(self.text)

    @cached_property
    def functions(self) -> List[cpp_text.Function]:
        return cpp_text.functions(self.code)

    def finding(self, line: int, rule: str, text: str) -> Finding:
        return Finding(self.path, line, rule, text)

    def matches(self, pattern: str, text: str, rule: str, message: str) -> Iterator[Finding]:
        """A finding for each match in `text`, which has this file's offsets."""
        for m in re.finditer(pattern, text):
            yield self.finding(cpp_text.line_of(text, m.start()), rule, message.format(m[0]))


def _is_source(path: str) -> bool:
    return '__pycache__' not in path and not path.startswith('test/fuzz/corpus/')


def _tracked(root: Path) -> Optional[Set[str]]:
    """What git knows of a checkout; None for an export, which has nothing but the project, and
    where there is no git to ask."""
    if not (root / '.git').exists() or not shutil.which('git'):
        return None
    # A checkout that belongs to another user, as in a container, is read all the same.
    listed = subprocess.run(['git', '-c', 'safe.directory=*', '-C', str(root), 'ls-files', '-z'],
                            check=True, capture_output=True, text=True)
    return set(listed.stdout.split('\0'))


def read_tree(root: Path) -> List[SourceFile]:
    """All text files of the project; not what is built from it, nor what somebody keeps in it."""
    paths = [p for p in root.iterdir() if p.is_file()]
    for folder in FOLDERS:
        paths += [p for p in (root / folder).rglob('*') if p.is_file()]
    tracked = _tracked(root)
    found = []
    for path in sorted(paths):
        relative = path.relative_to(root).as_posix()
        if not _is_source(relative) or (tracked is not None and relative not in tracked):
            continue
        try:
            found.append(SourceFile(relative, path.read_text(encoding='utf-8')))
        except UnicodeDecodeError:
            continue
    return found
