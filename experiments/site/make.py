#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""perp site: a static site from this tree and folders of results.  Called by the program: make.py [options] -- PROGRAM [DIR...].

What it shows comes from the program (`perp list --json`, `perp check --json`, `perp report`, `perp view`, `perp lesson`), from
docs/ (by cmark-gfm), and from the sources (doxygen).  No network is used; all links are relative."""
import argparse
import concurrent.futures
import functools
import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import webbrowser

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import documents  # noqa: E402
import extras  # noqa: E402
import methods  # noqa: E402
import studies  # noqa: E402
import submissions  # noqa: E402
import submit  # noqa: E402
from shell import Site, escape, relative  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KATEX = '/usr/share/javascript/katex'
MARK = '.perp-site'  # in a folder that may be replaced
SECONDS = 60         # for one run of the program


def fail(text, status):
    print(f'perp: error: {text}', file=sys.stderr)
    sys.exit(status)


def say(text):
    print(f'perp: {text}', file=sys.stderr, flush=True)


class Program:
    def __init__(self, path):
        self.path = path
        self.env = {k: v for k, v in os.environ.items() if k not in ('PERP_PLUGIN_PATH', 'PERP_REPORT_JS')}
        self.env.update(OPENBLAS_NUM_THREADS='1', PERP_HOME=ROOT, NO_COLOR='1')

    def call(self, *args, seconds=SECONDS):
        return subprocess.run([self.path, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=self.env, cwd=ROOT, timeout=seconds)

    def run(self, *args, seconds=600):
        r = self.call(*args, seconds=seconds)
        if r.returncode != 0:
            fail(f'perp {" ".join(args)}: {r.stderr.strip()[-400:] or r.returncode}', 1)
        return r.stdout

    def json(self, *args):
        return json.loads(self.run(*args, '--json'))


class Shared:
    """Pages of the program carry its script; here they share one file."""

    def __init__(self, site):
        self.site, self.script, self.name = site, None, None

    def __call__(self, page, words, back):
        path = os.path.join(self.site.out, page)
        with open(path) as f:
            text = f.read()
        head, _, rest = text.rpartition('<script>')
        script, end, tail = rest.partition('</script>')
        if not end:
            return
        if self.script is None:
            self.script = script
            self.name = f'assets/pages-{hashlib.sha256(script.encode()).hexdigest()[:12]}.js'
            with open(self.site.path(self.name), 'w') as f:
                f.write(script)
        if script != self.script:
            return
        head = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>\n', '', head)  # it allows the script by its hash
        head = head.replace('<body>\n', f'<body>\n<nav aria-label="back"><a href="{relative(page, back)}">← {escape(words)}</a></nav>\n', 1)
        with open(path, 'w') as f:
            f.write(f'{head}<script src="{relative(page, self.name)}"></script>{tail}')


def contract_results(program, parts):
    """The contract tests beside the program, where they are built."""
    folder = os.path.join(os.path.dirname(os.path.dirname(program.path)), 'tests/contract')
    contract = methods.Contract()

    def one(kind):
        test = os.path.join(folder, f'test_{kind}')
        if not os.access(test, os.X_OK):
            return kind, ''
        try:
            return kind, subprocess.run([test], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors='replace', timeout=120, cwd=scratch_of(kind),
                                        env=dict(program.env, PERP_SOURCE=ROOT, PERP_TAP='1')).stdout
        except subprocess.TimeoutExpired as e:
            return kind, (e.stdout or b'').decode(errors='replace') if isinstance(e.stdout, bytes) else ''

    kinds = {tested: {p['name'] for p in parts[kind]} for kind, _, _, tested in methods.KINDS + [methods.SCENES] if tested}
    return contract, kinds, one


@functools.lru_cache(maxsize=None)
def scratch_of(kind):
    return tempfile.mkdtemp(prefix=f'perp-{kind}-')


def study_axes(program, study):
    """(axis, name) of the methods that a study combines."""
    for extra in (('--set', 'profile=full'), ()):
        try:
            r = program.call('check', study['name'], *extra, '--json')
        except subprocess.TimeoutExpired:
            continue
        if r.returncode == 0 and r.stdout.strip():
            axes = json.loads(r.stdout).get('axes', [])
            return study, {(a['name'], studies.named(str(v))) for a in axes for v in a['values']}
    return study, set()


def moves(program, site, shared, scene, page, back, words):
    """A page on which a scene moves; None where it has no bodies or did not come to its end."""
    try:
        r = program.call('view', scene, '-o', site.path(page), '--timeout', '20s', '--no-open')
    except subprocess.TimeoutExpired:
        return None
    if r.returncode != 0 or not os.path.exists(os.path.join(site.out, page)):
        return None
    return page, back, words


def home(site, documents_, found):
    at, page = 'README.md', 'index.html'
    with open(os.path.join(ROOT, at)) as f:
        text = f.read()
    body = documents_.render(at, page, text)
    first = body.index('<h2')
    cards = ''.join(f'<article><h2><a href="{relative(page, target)}">{escape(title)}</a></h2><p>{escape(sentence)}</p></article>' for _, title, sentence, target in found[:6])
    findings = f'<h2 id="findings">What studies found</h2><div class="cards">{cards}</div><p><a href="findings/index.html">All findings</a></p>' if cards else ''
    site.write(page, 'perp', body[:first] + findings + body[first:])


def gallery(documents_, site, pages):
    """Pictures of the gallery lead to pages that move."""
    at, page = 'docs/gallery/README.md', 'docs/gallery/README.html'
    if at not in documents_.files:
        return
    body = documents_.render(at, page)
    body = re.sub(r'(<img src="([\w-]+)\.png"[^>]*>)', lambda m: f'<a href="{relative(page, pages[m.group(2)])}">{m.group(1)}</a><br><a class="button" href="{relative(page, pages[m.group(2)])}">See it move</a>' if m.group(2) in pages else m.group(1), body)
    site.write(page, 'Gallery', body, search=False)


def build(program, out, folders, sent, plugin):
    begun = time.monotonic()
    site = Site(out)
    with open(os.path.join(out, MARK), 'w'):
        pass
    shutil.copy(os.path.join(ROOT, 'experiments/site/site.css'), site.path('assets/site.css'))
    for script, to in (('site.ts', 'site.js'), ('site_equations.ts', 'equations.js')):
        subprocess.run(['esbuild', os.path.join(ROOT, 'experiments/web', script), '--bundle', '--minify', '--format=iife', '--target=es2020', '--charset=ascii',
                        '--log-level=warning', f'--alias:katex={KATEX}', '--loader:.css=text', '--loader:.woff2=dataurl', f'--outfile={site.path("assets/" + to)}'],
                       check=True)
    scratch = tempfile.mkdtemp(prefix='perp-site-')
    try:
        make(program, site, folders, sent, plugin, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    size = sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(out) for f in files)
    say(f'{len(site.pages)} pages, {size / 1e6:.0f} MB, {time.monotonic() - begun:.0f} s')


def make(program, site, folders, sent, plugin, scratch):
    shared, docs = Shared(site), documents.Documents(site, ROOT)
    found = studies.Studies(site, program, ROOT, shared)
    parts = {kind: program.json('list', kind) for kind, *_ in methods.KINDS + [methods.SCENES]}
    shipped, lessons = program.json('list', 'studies'), program.json('lesson', 'list')
    version = program.json('version').get('version', '')
    galleries = sorted(f[:-5] for f in os.listdir(os.path.join(ROOT, 'docs/gallery')) if f.endswith('.yaml'))
    contract, kinds, test = contract_results(program, parts)

    say('scenes, lessons and contract tests')
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        tests = [pool.submit(test, kind) for kind in kinds]
        axes = [pool.submit(study_axes, program, s) for s in shipped]
        views = {}
        for s in parts['scenes']:
            page = f'scenes/{methods.file_of(s["name"])}.view.html'
            views[s['name']] = pool.submit(moves, program, site, shared, s['name'], page, methods.page_of('scenes', s['name']), s['name'])
        moving = {g: pool.submit(moves, program, site, shared, f'docs/gallery/{g}.yaml', f'docs/gallery/{g}.view.html', 'docs/gallery/README.html', 'Gallery') for g in galleries}

        # a course is a folder of pages with links between them; its index is that of the site
        course = pool.submit(program.call, 'lesson', 'all', '-o', os.path.join(site.out, 'lessons'), seconds=900)
        for f in tests:
            kind, text = f.result()
            contract.read(kind, text, kinds[kind])
        by_method, scene_pages, gallery_pages = {}, {}, {}
        study_methods = [f.result() for f in axes]
        for pages, futures in ((scene_pages, views), (gallery_pages, moving)):
            for name, future in futures.items():
                if future.result():
                    page, back, words = future.result()
                    shared(page, words, back)
                    pages[name] = page
        made = course.result().returncode == 0
        lesson_pages = {l['name']: f'lessons/{l["name"]}.html' for l in lessons} if made else {}

    say('studies')
    named = {}
    for folder in folders:
        with open(os.path.join(folder, 'plan.jsonl')) as f:
            named[json.loads(f.readline())['study']] = folder
    published = os.path.join(ROOT, 'results/published')
    for name in sorted(os.listdir(published)):
        folder, note = named.pop(name, None), ''
        if folder is None:
            made = studies.results_of(program, ROOT, os.path.join(published, name), name, scratch)
            if made:
                folder, n, rows, planned = made
                note = f'<span class="note">It shows {n} of the {planned} runs, those of the published table{"" if n == rows else f"; {rows - n} rows are of runs that the study of today has not"}.</span>' if n < planned else ''
        docs.moved[f'results/published/{name}'] = f'findings/{name}/index.html'
        found.add(name, folder, os.path.join(published, name), note)
    for name, folder in sorted(named.items()):
        found.add(name, folder)
    for folder, s in sorted(sent.items()):
        found.list.append(submissions.add(site, program, shared, folder, s, plugin, scratch))
    have = {name for name, *_ in found.list}
    found.write([(s['name'], s['title']) for s in shipped if s['name'] not in have])
    for study, keys in study_methods:
        target = f'findings/{study["name"]}/index.html' if study['name'] in have else None
        for key in keys:
            by_method.setdefault(key, []).append((study['name'], study['title'], target))

    say('pages')
    docs.moved['results/published'] = 'findings/index.html'
    methods.write(site, docs, ROOT, parts, contract, by_method, scene_pages)
    extras.lessons(site, lessons, lesson_pages)
    extras.api(site, docs, ROOT, version, scratch)
    home(site, docs, found.list)
    docs.write()
    gallery(docs, site, gallery_pages)
    site.write('search.html', 'Search', '<h1>Search</h1><div id="results"><p>Type a word in the field above.</p></div><noscript><p>The search needs JavaScript.</p></noscript>', search=False)
    docs.write_sources()
    for lesson in lessons:
        if lesson['name'] in lesson_pages:
            site.sections.append([lesson_pages[lesson['name']], '', lesson['title'], lesson['title'], extras.story(os.path.join(site.out, lesson_pages[lesson['name']]))])
    site.search()
    for link in docs.missing:
        say(f'warning: a link leads nowhere: {link}')


def serve(out, port):
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=out)
    try:
        server = http.server.ThreadingHTTPServer(('127.0.0.1', port), handler)
    except OSError as e:
        fail(f'--port {port}: {e.strerror}; choose another one', 2)
    address = f'http://localhost:{server.server_address[1]}/'
    print(address, flush=True)
    if os.environ.get('DISPLAY') or os.environ.get('WAYLAND_DISPLAY'):
        webbrowser.open(address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


def main():
    p = argparse.ArgumentParser(prog='perp site', add_help=False)
    p.add_argument('--verify')
    p.add_argument('program')
    p.add_argument('-o', '--output', required=True)
    p.add_argument('--serve', action='store_true')
    p.add_argument('--port', type=int, default=8000)
    p.add_argument('folders', nargs='*')
    a = p.parse_args()
    for tool, package in (('cmark-gfm', 'cmark-gfm'), ('esbuild', 'esbuild')):
        if shutil.which(tool) is None:
            fail(f'{tool} is missing: apt-get install {package}', 2)
    if not os.path.exists(os.path.join(KATEX, 'katex.mjs')):
        fail('KaTeX is missing: apt-get install libjs-katex', 2)
    sent = {}
    for f in [f for f in a.folders if os.path.exists(os.path.join(f, 'submission.json'))]:
        sent[os.path.abspath(f)] = submit.read(os.path.abspath(f))
        if isinstance(sent[os.path.abspath(f)], str):
            fail(sent[os.path.abspath(f)], 3)
        a.folders.remove(f)
    if a.verify and not sent:
        fail('--verify is for folders of perp submit: name one', 2)
    if a.verify and not os.path.isfile(a.verify):
        fail(f'--verify {a.verify}: there is no such file', 3)
    for f in a.folders:
        if not os.path.exists(os.path.join(f, 'plan.jsonl')):
            fail(f"{f} is no folder of results: `perp run STUDY -o DIR` makes one", 3)
    out = os.path.abspath(a.output)
    if os.path.isdir(out) and os.listdir(out) and not os.path.exists(os.path.join(out, MARK)):
        fail(f'{a.output} has files that are no site; name another folder', 2)
    if os.path.isdir(out):
        shutil.rmtree(out)
    os.makedirs(out)
    try:
        build(Program(os.path.abspath(a.program)), out, [os.path.abspath(f) for f in a.folders], sent, a.verify and os.path.abspath(a.verify))
    except (OSError, ValueError, KeyError, subprocess.SubprocessError) as e:
        fail(f'the site is not complete: {type(e).__name__}: {e}', 1)
    print(os.path.join(a.output, 'index.html'), flush=True)
    if a.serve:
        serve(out, a.port)


if __name__ == '__main__':
    main()
