# SPDX-License-Identifier: BSL-1.0
"""Reads mutants.txt."""
import dataclasses
import re
import sys

# "survives: REASON", "survives, FILE: REASON", "seed N, FILE: REASON" or "rare: FILE". A seed goes
# stale: beside it stands a test.
EXPECTED = re.compile(r"(?P<how>survives)(?:, (?P<test>\S+))?: (?P<because>.+)|"
                      r"seed (?P<seed>[1-9]\d*), (?P<beside>\S+): (?P<few>.+)|"
                      r"(?P<rare>rare): (?P<only>\S+)")
# "seed N" or "seed N, FILE".
FIRST = re.compile(r"seed (?P<seed>[1-9]\d*)(?:, (?P<test>\S+))?")


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
    outcome: str = "fails"  # or "survives", or "rare"
    seed: int = 0  # the one that shows it, where few do
    test: str = ""  # the file whose tests notice it, too
    because: str = ""  # it survives, or so few fail
    server: str = "alone"
    first: int = 0  # the seed that is tried before the others
    lost: str = ""  # why it cannot be made
    edits: list = dataclasses.field(default_factory=list)

    def expect(self, what):
        """Whether that is understood."""
        said = EXPECTED.fullmatch(what)
        if said:
            self.outcome = said["how"] or said["rare"] or "fails"
            self.seed = int(said["seed"] or 0)
            self.test = said["test"] or said["beside"] or said["only"] or ""
            self.because = said["because"] or said["few"] or ""
        return said is not None

    def begin_with(self, what):
        """Whether that is understood."""
        said = FIRST.fullmatch(what)
        if said:
            self.first = int(said["seed"])
            self.test = said["test"] or ""
        return said is not None


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
        elif word == "expect" and mutants[-1].expect(rest):
            continue
        elif word == "server":
            mutants[-1].server = rest
        elif word == "first" and mutants[-1].begin_with(rest):
            continue
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
