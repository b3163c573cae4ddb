# SPDX-License-Identifier: BSL-1.0
"""What README.md and src/doc/*.md show is real, and all there is: each C++ snippet stands in an
example that is built and run; each link leads somewhere; each option, setting, error, flag and exit
status has its row in one page's tables, and so has each metric and alert; figures are those of the
page on performance. No page is too long to be read."""
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


def tables_of(text):
    """Each with its heading and its lines."""
    return re.findall(r'^(\|.*)\n\|[-|: ]+\n((?:\|.*\n)*)', text, re.M)


# Where another table has them.
QUALIFIED = {'replica_options': 'replicas.', 'quorum_options': 'quorum_options::'}
SAME_AS = {'skipping_options': 'rate_limited_options'}


def missing_settings(text):
    """Those that no table names where it should."""
    tables = tables_of(text)
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


def pages():
    """Each page's text, by its path; the README is the first."""
    paths = [ROOT / 'README.md', *sorted((ROOT / 'src' / 'doc').glob('*.md'))]
    return {path: path.read_text() for path in paths}


MOST_LINES = {'README.md': 150}  # of others: 250


def too_long(all_pages):
    for path, text in all_pages.items():
        most = MOST_LINES.get(path.name, 250)
        if (lines := text.count('\n')) > most:
            yield f'{path.name} has {lines} lines, more than {most}'


def anchors(text):
    """Those that a Markdown reader makes of the headings."""
    text = re.sub(r'^```.*?^```', '', text, flags=re.S | re.M)
    for title in re.findall(r'^#+ (.*)$', text, re.M):
        yield re.sub(r'[^\w\- ]', '', title.lower()).replace(' ', '-')


def dead_links(all_pages):
    for path, text in all_pages.items():
        words = re.sub(r'^```.*?^```', '', text, flags=re.S | re.M)
        for link in re.findall(r'\]\(([^)\s]+)\)', words):
            if re.match(r'https?://', link):
                continue
            name, _, anchor = link.partition('#')
            target = (path.parent / name).resolve() if name else path
            if not target.exists():
                yield f'{path.name}: nothing is at {link}'
            elif anchor and anchor not in anchors(target.read_text()):
                yield f'{path.name}: no heading is at {link}'


def unlinked(all_pages):
    readme = all_pages[ROOT / 'README.md']
    for path in all_pages:
        if path.parent.name == 'doc' and f'(src/doc/{path.name})' not in readme:
            yield f'the README does not lead to {path.name}'


def missing_of_command(page):
    """Flags and exit statuses of the program that its page has no row for."""
    rows = '\n'.join(lines for _, lines in tables_of(page))
    sources = '\n'.join(p.read_text() for p in sorted((ROOT / 'src/cli').glob('*.cpp')))
    for flag in sorted(set(re.findall(r'add\("([a-z-]+)[^"]*",(?! "")', sources))):
        if not re.search(rf'`[^`]*--{flag}\b', rows):
            yield f'no row of command.md has --{flag}'
    codes = (ROOT / 'src/cli/exit_codes.hpp').read_text()
    for name, code in re.findall(r'constexpr int (\w+) = (\d+);', codes):
        if code not in ('0', '128') and not re.search(rf'^\| [^|]*\b{code}\b', rows, re.M):
            yield f'no row of command.md has the exit status {code} ({name})'


def wrong_metrics(page):
    """Metrics and alerts that the page has no row for, and metrics that nobody exports."""
    rows = '\n'.join(lines for _, lines in tables_of(page))
    families = (ROOT / 'src/prometheus/collectable.cpp').read_text()
    exported = dict(re.findall(r'"(conch_\w+)",\s*"[^"]*",\s*MetricType::(\w+)', families))
    alerts = (ROOT / 'src/doc/alerts.yml').read_text()
    dashboard = (ROOT / 'src/doc/grafana.json').read_text()
    for name in sorted({*exported, *re.findall(r'alert: (\w+)', alerts)}):
        if f'| `{name}` |' not in rows:
            yield f'no row of metrics.md has {name}'
    for name in sorted(set(re.findall(r'\bconch_[a-z_]+', alerts + dashboard))):
        whole = re.sub('_(bucket|count|sum)$', '', name)
        if whole not in exported or (whole != name) != (exported[whole] == 'Histogram'):
            yield f'an alert or the dashboard has {name}, which is not exported'
    instruments = (ROOT / 'src/opentelemetry/measures.cpp').read_text()
    for name in re.findall(r'"(conch\.[a-z_.]+)"', instruments):
        if f'`{name}`' not in page:
            yield f'metrics.md does not name {name}'


def main():
    all_pages = pages()
    doc = ROOT / 'src' / 'doc'
    examples = [plain(p.read_text()) for p in sorted((ROOT / 'test' / 'examples').glob('*.cpp'))]
    failures = [*too_long(all_pages), *dead_links(all_pages), *unlinked(all_pages),
                *missing_of_command(all_pages[doc / 'command.md']),
                *wrong_metrics(all_pages[doc / 'metrics.md'])]
    snippets = [(path, snippet) for path, text in all_pages.items()
                for snippet in re.findall(r'```cpp\n(.*?)```', text, re.S)]
    for path, snippet in snippets:
        if not any(contains(e, plain(snippet)) for e in examples):
            failures.append(f'{path.name}: no example has this snippet:\n{snippet}')
    names = enumerators(INCLUDE / 'error.hpp', 'errc')
    tables = '\n'.join(lines for _, lines in tables_of(all_pages[doc / 'errors.md']))
    failures += [f'no table of errors.md has errc::{n}' for n in names if f'`{n}`' not in tables]
    failures += missing_settings(all_pages[doc / 'options.md'] + all_pages[doc / 'topologies.md'])
    names += [n for all_names in settings().values() for n in all_names]
    print('\n'.join(failures))
    print(f'{len(all_pages)} pages, {len(snippets)} snippets, {len(names)} names, '
          f'{len(failures)} findings')
    return 1 if failures or len(snippets) < 10 or len(names) < 100 else 0


if __name__ == '__main__':
    sys.exit(main())
