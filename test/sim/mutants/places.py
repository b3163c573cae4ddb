# SPDX-License-Identifier: BSL-1.0
"""Finds where in the sources an edit of mutants.txt is made."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tidy"))
import cpp_text  # noqa: E402
from pattern import Pattern  # noqa: E402


class Lost(Exception):
    """A mutant that cannot be made any more, and why."""


class Source:
    def __init__(self, path, text):
        self.path, self.text = path, text
        if path.endswith(".lua"):
            self.code = self.bare = re.sub("--[^\n]*", lambda m: " " * len(m[0]), text)
            self.functions = []
            return
        self.code = cpp_text.without_comments(text)
        self.bare = cpp_text.code_only(text)
        bodies = cpp_text.functions(self.bare)
        names = cpp_text.qualified_names(self.bare, bodies)
        self.functions = [(n.split("::"), b.begin + 1, b.end) for n, b in zip(names, bodies)]


def read_sources(folder):
    """The sources below `folder`, by their paths from the folder around it."""
    paths = sorted(p for p in folder.rglob("*") if p.suffix in (".cpp", ".hpp", ".lua"))
    names = [p.relative_to(folder.parent).as_posix() for p in paths]
    return {n: Source(n, p.read_text()) for n, p in zip(names, paths)}


def _spans(sources, where):
    """The parts of sources of which an edit speaks: `FILE`, `FUNCTION` or `FILE FUNCTION`."""
    words = where.split()
    file = words.pop(0) if "/" in words[0] else None
    if file and file not in sources:
        raise Lost(f"no file {file}")
    among = [sources[file]] if file else sources.values()
    if not words:
        return [(s, 0, len(s.text)) for s in among]
    name = words[0].split("::")
    found = [(s, begin, end) for s in among for n, begin, end in s.functions
             if n[-len(name):] == name]
    if not found:
        raise Lost(f"no function {where}")
    return found


def find(sources, where, text):
    """The one place of the pattern there: its source, begin and end."""
    pattern = Pattern(text)
    if not pattern.valid:
        raise Lost(f"not a pattern: {text}")
    found = {(s.path, *place) for s, begin, end in _spans(sources, where)
             for place in pattern.find(s.code, s.bare, begin, end)}
    if len(found) != 1:
        raise Lost(f"found {len(found)} times in {where}: {text}")
    return found.pop()
