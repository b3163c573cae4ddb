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


def settings():
    """What a user sets: the structs of options in the public headers, each with its fields."""
    all_structs = {}
    for header in sorted(INCLUDE.glob('*.hpp')):
        for struct in re.findall(r'^struct (\w+) \{', header.read_text(), re.M):
            if struct in ('config', 'rate') or struct.endswith('_options'):
                ignored = ('from_url', 'const', 'operator')
                all_structs[struct] = [f for f in fields(header, struct) if f not in ignored]
    return all_structs


def tables_of(readme):
    """Each with its heading and its lines."""
    return re.findall(r'^(\|.*)\n\|[-|: ]+\n((?:\|.*\n)*)', readme, re.M)


# Where another table has them.
QUALIFIED = {'replica_options': 'replicas.', 'quorum_options': 'quorum_options::'}
SAME_AS = {'skipping_options': 'rate_limited_options'}


def missing_settings(readme):
    """Those that no table of the README names where it should."""
    tables = tables_of(readme)
    missing = []
    for struct, names in settings().items():
        heading = SAME_AS.get(struct, struct)
        before = QUALIFIED.get(struct, '')
        own = '\n'.join(lines for head, lines in tables if before or f'`{heading}`' in head)
        missing += [f'no table names {struct}::{n}' for n in names
                    if not re.search(f'`{before}{n}[`.]', own)]
    return missing


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
    tables = '\n'.join(lines for _, lines in tables_of(readme))
    failures += [f'no table names errc::{n}' for n in names if f'`{n}`' not in tables]
    failures += missing_settings(readme)
    names += [n for all_names in settings().values() for n in all_names]
    print('\n'.join(failures))
    print(f'{len(snippets)} snippets, {len(names)} names, {len(failures)} findings')
    return 1 if failures or not snippets or len(names) < 100 else 0


if __name__ == '__main__':
    sys.exit(main())
