#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""site.py parts|submit|whole PERP OUT: what `perp site` is made of; what others submit; a whole site: its links, its size, and
how Chromium sees it."""
import html
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, 'experiments/site')]
import links  # noqa: E402
import shell  # noqa: E402

what, perp, out = sys.argv[1], os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3])
count = 0


def ok(good, text):
    global count
    count += 1
    print(f'{"" if good else "not "}ok {count} - {text}', flush=True)


def perp_run(*args, **more):
    return subprocess.run([perp, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, **more)


def parts():
    # equations: ASCII as TeX, and KaTeX reads every equation of the program
    katex = '/usr/share/javascript/katex/katex.mjs'
    bundling = [f'--alias:katex={os.path.dirname(katex)}', '--loader:.css=text', '--loader:.woff2=dataurl']
    if shutil.which('node') and shutil.which('esbuild') and os.path.exists(katex):
        wanted = (("J v+ + S lambda = 0", r'J v^{+} +S \lambda =0'), ("A = J M^-1 J' + S", r'A =J M^{-1} J^{\mathsf T} +S'),
                  ("q' = N(q) v", r"q' =N (q )v"), ('lambda_i <= mu lambda_n', r'\lambda_{i} \le \mu \lambda_{n}'),
                  ('q+ = q [+] h v', r'q^{+} =q \boxplus h v'), ('C.. + 2 alpha C. = 0', r'\ddot{C} +2\alpha \dot{C} =0'),
                  ('lambda complementary', r'\lambda \text{ complementary}'), ('f (h + slope)', r'f (h +\text{ slope})'), ('x = 0 by Gauss-Seidel', r'x =0\text{ by Gauss-Seidel}'), ('e_i . g_(i+1) = 0', r'e_{i} \cdot g_{i +1} =0'))
        list_ = [(kind, part['name'], part['equation']) for kind in 'formulation ode kkt lcp stab contact engine joints forces scenes'.split()
                 for part in json.loads(perp_run('list', kind, '--json').stdout) if part.get('equation')]
        bundle = f'{out}-equations.mjs'
        subprocess.run(['esbuild', f'{ROOT}/experiments/web/equations.ts', '--bundle', '--format=esm', '--log-level=warning', *bundling,
                        f'--outfile={bundle}'], check=True)
        script = f'''import {{ clauses, reading, tex }} from {json.dumps(bundle)}; import katex from {json.dumps(katex)};
const bad = [];
for (const [kind, name, text] of {json.dumps(list_)}) for (const clause of clauses(text))
  try {{ katex.renderToString(tex(clause, reading(kind)), {{ throwOnError: true, strict: 'ignore' }}); }} catch (e) {{ bad.push(`${{kind}} ${{name}}: ${{e.message}}`); }}
console.log(JSON.stringify({{ bad, tex: {json.dumps([t for t, _ in wanted])}.map((t) => tex(t)), scene: tex("P' = M g", reading('scenes')),
  clauses: [clauses("a = b;  c = (d; e),  f"), clauses('x = y')] }}));'''
        r = subprocess.run(['node', '--input-type=module', '-e', script], capture_output=True, text=True)
        said = json.loads(r.stdout) if r.returncode == 0 else {'bad': [r.stderr[:300]], 'tex': [''] * len(wanted), 'scene': '', 'clauses': []}
        ok(said['bad'] == [] and len(list_) > 150, f'KaTeX sets all {len(list_)} equations {said["bad"][:3]}')
        for (text, right), got in zip(wanted, said['tex']):
            ok(got == right, f'{text} is {right}' if got == right else f'{text} is {got}, not {right}')
        ok(said['scene'].startswith("P'"), 'in scenes a prime is a derivative')
        ok(said['clauses'] == [['a = b;', 'c = (d; e),', 'f'], ['x = y']], f'clauses of an equation: {said["clauses"]}')
    else:
        ok(True, 'equations # SKIP no node, esbuild or libjs-katex')
    ok(shell.slug('`joints`, `drives`: a *b*'.replace('`', '').replace('*', '')) == 'joints-drives-a-b', 'anchors are those of GitHub')
    ok(set(shell.tokens('Err.tip.max of Painlevé')) >= {'err.tip.max', 'tip', 'max', 'painleve', 'of'}, 'words of the search: the whole, its parts, no accents')

    # the checker of links sees what is broken
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(f'{out}/a')
    with open(f'{out}/index.html', 'w') as f:
        f.write('<h1 id="x">x</h1><a href="a/b.html#y">1</a><a href="#x">2</a><a href="a/none.html">3</a><a href="a/b.html#none">4</a><a href="../up.html">5</a><img src="no.png">')
    with open(f'{out}/a/b.html', 'w') as f:
        f.write('<p id="y"><a href="../index.html#x">back</a>')
    pages, n, wrong, _ = links.broken(out)
    ok(pages == 2 and n == 7 and len(wrong) == 4, f'a lost file, a lost anchor, a way out and a lost picture are seen: {len(wrong)} of 4')

    # search: sections with all words, the best first
    if shutil.which('node') and shutil.which('esbuild'):
        site = shell.Site(out)
        site.write('lemke.html', 'lemke', '<h1>lemke</h1><p>Complementary pivoting.</p>')
        site.write('forces.html', 'Forces of joints', '<h1>Forces of joints</h1><h2>Reaction forces</h2><p>A reaction force holds a joint.</p>')
        site.write('other.html', 'Other', '<h1>Other</h1><p>A force and, elsewhere, a chemical reaction. Lemke is named once; joints drift.</p>')
        site.search()
        subprocess.run(['esbuild', f'{ROOT}/experiments/web/site.ts', '--bundle', '--format=esm', '--log-level=warning', *bundling,
                        f'--outfile={out}/site.mjs'], check=True)
        script = f'''import {{ find }} from '{out}/site.mjs'; import {{ readFileSync }} from 'node:fs';
globalThis.window = {{}}; eval(readFileSync('{out}/assets/index.js', 'utf8'));
console.log(JSON.stringify(['Lemke', 'reaction force', 'drift', 'lemke drift joint', 'zzz', 'LEMKÉ'].map((q) => find(window.perpIndex, q).map((h) => h.page))));'''
        r = subprocess.run(['node', '--input-type=module', '-e', script], capture_output=True, text=True)
        hits = json.loads(r.stdout) if r.returncode == 0 else [[]] * 6
        ok(hits[0][:1] == ['lemke.html'] and len(hits[0]) == 2, f'Lemke: its page first {r.stderr[:200]}')
        ok(hits[1][:1] == ['forces.html#reaction-forces'] and 'other.html' in hits[1], 'reaction force: the section of that name first')
        ok([h.split('#')[0] for h in hits[2]] == ['other.html'] and [h.split('#')[0] for h in hits[3]] == ['other.html'] and hits[4] == [] and hits[5] == hits[0], 'all words must be there; accents and capitals do not matter')
    else:
        ok(True, 'search # SKIP no node or esbuild')

    # bad input
    for args, status, said in ((('site',), 2, '-o DIR'), (('site', '-o', out + '/new', '--port', '8000'), 2, 'add --serve'), (('site', '-o', out + '/new', '--serve', '--port', '0'), 2, 'whole number'),
                               (('site', '-o', ROOT), 2, 'no site'), (('site', '-o', out + '/new', '/nowhere'), 3, 'perp run STUDY')):
        r = perp_run(*args)
        ok(r.returncode == status and said in r.stderr, f'perp {" ".join(args).replace(ROOT, ".")[:60]}: exit status {r.returncode}, {r.stderr.strip().splitlines()[0][:80]}')


def whole():
    for tool in ('cmark-gfm', 'esbuild'):
        if shutil.which(tool) is None:
            print(f'1..0 # SKIP {tool} is not installed')
            sys.exit()
    if not os.path.exists('/usr/share/javascript/katex/katex.mjs'):
        print('1..0 # SKIP libjs-katex is not installed')
        sys.exit()
    shutil.rmtree(out, ignore_errors=True)
    results = out + '-results'
    shutil.rmtree(results, ignore_errors=True)
    perp_run('run', os.path.join(ROOT, 'tests/report/motion.yaml'), '-o', results, '--no-report')
    r = perp_run('site', '-o', out, results)
    ok(r.returncode == 0 and r.stdout.strip().endswith('index.html'), f'a site is made: {r.stderr.strip().splitlines()[-1] if r.stderr.strip() else ""}')
    if r.returncode != 0:
        return
    ok('leads nowhere' not in r.stderr, f'every link of the documentation leads somewhere {" ".join(l for l in r.stderr.splitlines() if "nowhere" in l)[:300]}')
    pages, n, wrong, outside = links.broken(out)
    for line in wrong[:20]:
        print(f'# {line}')
    ok(not wrong, f'{n} links of {pages} pages lead to a file and an anchor')
    size = sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(out) for f in files)
    ok(size < 80e6, f'{size / 1e6:.0f} MB are less than 80')
    for page in ('index.html', 'findings/index.html', 'findings/chain6-stab/index.html', 'findings/chain6-stab/report.html', 'findings/page-motion/report.html', 'docs/how-to/studies.html',
                 'methods/lcp/lemke.html', 'scenes/pendulum.html', 'scenes/pendulum.view.html', 'lessons/drift.html', 'docs/gallery/README.html', 'docs/gallery/chain.view.html',
                 'docs/explanation/complaints.html', 'docs/models.html', 'api/python.html', 'CHANGELOG.html', 'search.html'):
        ok(os.path.exists(os.path.join(out, page)), page)
    findings = json.loads(perp_run('answer', results, '--json').stdout)['findings']
    with open(os.path.join(out, 'findings/page-motion/index.html')) as f:
        text = html.unescape(re.sub(r'<[^>]*>', '', f.read()))
    lead = [' '.join(f['text'].split()) for f in findings if f['lead']]
    ok(lead and all(t in ' '.join(text.split()) for t in lead), f'the page of a study begins with the {len(lead)} sentences of the terminal')
    with open(os.path.join(out, 'methods/lcp/lemke.html')) as f:
        text = f.read()
    ok('data-kind="lcp"' in text and 'Cline 2002' in text and 'lcp-compare' in text and 'checks of the contract' in text, 'a method: its equation, its source, studies, results of the contract tests')
    text = ''.join(open(os.path.join(d, f), errors='replace').read() for d, _, files in os.walk(out) for f in files if f.endswith('.html') and '/api/c' not in d)
    loaded = re.findall(r'<(?:script|img|link|iframe)[^>]*(?:src|href)="(?:https?:)?//', text)
    ok(not loaded, 'no page loads anything from a network')
    if shutil.which('node') and shutil.which('chromium'):
        kinds = ('index.html', 'docs/how-to/studies.html', 'methods/lcp/lemke.html', 'scenes/pendulum.html', 'docs/gallery/README.html', 'docs/gallery/chain.view.html', 'lessons/drift.html', 'search.html?q=drift')
        for name, command in (('Chromium saw the site', [f'{HERE}/site.mjs', out]), ('everybody can use it', [f'{ROOT}/tests/report/access.mjs', out, *kinds])):
            r = subprocess.run(['node', *command], capture_output=True, text=True)
            for line in r.stdout.splitlines():
                m = re.match(r'(not )?ok \d+ - (.*)', line)
                if m:
                    ok(not m.group(1), m.group(2))
            ok(r.returncode == 0 and 'ok' in r.stdout, f'{name} {r.stderr[-300:]}')
    else:
        ok(True, 'Chromium # SKIP node or chromium is not installed')


def submissions_():
    import make  # noqa: E402
    import submissions  # noqa: E402
    import submit  # noqa: E402
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    if perp_run('new', 'plugin', 'lcp', '--name', 'mine', '-o', f'{out}/mine').returncode != 0:
        print('Bail out! no plug-in')
        sys.exit(1)
    mark = f'{out}/executed'
    with open(f'{out}/mine/mine.c', 'a') as f:  # says that it was loaded
        f.write(f'#include <stdio.h>\n__attribute__((constructor)) static void loaded(void) {{ FILE *f = fopen("{mark}", "a"); if (f) fclose(f); }}\n')
    make_ = subprocess.run(['make', '-C', f'{out}/mine', f'PERP={perp}'], capture_output=True, text=True)
    if make_.returncode != 0:
        print(f'Bail out! {make_.stderr[-300:]}')
        sys.exit(1)
    r = perp_run('run', f'{out}/mine/study.yaml', '-o', f'{out}/results', '--no-report', '--set', 'measure.repeats=1')
    ok(r.returncode == 0, f'a study with a plug-in runs{"" if r.returncode == 0 else r.stderr[-200:]}')
    r = perp_run('submit', f'{out}/results', '-o', f'{out}/sent', '--by', '<b>A group</b>', '--link', 'javascript:alert(1)')
    ok(r.returncode == 0 and r.stdout.strip() == f'{out}/sent', f'perp submit makes a folder {r.stderr[-200:]}')
    files = submit.files_of(f'{out}/sent')
    ok(not [f for f in files if f.endswith(('.so', '.html', '.js'))] and 'results/plan.jsonl' in files, f'of data alone: {" ".join(files)[:160]}')
    s = submit.read(f'{out}/sent')
    ok(isinstance(s, dict) and s['plugins'][0]['contract']['failed'] == 0 and s['plugins'][0]['descriptor']['name'] == 'mine', 'with the descriptor and the results of its contract tests')
    for args, status, said in (((f'{out}/results', '-o', f'{out}/sent'), 2, 'files already'), ((f'{out}/mine', '-o', f'{out}/x'), 3, 'perp run STUDY')):
        r = perp_run('submit', *args)
        ok(r.returncode == status and said in r.stderr, f'refused: {r.stderr.strip()[-80:]}')
    shutil.copytree(f'{out}/sent', f'{out}/changed')
    with open(f'{out}/changed/report.json', 'a') as f:
        f.write(' ')
    ok('was changed after' in str(submit.read(f'{out}/changed')), 'a file that was changed is seen')
    r = perp_run('site', '-o', f'{out}/site', f'{out}/changed')
    ok(r.returncode == 3 and 'was changed after' in r.stderr and not os.path.exists(f'{out}/site'), 'and refused by perp site')

    # shown as it was sent: nothing is executed, texts are texts
    os.remove(mark)
    site, program = shell.Site(f'{out}/site'), make.Program(perp)
    shared = make.Shared(site)
    with open(os.path.join(os.path.dirname(perp), 'web/pages.js')) as f:
        shared.script = f.read()
    name, title, sentence, page = submissions.add(site, program, shared, f'{out}/sent', s, None, f'{out}/scratch')
    with open(f'{out}/site/{page}') as f:
        text = f.read()
    ok('Nothing of this submission was run here' in text and not os.path.exists(mark), 'without --verify nothing of it is executed')
    ok('<b>A group' not in text and 'href="javascript' not in text and '&lt;b&gt;A group' in text, 'its texts are texts, its links are of the web')
    with open(f'{out}/site/{os.path.dirname(page)}/report.html') as f:
        ok("script-src 'sha256-" in f.read(), 'its interactive page allows the script of perp alone')
    name, title, sentence, page = submissions.add(site, program, shared, f'{out}/sent', s, f'{out}/mine/mine.so', f'{out}/scratch')
    with open(f'{out}/site/{page}') as f:
        text = f.read()
    ok('Run again here: 5 of 5 runs have the same status' in text and os.path.exists(mark), f'with --verify five runs are repeated: {re.findall("Run again here[^.]*", text)}')
    # results that are not those of the plug-in are seen
    journal = f'{out}/sent/results/journal/' + os.listdir(f'{out}/sent/results/journal')[0]
    with open(journal) as f:
        lines = f.read()
    with open(journal, 'w') as f:
        f.write(re.sub(r'"iterations": (\d+)', lambda m: f'"iterations": {int(m.group(1)) + 1}', lines))
    submissions.add(site, program, shared, f'{out}/sent', s, f'{out}/mine/mine.so', f'{out}/scratch')
    with open(f'{out}/site/{page}') as f:
        text = f.read()
    ok('Run again here: 0 of 5 runs' in text, f'figures that the plug-in does not have are seen: {re.findall("Run again here[^.]*", text)}')


{'parts': parts, 'whole': whole, 'submit': submissions_}[what]()
print(f'1..{count}')
