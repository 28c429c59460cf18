# SPDX-License-Identifier: GPL-3.0-or-later
"""What the studies found: a page for each published study (results/published) and for each folder of results, with the
interactive page of the program beside it.  Of a published table the program makes its page too: the rows are written as a
journal of runs, and `perp report` reads them."""
import csv
import json
import os
import re
import shutil

from shell import escape, relative


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def alike(cell, row, keys):
    """Is this planned run the one of a row?  Numbers of the table are shorter."""
    for key in keys:
        have, want = cell.get(key, ''), row[key]
        if isinstance(have, (int, float)):
            w = number(want)
            if w is None or abs(w - have) > 5e-4 * abs(have):
                return False
        elif str(have or '') != want:
            return False
    return True


def results_of(program, root, folder, name, scratch):
    """A folder of results made of results/published/NAME; None where today's study has none of its runs."""
    study = next((s for s in program.json('list', 'studies') if s['name'] == name), None)
    if study is None:
        return None
    plan = program.json('plan', name, '--set', 'profile=full')
    with open(os.path.join(folder, 'cells.csv')) as f:
        rows = list(csv.DictReader(f))
    keys = [k for k in rows[0] if k in plan[0] or any(k in c for c in plan)]
    keys = [k for k in keys if k != 'status']
    figures = [k for k in rows[0] if k not in keys and k != 'status']
    # by the texts, which are exact, then by the numbers
    texts = [k for k in keys if not any(isinstance(c.get(k), (int, float)) for c in plan)]
    by_text = {}
    for c in plan:
        by_text.setdefault(tuple(str(c.get(k) or '') for k in texts), []).append(c)
    found = []
    for row in rows:
        for c in by_text.get(tuple(row[k] for k in texts), []):
            if alike(c, row, keys):
                found.append((c, row))
                break
    if not found:
        return None
    out = os.path.join(scratch, name)
    os.makedirs(os.path.join(out, 'journal'))
    os.makedirs(os.path.join(out, 'env'))
    shutil.copy(study['path'], os.path.join(out, 'study.yaml'))
    with open(os.path.join(folder, 'environment.json')) as f:
        env = json.load(f)
    with open(os.path.join(out, 'env/0000000000000000.json'), 'w') as f:
        json.dump(env, f)
    kind = 'lcp' if 'problem' in rows[0] else 'simulate'
    with open(os.path.join(out, 'plan.jsonl'), 'w') as f:
        f.write(json.dumps({'plan': 'perp-plan/2', 'schema': 2, 'study': name, 'kind': kind, 'profile': 'full', 'only': None, 'skip': None, 'shard': None, 'plugins': None, 'cells': len(found)}) + '\n')
        for c, _ in found:
            f.write(json.dumps({k: v for k, v in c.items() if k != 'command'}) + '\n')
    with open(os.path.join(out, 'journal/published.jsonl'), 'w') as f:
        f.write(json.dumps({'event': 'run', 't': 0, 'schema': 2, 'env': '0000000000000000', 'load': 0, 'jobs': 1, 'cells': len(found), 'profile': 'full', 'command': env.get('command', ''), 'timeout': 0, 'memory': 0}) + '\n')
        for c, row in found:
            values = {k: number(row[k]) for k in figures if number(row[k]) is not None}
            f.write(json.dumps({'event': 'start', 't': 0, 'cell': c['cell'], 'attempt': 1}) + '\n')
            f.write(json.dumps({'event': 'cell', 't': 0, 'cell': c['cell'], 'attempt': 1, 'status': row['status'], 'reason': 'reached-end' if row['status'] == 'ok' else row['status'], 'values': values}) + '\n')
    return out, len(found), len(rows), len(plan)


class Studies:
    def __init__(self, site, program, root, shared):
        self.site, self.program, self.root, self.shared = site, program, root, shared
        self.list = []  # (name, title, sentence, page)

    def report(self, folder, name):
        """The interactive page of a folder; its data."""
        page = f'findings/{name}/report.html'
        path = self.site.path(page)
        self.program.run('report', folder, '-o', path)
        with open(path[:-5] + '.json') as f:
            data = json.load(f)
        os.remove(path[:-5] + '.json')
        self.shared(page, 'Back to the findings', f'findings/{name}/index.html')
        return page, data

    def sentences(self, data):
        """What the study found: its findings, or its answers where there are none."""
        leading = [f['text'] for f in data.get('findings', []) if f.get('lead')]
        return leading or [a['text'] for a in data['answers'] if a['text']]

    def add(self, name, folder=None, published=None, note=''):
        """One study: results in `folder` (of the program), published figures in `published`."""
        page = f'findings/{name}/index.html'
        here = lambda target: relative(page, target)
        body, title, question, sentences, claims = [], name, '', [], []
        environment = None
        if published:
            with open(os.path.join(published, 'answer.json')) as f:
                answer = json.load(f)
            with open(os.path.join(published, 'environment.json')) as f:
                environment = json.load(f)
            title, question, claims = answer['title'], answer['question'], answer['claims']
            sentences = [a['answer'] for a in answer['answers'] if a.get('answer')]
        interactive = None
        if folder:
            interactive, data = self.report(folder, name)
            title, question = data['study']['title'] or title, data['study']['question'] or question
            if not published or data.get('findings'):
                sentences = self.sentences(data)
            if not published:
                claims = data['claims']
                environment = data['environment'][0] if data['environment'] else None
        body.append(f'<p class="above"><a href="{here("findings/index.html")}">Findings</a></p><h1>{escape(title)}</h1><p class="lead">{escape(question)}</p>')
        body.append('<div class="finding">' + ''.join(f'<p>{escape(s)}</p>' for s in sentences) + '</div>')
        if interactive:
            body.append(f'<p><a class="button" href="{here(interactive)}">Interactive page: figures, all runs</a> {note}</p>')
        if published and os.path.exists(os.path.join(published, 'figure.svg')):
            shutil.copy(os.path.join(published, 'figure.svg'), self.site.path(f'findings/{name}/figure.svg'))
            shutil.copy(os.path.join(published, 'cells.csv'), self.site.path(f'findings/{name}/cells.csv'))
            body.append(f'<figure><img class="paper" src="figure.svg" alt="The main figure of {escape(name)}"></figure><p><a href="cells.csv">The table behind it</a> (CSV, a row for each run).</p>')
        if claims:
            rows = ''.join(f'<tr><td>{escape(c["text"])}</td><td class="{"good" if c["verdict"] == "proved" else "bad"}">{escape(c["verdict"])}</td></tr>' for c in claims)
            body.append(f'<h2>Claims</h2><p>Each is an expression over the results, which every run of the study checks.</p><div class="scroll"><table><tr><th>claim</th><th>verdict</th></tr>{rows}</table></div>')
        body.append(f'<h2>Run it</h2><pre><code>./perp run {escape(name)}{" --set profile=full" if published else ""}</code></pre>')
        if environment:
            facts = ''.join(f'<dt>{escape(k)}</dt><dd>{escape(v if isinstance(v, str) else json.dumps(v))}</dd>' for k, v in environment.items())
            body.append(f'<h2>Environment</h2><details><summary>commit, compiler, processor, libraries</summary><dl>{facts}</dl></details>')
        self.site.write(page, title, ''.join(body))
        self.list.append((name, title, sentences[0] if sentences else '', page))

    def write(self, others):
        """others: shipped studies without results here: (name, title)"""
        page = 'findings/index.html'
        cards = ''.join(f'<article><h2><a href="{relative(page, target)}">{escape(title)}</a></h2><p>{escape(sentence)}</p></article>' for _, title, sentence, target in self.list)
        rest = ''.join(f'<li>{escape(title)} <code>perp run {escape(name)}</code></li>' for name, title in others)
        self.site.write(page, 'Findings', f'<h1>Findings</h1><p>What the studies found, in a sentence or two. Each leads to its figures and to all of its runs.</p><div class="cards">{cards}</div>'
                        + (f'<h2>Other studies that come with perp</h2><ul>{rest}</ul>' if rest else ''))


def named(text):
    """The name of a choice without its options: rk4 of "rk4:tol=1e-6"."""
    equal = text.find('=')
    return text if equal < 0 else text[:text.rfind(':', 0, equal)]
