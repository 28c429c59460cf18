# SPDX-License-Identifier: GPL-3.0-or-later
"""Pages of the site: their frame, links from one to another, and the index of the search."""
import html
import json
import os
import re
import unicodedata

MENU = [('Findings', 'findings/index.html'), ('Documentation', 'docs/index.html'), ('Methods', 'methods/index.html'),
        ('Scenes', 'scenes/index.html'), ('Gallery', 'docs/gallery/README.html'), ('Lessons', 'lessons/index.html'),
        ('Reported problems', 'docs/explanation/complaints.html'), ('Models', 'docs/models.html'), ('API', 'api/index.html'), ('Changes', 'CHANGELOG.html')]
EXCERPT = 240  # letters of a section that the search shows


def slug(text):
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r' ', '-', re.sub(r'[^\w\- ]', '', text.strip().lower()))


def plain(markup):
    return html.unescape(re.sub(r'\s+', ' ', re.sub(r'<[^>]+>', ' ', markup))).strip()


def named_tables(body, title):
    """Heads of columns say so, an empty one is none; a table is called as the heading above it."""
    name, parts = title, re.split(r'(<h[1-6][^>]*>.*?</h[1-6]>|<table\b.*?</table>)', body, flags=re.S)
    for k, part in enumerate(parts):
        if re.match(r'<h[1-6]', part):
            name = plain(part) or name
        elif part.startswith('<table'):
            part = re.sub(r'<th([^>]*)>\s*</th>', r'<td\1></td>', part)
            part = re.sub(r'<th(?![^>]*\bscope=)(?=[\s>])', '<th scope="col"', part)
            parts[k] = part if 'aria-label=' in part[:part.index('>')] else f'<table aria-label="{escape(name)}"{part[len("<table"):]}'
    return ''.join(parts)


def escape(text):
    return html.escape(str(text))


def relative(page, target):
    """The address of `target` (with an anchor or without) as `page` writes it; both from the top of the site."""
    path, hash_, anchor = target.partition('#')
    return os.path.relpath(path, os.path.dirname(page) or '.') + hash_ + anchor


class Site:
    def __init__(self, out):
        self.out = out
        self.pages = {}     # page -> title
        self.sections = []  # of the search: [page, anchor, title of the page, heading, text]

    def path(self, page):
        path = os.path.join(self.out, page)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def anchors(self, body):
        """Headings get the anchors of GitHub."""
        seen = {}

        def heading(m):
            level, attributes, text = m.groups()
            if 'id=' in attributes:
                return m.group()
            base = slug(html.unescape(re.sub(r'<[^>]+>', '', text)))
            n = seen.get(base, 0)
            seen[base] = n + 1
            return f'<h{level} id="{base}-{n}"{attributes}>{text}</h{level}>' if n else f'<h{level} id="{base}"{attributes}>{text}</h{level}>'

        return re.sub(r'<h([1-6])([^>]*)>(.*?)</h\1>', heading, body, flags=re.S)

    def index(self, page, title, body):
        """Sections of a page for the search."""
        parts = re.split(r'(<h[1-3][^>]*>.*?</h[1-3]>)', body, flags=re.S)
        anchor, heading = '', title
        for part in parts:
            m = re.match(r'<h[1-3][^>]*?id="([^"]*)"[^>]*>(.*?)</h[1-3]>', part, re.S)
            if m:
                top = part.startswith('<h1')  # of the page itself
                anchor, heading = ('', title) if top else (m.group(1), plain(m.group(2)))
                if not top:
                    self.sections.append([page, anchor, title, heading, ''])
                continue
            text = plain(re.sub(r'<(script|style)\b.*?</\1>', ' ', part, flags=re.S))
            if not text:
                continue
            if self.sections and self.sections[-1][:2] == [page, anchor]:
                self.sections[-1][4] += ' ' + text
            else:
                self.sections.append([page, anchor, title, heading, text])

    def write(self, page, title, body, search=True, wide=False):
        """A page in the frame of the site."""
        body = named_tables(self.anchors(body), title)
        if search:
            self.index(page, title, body)
        self.pages[page] = title
        to = lambda target: relative(page, target)
        menu = ''.join(f'<a href="{to(target)}"{" aria-current=page" if target == page else ""}>{words}</a>' for words, target in MENU)
        equations = f'<script defer src="{to("assets/equations.js")}"></script>' if 'class="equation"' in body else ''
        text = f'''<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)} – perp</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{to('assets/site.css')}">
<script defer src="{to('assets/site.js')}"></script>{equations}
</head>
<body data-top="{os.path.relpath('.', os.path.dirname(page) or '.')}">
<a class="skip" href="#content">Skip to the content</a>
<header><a class="brand" href="{to('index.html')}">perp</a>
<form role="search" action="{to('search.html')}"><input type="search" name="q" placeholder="Search" aria-label="Search the site" autocomplete="off"></form>
<nav aria-label="site">{menu}</nav></header>
<main id="content"{' class="wide"' if wide else ''}>
{body}
</main>
</body>
</html>
'''
        with open(self.path(page), 'w') as f:
            f.write(text)

    def search(self):
        """assets/index.js: words, and in which sections they stand how often."""
        words, sections = {}, []
        for n, (page, anchor, title, heading, text) in enumerate(self.sections):
            sections.append([page + ('#' + anchor if anchor else ''), title, heading, text.strip()[:EXCERPT]])
            counts = {}
            for weight, source in ((12, title if not anchor or heading == title else ''), (8, heading), (1, text)):
                for word in tokens(source):
                    counts[word] = counts.get(word, 0) + weight
            for word, count in counts.items():
                words.setdefault(word, []).append((n, count))
        # lists of numbers: differences of sections and counts, one after the other
        packed = {}
        for word, list_ in sorted(words.items()):
            last, flat = 0, []
            for n, count in list_:
                flat += [n - last, min(count, 255)]
                last = n
            packed[word] = flat
        with open(self.path('assets/index.js'), 'w') as f:
            f.write('window.perpIndex=' + json.dumps({'sections': sections, 'words': packed}, separators=(',', ':'), ensure_ascii=False) + ';\n')


def tokens(text):
    """Words in small letters without accents; of "err.tip.max" the whole and its parts."""
    text = unicodedata.normalize('NFKD', text.lower())
    text = ''.join(c for c in text if not unicodedata.combining(c))
    for word in re.findall(r'[\w.:-]+', text):
        word = word.strip('.:-_')
        if 1 < len(word) <= 40:
            yield word
        parts = re.findall(r'[^\W_]+', word)
        if len(parts) > 1:
            for part in parts:
                if len(part) > 1:
                    yield part
