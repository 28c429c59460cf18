#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links of the pages: every relative link of a page leads to a file, every #anchor to a heading, every docs/... that the
source names is there, and docs/index.md leads to every page.

    tests/house/links.py          TAP

An anchor is made of a heading as GitHub makes it.  Links to another site are not followed."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'python'))
import tap  # noqa: E402
from tap import ok  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCE = ('.c', '.h', '.cpp', '.py', '.sh', '.build', '.yaml', '.md', '.in', '.mjs', '.js')
OTHERS = ('.git', 'node_modules', '__pycache__')


def read(path):
    with open(os.path.join(ROOT, path), encoding='utf-8', errors='replace') as f:
        return f.read()


def tree():
    """Files of the source, relative to its root: not those of builds and of results."""
    for folder, folders, names in os.walk(ROOT):
        at = os.path.relpath(folder, ROOT)
        folders[:] = [f for f in folders if f not in OTHERS and not os.path.exists(os.path.join(folder, f, 'build.ninja')) and
                      not (at == '.' and f.startswith('build')) and not (at == 'results' and f != 'published')]
        yield from (os.path.normpath(os.path.join(at, name)) for name in names)


def without_code(text):
    """A page without its blocks and words of code, line by line as before."""
    kept, fence = [], None
    for line in text.split('\n'):
        mark = re.match(r' {0,3}(```+|~~~+)', line)
        if fence:
            fence = None if mark and mark[1].startswith(fence) else fence
            line = ''
        elif mark:
            fence, line = mark[1], ''
        kept.append(re.sub(r'`[^`]*`', lambda m: '`' * len(m[0]), line))
    return '\n'.join(kept)


def anchors(text):
    """The anchors of a page: of its headings, numbered where two are alike, and those that it sets itself."""
    found, fence = set(re.findall(r'<a (?:id|name)="([^"]+)"', text)), None
    for line in text.split('\n'):
        mark = re.match(r' {0,3}(```+|~~~+)', line)
        if mark:
            fence = (None if mark[1].startswith(fence) else fence) if fence else mark[1]
        title = None if fence else re.match(r'#{1,6} +(.*?)(?: +#+)? *$', line)
        if not title:
            continue
        words = re.sub(r'\[([^]]*)\]\([^)]*\)', r'\1', title[1].replace('`', '')).lower()
        slug = re.sub(r'[^\w\- ]', '', words).replace(' ', '-')
        n = sum(1 for a in found if a == slug or re.fullmatch(re.escape(slug) + r'-\d+', a))
        found.add(f'{slug}-{n}' if n and slug in found else slug)
    return found


def links(text):
    """(line, target) of each link and picture, of references too"""
    for m in re.finditer(r'\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)|^\[[^]]+\]:\s+(\S+)', without_code(text), re.M):
        yield text.count('\n', 0, m.start()) + 1, m[1] or m[2]


def wrong(page, text, exists, page_of):
    """What is wrong with the links of a page.  exists(path), page_of(path): the tree that it is in."""
    for line, target in links(text):
        if re.match(r'[a-z][a-z0-9+.-]*:', target):
            continue
        path, _, anchor = target.partition('#')
        path = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if path.startswith('..') or not exists(path):
            yield f'{page}:{line}: {target}: there is no {path}'
        elif not anchor:
            continue
        elif path.endswith('.md'):
            if anchor not in anchors(page_of(path)):
                yield f'{page}:{line}: {target}: {path} has no heading of that name'
        elif not re.fullmatch(r'L\d+', anchor) or int(anchor[1:]) > page_of(path).count('\n') + 1:
            yield f'{page}:{line}: {target}: {path} has no such line'


def main():
    files = sorted(tree())
    pages = [f for f in files if f.endswith('.md')]
    there = lambda path: os.path.exists(os.path.join(ROOT, path))
    for page in pages:
        bad = list(wrong(page, read(page), there, read))
        ok(not bad, f'{page}: its links lead somewhere', *bad)
    named = []
    for f in files:
        if not f.endswith(SOURCE) and f not in ('.ci/run', 'perp'):
            continue
        for m in re.finditer(r'(?<![\w/.-])docs/[\w/.-]+\.(?:md|py|svg|png)', read(f)):
            if not there(m[0]):
                named.append(f'{f}: {m[0]}')
    ok(not named, 'every page of docs that a file names is there', *named)
    index = {os.path.normpath(os.path.join('docs', t.partition('#')[0])) for _, t in links(read('docs/index.md'))}
    lost = [p for p in pages if p.startswith('docs/') and p != 'docs/index.md' and p not in index]
    ok(not lost, 'docs/index.md leads to every page of docs', *lost)
    # links that lead nowhere are found
    of = lambda text: len(list(wrong('a/b.md', text, lambda p: p in ('a/b.md', 'c.md', 'd.c'), lambda p: '# One, two\n# One, two\n')))
    ok([of(t) for t in ('[x](../c.md) [x](../c.md#one-two) [x](../c.md#one-two-1) [x](#one-two) [x](../d.c#L2) `[x](no.md)`',
                        '[x](c.md)', '[x](../c.md#one)', '[x](#two)', '[x](../d.c#L9)', '[x](../../e.md)')] == [0, 1, 1, 1, 1, 1],
       'a link that leads nowhere would be found')
    print(f'1..{tap.count}')
    return tap.failed > 0


if __name__ == '__main__':
    sys.exit(main())
