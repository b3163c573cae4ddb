# SPDX-License-Identifier: BSL-1.0
"""The patterns of mutants.txt: words of code, with `...` for what does not matter."""
import re

_TOKEN = re.compile(r"\w+|[^\w\s]")
GAP = "..."


def _piece(text):
    """A regular expression for these tokens, whatever the white space between them."""
    expression, before = "", None
    for token in _TOKEN.findall(text):
        is_word = re.match(r"\w", token)
        if before is None:
            expression += r"(?<!\w)" if is_word else ""
        else:
            expression += r"\s+" if is_word and re.match(r"\w", before) else r"\s*"
        expression += re.escape(token)
        before = token
    if before and re.match(r"\w", before):
        expression += r"(?!\w)"
    return re.compile(expression)


def _gap_ends(bare, begin, end):
    """The offsets up to which the text from `begin` is balanced and ends no statement."""
    depth = 0
    for i in range(begin, end + 1):
        if depth == 0:
            yield i
        c = bare[i:i + 1]
        depth += (c in tuple("([{")) - (c in tuple(")]}"))
        if depth < 0 or (c == ";" and depth == 0):
            return


class Pattern:
    def __init__(self, text):
        self._pieces = [_piece(p) for p in text.split(GAP)]
        self.valid = bool(text.strip()) and all(p.pattern for p in self._pieces)

    def find(self, code, bare, begin, end):
        """Where it stands in code[begin:end]. In `bare`, strings are blank as well as comments."""
        found, position = [], begin
        while True:
            first = self._pieces[0].search(code, position, end)
            if not first:
                return found
            last = self._end(1, first.end(), code, bare, end)
            if last is not None:
                found.append((first.start(), last))
            position = first.start() + 1

    def _end(self, k, position, code, bare, end):
        if k == len(self._pieces):
            return position
        for start in _gap_ends(bare, position, end):
            m = self._pieces[k].match(code, start, end)
            last = self._end(k + 1, m.end(), code, bare, end) if m else None
            if last is not None:
                return last
        return None
