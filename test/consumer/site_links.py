#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Each link of the site leads somewhere, and its anchor is there.

usage: site_links.py FOLDER
"""
import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ('id', 'name'):
                self.anchors.add(value)
            elif name in ('href', 'src') and value:
                self.links.append(value)


def main(folder):
    site = pathlib.Path(folder).resolve()
    pages = {path: Page(path) for path in site.glob('**/*.html')}
    dead, count = [], 0
    for path, page in pages.items():
        for link in page.links:
            url = urllib.parse.urlsplit(link)
            if url.scheme:
                continue
            count += 1
            target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            anchor = urllib.parse.unquote(url.fragment)
            if not target.exists():
                dead.append(f'{path.name}: nothing is at {link}')
            elif anchor and target in pages and anchor not in pages[target].anchors:
                dead.append(f'{path.name}: no anchor is at {link}')
    print('\n'.join(sorted(set(dead))))
    print(f'{len(pages)} pages, {count} links, {len(set(dead))} dead')
    return 1 if dead or count < 500 else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
