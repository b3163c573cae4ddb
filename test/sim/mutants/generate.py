#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Writes a copy of src in which each mutant of mutants.txt can be switched on at run time.

usage: generate.py SOURCE_FOLDER MUTANTS_FILE OUTPUT_FOLDER

A statement X that a mutant replaces by Y becomes `if (mutants::on(N)) { Y } else { X }`, an
expression becomes `(mutants::on(N) ? (Y) : (X))`. Lua scripts are not changed; their mutants go
into mutant_table.hpp. A mutant whose place is not found exactly once, or whose test is not there,
is lost: it is reported, and the table tells so, but the others are made. The tests that the mutants
name are listed in tests.txt.
"""
import pathlib
import sys
from typing import NamedTuple

import listing
import places


class Change(NamedTuple):
    begin: int
    end: int
    number: int
    edit: listing.Edit

    def around(self, other):
        return self.begin <= other.begin and other.end <= self.end

    def crosses(self, other):
        return (self.begin < other.end and other.begin < self.end
                and not self.around(other) and not other.around(self))


def unbalanced(text):
    """The part of an expression that the edit leaves open, as in `x) {`."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth < 0:
            return i
    return len(text)


def expression(old, new, number):
    tail = ""
    for end in (" &&", " ||"):
        if old.rstrip().endswith(end):
            old, new, tail = old.rstrip()[: -len(end)], new.rstrip()[: -len(end)], end
    cut, cut_new = unbalanced(old), unbalanced(new)
    tail = old[cut:] + tail
    return f"(conch::mutants::on({number}) ? ({new[:cut_new]}) : ({old[:cut]})){tail}"


def statement(old, new, number):
    return f"if (conch::mutants::on({number})) {{ {new} }} else {{ {old} }}"


def render(text, changes, begin, end):
    """text[begin:end] with these changes, of which some may be inside others."""
    out = ""
    changes = sorted(changes, key=lambda c: (c.begin, -c.end, c.number))
    while changes:
        outer = changes.pop(0)
        inner = [c for c in changes if outer.around(c)]
        changes = changes[len(inner):]
        old = render(text, inner, outer.begin, outer.end)
        form = expression if outer.edit.is_expression else statement
        out += text[begin:outer.begin] + form(old, " ".join(outer.edit.new), outer.number)
        begin = outer.end
    return out + text[begin:end]


def place(sources, mutant, number, before):
    """The changes that make a mutant, each with its file. `before`: those of other mutants."""
    made = []
    for e in mutant.edits:
        path, begin, end = places.find(sources, e)
        change = Change(begin, end, number, e)
        if any(p == path and change.crosses(c) for p, c in before + made):
            raise places.Lost(f"overlaps another mutant in {e.where}: {' '.join(e.old)}")
        made.append((path, change))
    return made


# What conch_mutant_tests is made of.
TEST_FOLDERS = ("test/unit/", "test/sim/scripts/")


def look_for_tests(mutants, root):
    """Marks the mutants whose tests are not there as lost."""
    for m in mutants:
        if m.test and not m.test.startswith(TEST_FOLDERS):
            m.lost = f"{m.test} is in none of {', '.join(TEST_FOLDERS)}"
        elif m.test and not (root / m.test).is_file():
            m.lost = f"no file {m.test}"


def generate(sources, mutants):
    """The mutated files and their texts. Marks the mutants that are lost."""
    changes, lua = [], []
    for number, m in enumerate(mutants):
        if m.lost:
            continue
        try:
            made = place(sources, m, number, changes)
        except places.Lost as why:
            m.lost = str(why)
            continue
        for path, c in made:
            if path.endswith(".lua"):
                text = sources[path].text
                mutated = text[:c.begin] + "\n".join(c.edit.new) + text[c.end:]
                lua.append((number, pathlib.Path(path).stem, mutated))
            else:
                changes.append((path, c))
    files = {}
    for path, s in sources.items():
        if not path.endswith(".lua"):
            own = [c for p, c in changes if p == path]
            include = '#include "mutants.hpp"\n' if own else ""
            files[path] = include + render(s.text, own, 0, len(s.text))
    files["mutants.hpp"] = SWITCH
    files["mutant_table.hpp"] = table(mutants, lua)
    files["tests.txt"] = "".join(f"{t}\n" for t in sorted({m.test for m in mutants
                                                           if m.test and not m.lost}))
    return files


# What the mutated sources include: it stays as it is when the table changes.
SWITCH = """#ifndef CONCH_MUTANTS_HPP
#define CONCH_MUTANTS_HPP
namespace conch::mutants {
inline int active = -1;
inline bool on(int n) noexcept { return active == n; }
}  // namespace conch::mutants
#endif
"""


def table(mutants, lua):
    def quoted(s):
        return '"' + s.replace("\\", "\\\\").replace('"', '\\"') + '"'

    columns = [[quoted(m.name), quoted(m.rule), f"expected::{m.outcome}"] +
               [str(m.seed), str(m.first)] +
               [quoted(c) for c in (m.test, m.because, m.server, m.lost)] for m in mutants]
    rows = "\n".join(f"    {{{', '.join(c)}}}," for c in columns)
    scripts = "\n".join(f'    {{{n}, {quoted(name)}, R"lua({text})lua"}},' for n, name, text in lua)
    return f"""#ifndef CONCH_MUTANT_TABLE_HPP
#define CONCH_MUTANT_TABLE_HPP
namespace conch::mutants {{
enum class expected {{ fails, survives, rare }};
struct mutant {{
    const char* name;
    const char* rule;
    expected outcome;
    unsigned long long seed;
    unsigned long long first;
    const char* test;
    const char* because;
    const char* server;
    const char* lost;
}};
inline constexpr mutant all[] = {{
{rows}
}};
struct script {{
    int mutant;
    const char* name;
    const char* text;
}};
inline constexpr script scripts[] = {{
{scripts}
}};
}}  // namespace conch::mutants
#endif
"""


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main(source, listed, output):
    mutants = listing.parse(listed.read_text(), listed)
    look_for_tests(mutants, source.resolve().parent)
    files = generate(places.read_sources(source), mutants)
    for path, text in files.items():
        write(output / path, text)
    for path in output.rglob("*.?pp"):  # of sources that are gone
        if path.relative_to(output).as_posix() not in files:
            path.unlink()
    for m in mutants:
        if m.lost:
            print(f"mutant {m.name} is lost: {m.lost}", file=sys.stderr)


if __name__ == "__main__":
    main(*(pathlib.Path(a) for a in sys.argv[1:4]))
