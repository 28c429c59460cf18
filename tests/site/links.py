#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""links.py DIR: every local link of the pages below DIR leads to a file, every anchor to an element.  Prints those that do not."""
import html.parser
import os
import sys
import urllib.parse

LINKS = {'a': 'href', 'area': 'href', 'link': 'href', 'img': 'src', 'script': 'src', 'iframe': 'src', 'form': 'action'}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.ids, self.twice = [], set(), set()

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        if LINKS.get(tag) in a:
            self.links.append(a[LINKS[tag]] or '')
        for name in {a.get('id'), a.get('name') if tag == 'a' else None} - {None}:
            if name in self.ids:
                self.twice.add(name)
            self.ids.add(name)


def read(top):
    pages = {}
    for folder, _, files in os.walk(top):
        for f in files:
            if f.endswith('.html'):
                path = os.path.join(folder, f)
                pages[path] = Page()
                with open(path, errors='replace') as s:
                    pages[path].feed(s.read())
    return pages


def broken(top):
    top = os.path.abspath(top)
    pages, wrong, links, outside = read(top), [], 0, set()
    for path, page in sorted(pages.items()):
        at = os.path.relpath(path, top)
        for link in page.links:
            u = urllib.parse.urlsplit(link)
            if u.scheme in ('data', 'mailto', 'javascript'):
                continue
            if u.scheme or u.netloc:
                outside.add(link)
                continue
            links += 1
            target = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(u.path))) if u.path else path
            if not target.startswith(top + os.sep):
                wrong.append(f'{at}: {link} leads out of the site')
            elif not os.path.isfile(target):
                wrong.append(f'{at}: {link} is not there')
            elif u.fragment and target in pages and urllib.parse.unquote(u.fragment) not in pages[target].ids:
                wrong.append(f'{at}: {link}: no such anchor')
    return len(pages), links, wrong, outside


if __name__ == '__main__':
    pages, links, wrong, _ = broken(sys.argv[1])
    print('\n'.join(wrong))
    print(f'{pages} pages, {links} links, {len(wrong)} broken', file=sys.stderr)
    sys.exit(bool(wrong))
