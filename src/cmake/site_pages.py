#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""The README and the pages of src/doc, as Doxygen wants them.

usage: site_pages.py SOURCE FOLDER

Doxygen makes other anchors of headings than those that links have, and knows no file but its own:
each heading gets its anchor here, links between pages become references, and other files a name.
"""
import pathlib
import re
import shutil
import sys

CODE = re.compile(r'(^```.*?^```\n|`[^`\n]+`)', re.S | re.M)


def anchor(title):
    return re.sub(r'[^\w\- ]', '', title.lower()).replace(' ', '-')


def linked(name, text):
    """The text with Doxygen's anchors and links; code in it is left alone."""
    code = []

    def hide(match):
        code.append(match[0])
        return f'\0{len(code) - 1}\0'

    def shown(part):
        return re.sub('\0(\\d+)\0', lambda m: code[int(m[1])], part)

    def link(match):
        words, target = match[1], match[2]
        if re.match('https?://', target):
            return match[0]
        path, _, place = target.partition('#')
        page = pathlib.Path(path).stem if path else name
        if path and not path.endswith('.md'):
            return words if words.startswith('\0') else f'<code>{words}</code>'
        return f'[{words}](@ref page-{page}{"-" + place if place else ""})'

    text = CODE.sub(hide, text)
    text = re.sub(r'!\[([^\]]*)\]\((?:[\w.-]+/)*([\w-]+\.svg)\)',
                  r'<img src="\2" alt="\1"/>', text)
    text = re.sub(r'(?<!!)\[([^\]]+)\]\(([^)\s]+)\)', link, text)
    text = re.sub(r'^# (.*)$', rf'# \1 {{#page-{name}}}', text, flags=re.M)
    return shown(re.sub(r'^(##+) (.*)$',
                        lambda m: f'{m[1]} {m[2]} {{#page-{name}-{anchor(shown(m[2]))}}}', text,
                        flags=re.M))


def main(source, folder):
    source, folder = pathlib.Path(source), pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for page in [source / 'README.md', *sorted((source / 'src/doc').glob('*.md'))]:
        (folder / page.name).write_text(linked(page.stem, page.read_text()))


if __name__ == '__main__':
    main(*sys.argv[1:])
