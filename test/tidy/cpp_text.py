# SPDX-License-Identifier: BSL-1.0
"""Just enough understanding of C++ text: comments, strings, brackets, function bodies."""

import re
from typing import List, NamedTuple, Optional


class Function(NamedTuple):
    begin: int  # offset of the opening brace
    end: int  # offset of the closing brace
    head: int = 0  # offset at which its declaration begins


_TOKEN = re.compile(
    r'''(?P<comment>//[^\n]*|/\*.*?\*/)
      |(?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s"]*)\(.*?\)(?P=delimiter)")
      |(?P<string>"(?:\\.|[^"\\\n])*")
      |(?P<number>\b\d(?:'?[\w.])*)
      |(?P<char>'(?:\\.|[^'\\\n])+')''', re.DOTALL | re.VERBOSE)


def _blank(text: str) -> str:
    return re.sub(r'[^\n]', ' ', text)


def without_comments(text: str) -> str:
    """The text with each comment blanked; offsets and lines stay."""
    return _TOKEN.sub(lambda m: _blank(m[0]) if m['comment'] else m[0], text)


def code_only(text: str) -> str:
    """As without_comments, with the inside of strings and characters blanked as well."""
    def replace(m):
        if m['comment']:
            return _blank(m[0])
        if m['number']:
            return m[0]
        return m[0][0] + _blank(m[0][1:-1]) + m[0][-1]
    return _TOKEN.sub(replace, text)


def line_of(text: str, offset: int) -> int:
    return text.count('\n', 0, offset) + 1


def closing(code: str, opening: int) -> int:
    """Offset of the bracket that closes the one at `opening`; the end if there is none."""
    pairs = {'(': ')', '{': '}', '[': ']'}
    up, down = code[opening], pairs[code[opening]]
    depth = 0
    for m in re.compile('[' + re.escape(up + down) + ']').finditer(code, opening):
        depth += 1 if m[0] == up else -1
        if depth == 0:
            return m.start()
    return len(code)


def _without_groups(head: str) -> str:
    """A declaration's head without template lists, what is in parentheses, and attributes."""
    head = re.sub(r'\[\[.*?\]\]|\balignas\s*\([^()]*\)', ' ', head, flags=re.DOTALL)
    head = re.sub(r'\boperator\s*[<>=]+', 'operator', head).replace('->', '\2')
    for pattern, rest in ((r'\([^()]*\)', '\1'), (r'<[^<>]*>', ' ')):
        previous = None
        while previous != head:
            previous, head = head, re.sub(pattern, rest, head)
    return ' '.join(head.replace('\1', '()').replace('\2', '->').split())


_SCOPE = re.compile(r'^(?:(?:template|export|inline|typedef|extern) |requires [\w:]+ )*'
                    r'(?:namespace|class|struct|union)\b[^()=]*$')
_BODY = re.compile(r'(?:[)}\]&]|\b(?:const|noexcept|override|final|mutable|try)'
                   r'|->[^()]*|\brequires\b[^()]*)$')


def _kind(head: str) -> str:
    """What a brace opens after this head, at namespace or class scope: scope, body or other."""
    if head.count('(') > head.count(')'):
        return 'other'  # a default argument
    head = _without_groups(re.sub(r'^\s*(?:(?:public|protected|private)\s*:\s*)+', '', head))
    if _SCOPE.match(head) or re.match(r'^extern " *"$', head):
        return 'scope'
    if '()' not in head and not head.endswith(']'):
        return 'other'
    return 'body' if _BODY.search(head) else 'other'


def _without_directives(code: str) -> str:
    return re.sub(r'^[ \t]*#(?:[^\n\\]|\\.|\\\n)*', lambda m: _blank(m[0]), code,
                  flags=re.MULTILINE | re.DOTALL)


def at_namespace_scope(code: str) -> str:
    """What is in no braces but those of namespaces; the rest blanked."""
    code = _without_directives(code)
    brace = re.compile(r'[{;]|\}')
    head_begin, m = 0, brace.search(code)
    while m:
        end = m.end()
        if m[0] == '{' and not re.search(r'\bnamespace\b[^()=]*$|\bextern " *"\s*$',
                                         code[head_begin:m.start()]):
            end = closing(code, m.start()) + 1
            code = code[:m.end()] + _blank(code[m.end():end]) + code[end:]
        head_begin, m = end, brace.search(code, end)
    return code


def functions(code: str) -> List[Function]:
    """The bodies at namespace and class scope of text from `code_only`."""
    code = _without_directives(code)
    found = []
    head_begin = position = 0
    while True:
        m = re.compile(r'[{};]').search(code, position)
        if not m:
            return found
        position = m.end()
        if m[0] != '{':
            head_begin = position
            continue
        kind = _kind(code[head_begin:m.start()])
        if kind == 'scope':
            head_begin = position
            continue
        end = closing(code, m.start())
        position = min(end + 1, len(code))
        if kind == 'body':
            found.append(Function(m.start(), end, head_begin))
            head_begin = position
        # After a braced initialiser the same declaration goes on.


_CLASS = re.compile(r'\b(?:class|struct|union)\s+(\w+)\s*(?:final\s*)?(?::[^;{}()]*)?\{')


def qualified_names(code: str, found: List[Function]) -> List[str]:
    """For each of these functions `class::name`, or its name alone; without its namespaces."""
    classes = [(m[1], m.end() - 1, closing(code, m.end() - 1)) for m in _CLASS.finditer(code)]
    names = []
    for f in found:
        head = _without_groups(code[f.head:f.begin])
        m = re.search(r'(~?\w+(?: ?:: ?~?\w+)*) ?\(\)', head)
        around = [name for name, begin, end in classes if begin < f.begin < end]
        names.append('::'.join(around + [m[1].replace(' ', '') if m else '']))
    return names


def inside(spans: List[Function], offset: int) -> Optional[Function]:
    return next((s for s in spans if s.begin <= offset <= s.end), None)
