#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Writes a copy of src in which each mutant of mutants.txt can be switched on at run time.

usage: generate.py SOURCE_FOLDER MUTANTS_FILE OUTPUT_FOLDER

A statement X that a mutant replaces by Y becomes `if (mutants::on(N)) { Y } else { X }`, an
expression becomes `(mutants::on(N) ? (Y) : (X))`. Lua scripts are not changed; their mutants go
into the table of mutants.hpp. Fails if a text is not found exactly once.
"""
import pathlib
import re
import sys


class Edit:
    def __init__(self, path):
        self.path = path
        self.old = []
        self.new = []
        self.is_expression = False


def read(path):
    mutants = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        if word == "mutant":
            mutants.append({"name": rest, "rule": "", "edits": [], "survives": "",
                            "server": "alone"})
        elif word in ("rule", "section"):
            mutants[-1]["rule"] = line
        elif word == "expect":
            mutants[-1]["survives"] = rest.removeprefix("survives: ")
        elif word == "server":
            mutants[-1]["server"] = rest
        elif word == "edit":
            mutants[-1]["edits"].append(Edit(rest))
        elif word in ("-", "="):
            mutants[-1]["edits"][-1].old.append(rest)
            mutants[-1]["edits"][-1].is_expression = word == "="
        elif word == "+":
            mutants[-1]["edits"][-1].new.append(rest)
        else:
            sys.exit(f"{path}:{number}: not understood: {line}")
    return mutants


def squeeze(text):
    """A pattern for the text, whatever its white space."""
    return r"\s*".join(re.escape(word) for word in text.split())


def find(text, edit, name):
    pattern = squeeze(" ".join(edit.old))
    found = list(re.finditer(pattern, text))
    if len(found) != 1:
        sys.exit(f"mutant {name}: found {len(found)} times in {edit.path}: {' '.join(edit.old)}")
    return found[0]


def unbalanced(text):
    """The part of an expression that the edit leaves open, as in `x) {`."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth < 0:
            return i
    return len(text)


def expression(match, edit, number):
    old, new = match.group(0), " ".join(edit.new)
    tail = ""
    for end in (" &&", " ||"):
        if old.rstrip().endswith(end):
            old, new, tail = old.rstrip()[: -len(end)], new.rstrip()[: -len(end)], end
    cut, cut_new = unbalanced(old), unbalanced(new)
    tail = old[cut:] + tail
    return f"(conch::mutants::on({number}) ? ({new[:cut_new]}) : ({old[:cut]})){tail}"


def statement(match, edit, number):
    new = " ".join(edit.new)
    return f"if (conch::mutants::on({number})) {{ {new} }} else {{ {match.group(0)} }}"


def main():
    source, listing, output = (pathlib.Path(a) for a in sys.argv[1:4])
    mutants = read(listing)
    changes = {}  # file -> [(begin, end, text)], on the file as it is
    lua = []
    originals = {}
    for number, m in enumerate(mutants):
        for e in m["edits"]:
            path = source.parent / e.path
            text = originals.setdefault(e.path, path.read_text())
            match = find(text, e, m["name"])
            if e.path.endswith(".lua"):
                mutated = text[: match.start()] + "\n".join(e.new) + text[match.end():]
                lua.append((number, path.stem, mutated))
            else:
                changes.setdefault(e.path, []).append((match, e, number))
    for path in sorted(p for p in source.rglob("*") if p.suffix in (".cpp", ".hpp")):
        name = str(path.relative_to(source.parent))
        target = output / name
        text = path.read_text()
        # Several mutants of one place: the later ones go around the earlier.
        for match, e, number in sorted(changes.get(name, []), key=lambda c: -c[0].start()):
            place = find(text, e, mutants[number]["name"]) if overlaps(changes[name], match) \
                else match
            body = expression(place, e, number) if e.is_expression else statement(place, e, number)
            text = text[: place.start()] + body + text[place.end():]
        if name in changes:
            text = '#include "mutants.hpp"\n' + text
        write(target, text)
    write(output / "mutants.hpp", header(mutants, lua))


def overlaps(changes, match):
    return sum(c[0].start() < match.end() and match.start() < c[0].end() for c in changes) > 1


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def header(mutants, lua):
    def quoted(s):
        return '"' + s.replace("\\", "\\\\").replace('"', '\\"') + '"'

    columns = [[quoted(m[c]) for c in ("name", "rule", "survives", "server")] for m in mutants]
    rows = "\n".join(f"    {{{', '.join(c)}}}," for c in columns)
    scripts = "\n".join(f'    {{{n}, {quoted(name)}, R"lua({text})lua"}},' for n, name, text in lua)
    return f"""#ifndef CONCH_MUTANTS_HPP
#define CONCH_MUTANTS_HPP
namespace conch::mutants {{
struct mutant {{
    const char* name;
    const char* rule;
    const char* survives;
    const char* server;
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
inline int active = -1;
inline bool on(int n) noexcept {{ return active == n; }}
}}  // namespace conch::mutants
#endif
"""


main()
