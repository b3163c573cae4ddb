# SPDX-License-Identifier: BSL-1.0
"""Reads mutants.txt."""
import dataclasses
import sys


@dataclasses.dataclass
class Edit:
    where: str
    after: str = ""
    old: list = dataclasses.field(default_factory=list)
    new: list = dataclasses.field(default_factory=list)
    is_expression: bool = False


@dataclasses.dataclass
class Mutant:
    name: str
    rule: str = ""
    survives: str = ""
    server: str = "alone"
    lost: str = ""  # why it cannot be made
    edits: list = dataclasses.field(default_factory=list)


def parse(text, path="mutants.txt"):
    mutants = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        if word == "mutant":
            mutants.append(Mutant(rest))
        elif word in ("rule", "section"):
            mutants[-1].rule = line
        elif word == "expect":
            mutants[-1].survives = rest.removeprefix("survives: ")
        elif word == "server":
            mutants[-1].server = rest
        elif word == "edit":
            mutants[-1].edits.append(Edit(rest))
        elif word == "after":
            mutants[-1].edits[-1].after = rest
        elif word in ("-", "="):
            mutants[-1].edits[-1].old.append(rest)
            mutants[-1].edits[-1].is_expression = word == "="
        elif word == "+":
            mutants[-1].edits[-1].new.append(rest)
        else:
            sys.exit(f"{path}:{number}: not understood: {line}")
    return mutants
