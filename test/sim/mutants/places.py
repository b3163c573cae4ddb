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
        # From the head on: a constructor initialises members before its body.
        self.functions = [(n.split("::"), b.head, b.end) for n, b in zip(names, bodies)]


def read_sources(folder):
    """The sources below `folder`, by their paths from the folder around it."""
    paths = sorted(p for p in folder.rglob("*") if p.suffix in (".cpp", ".hpp", ".lua"))
    names = [p.relative_to(folder.parent).as_posix() for p in paths]
    return {n: Source(n, text_of(p)) for n, p in zip(names, paths)}


def text_of(path):
    """A script with the parts that it names, as embed.cmake puts them in."""
    return re.sub(r"^@([a-z_]+)@$", lambda part: (path.parent / f"{part[1]}.lua.in").read_text(),
                  path.read_text(), flags=re.MULTILINE)


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


def _in_spans(spans, text):
    """Each place of the pattern there: the number of the span, its begin and end."""
    pattern = Pattern(text)
    if not pattern.valid:
        raise Lost(f"not a pattern: {text}")
    return [(i, *place) for i, (s, begin, end) in enumerate(spans)
            for place in pattern.find(s.code, s.bare, begin, end)]


def _only(found, where, text):
    if len(found) != 1:
        raise Lost(f"found {len(found)} times in {where}: {text}")
    return found[0]


def find(sources, edit):
    """The one place of an edit: the path of its source, its begin and end."""
    spans, text = _spans(sources, edit.where), " ".join(edit.old)
    if edit.after:
        # From the words that it comes after, to the end of that function: its first.
        i, _, begin = _only(_in_spans(spans, edit.after), edit.where, edit.after)
        source, _, end = spans[i]
        found = _in_spans([(source, begin, end)], text)[:1]
        spans = [spans[i]]
    else:
        found = _in_spans(spans, text)
    i, begin, end = _only(found, edit.where, text)
    return spans[i][0].path, begin, end
