# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation as pages: Markdown through cmark-gfm, links between files turned into links between pages, and the
source files that are linked, with a number at each line."""
import html
import os
import re
import shutil
import subprocess

from shell import escape, plain, relative

PICTURES = ('.png', '.svg', '.jpg', '.gif')


def page_of(path):
    """docs/how-to/plugins.md -> docs/how-to/plugins.html"""
    return os.path.splitext(path)[0] + '.html'


class Documents:
    def __init__(self, site, root):
        self.site, self.root = site, root
        self.sources = set()   # files that get a page of their lines
        self.missing = []      # links that lead nowhere
        self.moved = {}        # a path of the tree -> a page of the site that stands for it
        found = [f for f in ('README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'results/README.md') if os.path.exists(os.path.join(root, f))]
        for folder, _, files in os.walk(os.path.join(root, 'docs')):
            found += [os.path.relpath(os.path.join(folder, f), root) for f in files if f.endswith('.md')]
        self.files = {f: page_of(f) for f in sorted(found)}
        self.titles = {}

    def markdown(self, text):
        r = subprocess.run(['cmark-gfm', '--unsafe', '-e', 'table', '-e', 'autolink', '-e', 'strikethrough'], input=text, capture_output=True, text=True, check=True)
        return r.stdout

    def target(self, at, page, link):
        """The address of a link of the file `at` on its page."""
        if re.match(r'[a-z][a-z0-9+.-]*:', link) or link.startswith('#'):
            return link
        path, hash_, anchor = html.unescape(link).partition('#')
        path = os.path.normpath(os.path.join(os.path.dirname(at), path)) if not path.startswith('/') else path.lstrip('/')
        full = os.path.join(self.root, path)
        if path in self.moved:
            return relative(page, self.moved[path])
        if path in self.files:
            return relative(page, self.files[path]) + hash_ + anchor
        if path.endswith(PICTURES) and os.path.isfile(full):
            if not os.path.exists(os.path.join(self.site.out, path)):
                shutil.copy(full, self.site.path(path))
            return relative(page, path)
        if os.path.isfile(full):
            self.sources.add(path)
            return relative(page, f'source/{path}.html') + hash_ + anchor
        if os.path.isdir(full):
            return relative(page, self.folder(path))
        self.missing.append(f'{at}: {link}')
        return link

    def folder(self, path):
        """A page that lists a folder of the tree."""
        page = f'source/{path}/index.html'
        if page not in self.site.pages:
            self.site.pages[page] = path  # against circles
            entries = sorted(e for e in os.listdir(os.path.join(self.root, path)) if not e.startswith('.'))
            items = []
            for e in entries:
                inner = f'{path}/{e}'
                if os.path.isdir(os.path.join(self.root, inner)):
                    items.append(f'<li>{escape(e)}/</li>')
                else:
                    items.append(f'<li><a href="{self.target(path + "/x", page, e)}">{escape(e)}</a></li>')
            self.site.write(page, path, f'<h1>{escape(path)}</h1><ul>{"".join(items)}</ul>', search=False)
        return page

    def links(self, at, page, body):
        body = re.sub(r'(<(?:a|img)\b[^>]*?\b(?:href|src)=")([^"]*)(")', lambda m: m.group(1) + escape(self.target(at, page, m.group(2))) + m.group(3), body)
        # wide tables are moved sideways on their own
        return re.sub(r'<table>(.*?)</table>', r'<div class="scroll"><table>\1</table></div>', body, flags=re.S)

    def render(self, at, page, text=None):
        if text is None:
            with open(os.path.join(self.root, at)) as f:
                text = f.read()
        return self.links(at, page, self.markdown(text))

    def write(self):
        for at, page in self.files.items():
            body = self.render(at, page)
            m = re.search(r'<h1[^>]*>(.*?)</h1>', body, re.S)
            self.titles[at] = plain(m.group(1)) if m else at
            # pages that list what is built into perp are in the menu; numbered equations have a page of 300 rows
            self.site.write(page, self.titles[at], body)
        self.write_sources()

    def write_sources(self):
        done = set()
        while self.sources - done:
            path = sorted(self.sources - done)[0]
            done.add(path)
            with open(os.path.join(self.root, path), errors='replace') as f:
                lines = f.read().split('\n')
            rows = ''.join(f'<span class="line" id="L{n}">{escape(line)}\n</span>' for n, line in enumerate(lines, 1))
            page = f'source/{path}.html'
            self.site.write(page, path, f'<h1>{escape(path)}</h1><pre class="source">{rows}</pre>', search=False, wide=True)
