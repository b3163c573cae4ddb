# SPDX-License-Identifier: BSL-1.0
"""What the README shows is real: each C++ snippet stands in an example that is built and run, and
the tables name each option, setting and error of the public headers."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / 'include' / 'conch'


def plain(code):
    """The lines without indentation, spacing before comments, and empty lines."""
    return [re.sub(r'\s+', ' ', line.strip()) for line in code.splitlines() if line.strip()]


def contains(lines, part):
    return any(lines[i:i + len(part)] == part for i in range(len(lines) - len(part) + 1))


def fields(header, struct):
    body = re.search(r'struct %s \{(.*?)\n\};' % struct, header.read_text(), re.S).group(1)
    code = re.sub(r'//.*', '', body)
    return re.findall(r'(\w+)\s*(?:=[^;]*|\{[^;]*\})?;', re.sub(r'\([^)]*\)', '', code))


def enumerators(header, name):
    body = re.search(r'enum class %s \{(.*?)\n\};' % name, header.read_text(), re.S).group(1)
    return re.findall(r'(\w+)(?: = \d+)?,', re.sub(r'//.*', '', body))


def main():
    readme = (ROOT / 'README.md').read_text()
    examples = [plain(p.read_text()) for p in sorted((ROOT / 'test' / 'examples').glob('*.cpp'))]
    failures = []
    snippets = re.findall(r'```cpp\n(.*?)```', readme, re.S)
    for snippet in snippets:
        if not any(contains(e, plain(snippet)) for e in examples):
            failures.append('no example has this snippet:\n' + snippet)
    names = enumerators(INCLUDE / 'error.hpp', 'errc')
    for struct in ('lock_options', 'mutex_options', 'shutdown_options'):
        names += fields(INCLUDE / 'options.hpp', struct)
    names += [f for f in fields(INCLUDE / 'config.hpp', 'config') if f != 'from_url']
    tables = '\n'.join(line for line in readme.splitlines() if line.startswith('|'))
    failures += [f'no table names {n}' for n in names if f'`{n}`' not in tables]
    print('\n'.join(failures))
    print(f'{len(snippets)} snippets, {len(names)} names, {len(failures)} findings')
    return 1 if failures or not snippets or len(names) < 40 else 0


if __name__ == '__main__':
    sys.exit(main())
