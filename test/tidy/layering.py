# SPDX-License-Identifier: BSL-1.0
"""Who may include what: a file sees its own layer, the layers below it, and little else."""

import re
from typing import Iterator

from cpp_text import line_of, without_comments
from source_file import Finding, SourceFile

RANK = {'core': 0, 'resp': 1, 'wire': 2, 'protocol': 3, 'topology': 3, 'hold': 4, 'wait': 5,
        'group': 6, 'engine': 7, 'driver': 8, 'api': 9}
# The last layer below the sans-io line.
SANS_IO = RANK['engine']

# What stands on the public headers alone.
ABOVE = {'cli', 'opentelemetry', 'prometheus'}

# Public headers of plain values and text, for every layer.
VOCABULARY = {'clock.hpp', 'error.hpp', 'config.hpp', 'options.hpp', 'owner.hpp',
              'lock_status.hpp', 'observer.hpp', 'printable.hpp', 'rate.hpp', 'server_reply.hpp',
              'stats.hpp', 'tls.hpp', 'impl/once_note.hpp', 'impl/remark.hpp'}
# Public headers that reach Asio, for the driver.
FOR_THE_DRIVER = {'impl/fwd.hpp', 'impl/operation.hpp', 'impl/tracked.hpp'}

# Sockets, clocks, devices and threads stay above the sans-io line.
FORBIDDEN_BELOW = re.compile(
    r'boost/asio\b.*|thread|mutex|shared_mutex|condition_variable|future|semaphore|latch|random'
    r'|ctime|time\.h|unistd\.h|poll\.h|netdb\.h|sys/.*|netinet/.*|arpa/.*')

# Libraries that one layer, and the public header of its name, may need; nothing else does.
OPTIONAL = ('opentelemetry', 'prometheus')

# Where commands are written: to no other layer it matters how a lock is kept on a server.
WRITERS = {'resp', 'wire', 'protocol', 'topology'}
_COMMAND = r'(?:\.|->)\s*(?:command|words)\s*\(|\bwrite_(?:script|joint|alone)\s*\('
# It writes whole commands that others made.
_MESSENGER = ['src', 'hold', 'questions.cpp']

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)


def check(f: SourceFile) -> Iterator[Finding]:
    if not f.is_cpp or f.parts[0] not in ('src', 'include'):
        return
    text = without_comments(f.text)
    for m in _INCLUDE.finditer(text):
        quoted, target = m[1] == '"', m[2]
        reason = _objection(f, quoted, target)
        if reason:
            yield f.finding(line_of(text, m.start(1)), 'layering', f'{target}: {reason}')
    if f.layer in RANK and f.layer not in WRITERS and f.parts != _MESSENGER:
        yield from f.matches(_COMMAND, f.code, 'layering',
                             'protocol/ alone knows what is written on a lock\'s keys')
    if RANK.get(f.layer, SANS_IO + 1) <= SANS_IO:
        yield from f.matches(r'::\s*now\s*\(', f.code, 'layering',
                             'below the sans-io line time is passed in, never read')


def _objection(f: SourceFile, quoted: bool, target: str) -> str:
    library = target.split('/')[0]
    if library in OPTIONAL and not quoted and library not in (f.layer, f.parts[-1][:-4]):
        return f'only conch::{library} needs {library}-cpp'
    if f.parts[0] == 'include':
        return 'a public header includes public headers only' if quoted else ''
    if target.startswith('conch/'):
        return 'write <conch/...>' if quoted else _public_objection(f, target[len('conch/'):])
    layer = target.split('/')[0]
    if quoted or (layer in RANK and '/' in target):
        return _private_objection(f, quoted, target, layer)
    if RANK.get(f.layer, SANS_IO + 1) <= SANS_IO and FORBIDDEN_BELOW.fullmatch(target):
        return 'not below the sans-io line'
    return ''


def _public_objection(f: SourceFile, header: str) -> str:
    if header in VOCABULARY or f.layer == 'api':
        return ''
    if f.layer in ABOVE:
        return 'private to the library' if header.startswith('impl/') else ''
    if f.layer == 'driver' and header in FOR_THE_DRIVER:
        return ''
    return f'not from {f.layer}'


def _private_objection(f: SourceFile, quoted: bool, target: str, layer: str) -> str:
    if not quoted:
        return 'write it in quotes'
    if '/' not in target or layer not in RANK.keys() | ABOVE:
        return 'write "layer/file.hpp"'
    if f.layer in ABOVE:
        return '' if layer == f.layer else f'{f.layer} uses the public headers only'
    if layer in ABOVE:
        return f'the library does not know {layer}'
    if f.layer not in RANK:
        return 'a file outside the layers'
    mine, other = RANK[f.layer], RANK[layer]
    if other > mine:
        return f'{f.layer} is below {layer}'
    if other == mine and f.layer != layer:
        return f'{f.layer} does not know {layer}'
    return ''
