# SPDX-License-Identifier: GPL-3.0-or-later
"""Lessons, and the interfaces of C and Python."""
import ast
import json
import os
import re
import shutil
import subprocess
import sys

from shell import escape, relative


def lessons(site, list_, pages):
    page = 'lessons/index.html'
    items = []
    for lesson in list_:
        name, title = lesson['name'], escape(lesson['title'])
        linked = f'<a href="{relative(page, pages[name])}">{title}</a>' if name in pages else title
        items.append(f'<li>{linked} <code>perp lesson {escape(name)}</code></li>')
    site.write(page, 'Lessons', f'<h1>Lessons</h1><p>A story, a prediction, an experiment of a few seconds and an exercise each. Here are the stories and their figures; the program asks and checks.</p><ul class="plain">{"".join(items)}</ul>')


def story(path):
    """The sentences of a lesson, of the data of its page."""
    with open(path) as f:
        m = re.search(r'<script type="application/json" id="data">(.*?)</script>', f.read(), re.S)
    found = []

    def texts(v):
        if isinstance(v, str) and ' ' in v and len(v) > 30:
            found.append(re.sub(r'<[^>]+>', ' ', v))
        for inner in v.values() if isinstance(v, dict) else v if isinstance(v, list) else ():
            texts(inner)

    texts(json.loads(m.group(1)) if m else {})
    return ' '.join(found)


def signature(node):
    return f'{node.name}({ast.unparse(node.args)})' if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else node.name


def python(site, documents, root):
    """The public names of the package, of its sources: nothing is imported."""
    folder = os.path.join(root, 'python/perp')
    with open(os.path.join(folder, '__init__.py')) as f:
        init = ast.parse(f.read())
    body = [f'<p class="above"><a href="index.html">API</a></p><h1>Python</h1><pre class="doc">{escape(ast.get_docstring(init) or "")}</pre><p><a href="{relative("api/python.html", "docs/tutorials/python.html")}">How to use it</a></p>']
    for name in sorted(os.listdir(folder)):
        if not name.endswith('.py') or name == '__main__.py':
            continue
        with open(os.path.join(folder, name)) as f:
            tree = ast.parse(f.read())
        parts = [n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef)) and not n.name.startswith('_') and ast.get_docstring(n)]
        if not parts:
            continue
        path = f'python/perp/{name}'
        documents.sources.add(path)
        body.append(f'<h2>{escape("perp" if name.startswith("_") else "perp." + name[:-3])} <small><a href="{relative("api/python.html", f"source/{path}.html")}">{name}</a></small></h2>')
        for n in parts:
            body.append(f'<h3><code>{escape(signature(n))}</code></h3><pre class="doc">{escape(ast.get_docstring(n))}</pre>')
            if isinstance(n, ast.ClassDef):
                methods = [m for m in n.body if isinstance(m, ast.FunctionDef) and not m.name.startswith('_') and ast.get_docstring(m)]
                body.append('<dl>' + ''.join(f'<dt><code>{escape(signature(m))}</code></dt><dd><pre class="doc">{escape(ast.get_docstring(m))}</pre></dd>' for m in methods) + '</dl>')
    site.write('api/python.html', 'Python interface', ''.join(body))


def doxygen(site, root, version, scratch):
    """Pages of the public headers in api/c; False where doxygen is not here."""
    if shutil.which('doxygen') is None:
        return False
    headers = subprocess.run([sys.executable, os.path.join(root, 'docs/public_headers.py'), root], capture_output=True, text=True, check=True).stdout.split('\n')
    out = os.path.join(site.out, 'api/c')
    os.makedirs(out, exist_ok=True)
    values = {'version': version, 'source': root, 'output': out, 'inputs': ' '.join(headers), 'filter': f'{sys.executable} {root}/docs/doxygen_filter.py'}
    with open(os.path.join(root, 'docs/Doxyfile.in')) as f:
        text = re.sub(r'@(\w+)@', lambda m: values[m.group(1)], f.read())
    path = os.path.join(scratch, 'Doxyfile')
    with open(path, 'w') as f:
        f.write(text + '\nGENERATE_TREEVIEW = NO\nSEARCHENGINE = NO\nVERBATIM_HEADERS = NO\n')
    r = subprocess.run(['doxygen', path], cwd=root, capture_output=True, text=True)
    if r.returncode != 0:
        print(f'perp site: doxygen: {r.stderr.strip().splitlines()[-1] if r.stderr.strip() else r.returncode}', file=sys.stderr)
    return os.path.exists(os.path.join(out, 'index.html'))


def api(site, documents, root, version, scratch):
    python(site, documents, root)
    made = doxygen(site, root, version, scratch)
    headers = subprocess.run([sys.executable, os.path.join(root, 'docs/public_headers.py'), root], capture_output=True, text=True, check=True).stdout.split()
    paths = [os.path.relpath(h, root) for h in headers]
    documents.sources.update(paths)
    page = 'api/index.html'
    site.write(page, 'API', '<h1>API</h1><ul>'
               + (f'<li><a href="c/index.html">C: functions and types of the public headers</a></li>' if made else '')
               + f'<li><a href="python.html">Python</a></li><li><a href="{relative(page, "docs/reference/library.html")}">The library</a></li><li><a href="{relative(page, "docs/how-to/plugins.html")}">Plug-ins of your own</a></li></ul>'
               + ('' if made else '<p class="note">Pages of the C interface need doxygen: <code>./perp setup doxygen</code>, then <code>./perp site</code>.</p>')
               + '<h2>Public headers</h2><ul class="columns">' + ''.join(f'<li><a href="{relative(page, f"source/{p}.html")}"><code>{escape(p)}</code></a></li>' for p in paths) + '</ul>')
