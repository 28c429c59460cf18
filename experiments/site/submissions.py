# SPDX-License-Identifier: GPL-3.0-or-later
"""Submissions of others (perp submit) as pages of the site.  They are data: nothing of them is executed.  With a plug-in that
the caller names (--verify), its contract tests and a sample of the runs are done again here."""
import base64
import hashlib
import json
import os
import re
import shutil

import methods
import studies
import submit
from shell import escape, relative

SAMPLE = 5    # runs that are repeated
NEAR = 1e-6   # relative difference of a figure up to which another machine has the same result


def page_of_report(site, shared, page, back, data):
    """report.json of others as a page: with the script of this program and the policy that allows nothing else."""
    if data.get('schema') != 'perp-report/3' or shared.script is None:
        return False
    title = escape(data['study']['title'])
    hash_ = base64.b64encode(hashlib.sha256(shared.script.encode()).digest()).decode()
    text = json.dumps(data).replace('<', '\\u003c')
    with open(site.path(page), 'w') as f:
        f.write(f'''<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-{hash_}'; img-src data:; font-src data:; connect-src 'none'; form-action 'none'; base-uri 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="data:,">
</head>
<body>
<p><a href="{relative(page, back)}">← Back to the submission</a></p>
<script type="application/json" id="data">{text}</script>
<script>{shared.script}</script>
</body>
</html>
''')
    return True


def recorded(folder):
    """The last outcome of each run, of the journal."""
    found = {}
    for name in sorted(os.listdir(os.path.join(folder, 'journal'))):
        with open(os.path.join(folder, 'journal', name)) as f:
            for line in f:
                try:
                    event = json.loads(line)
                except ValueError:
                    continue
                if event.get('event') == 'cell':
                    found[event['cell']] = event
    return found


def verify(program, folder, s, plugin, scratch):
    """The contract and a sample of the runs, done again with the plug-in that the caller names."""
    here = json.loads(program.run('test', '--plugin', plugin, '--json'))
    names = {t['name'] for t in here}
    if not {p['name'] for p in s['plugins']} & names:
        return None
    copy = os.path.join(scratch, 'verify')
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(os.path.join(folder, 'results'), copy)
    with open(os.path.join(copy, 'plan.jsonl')) as f:
        lines = f.read().split('\n')
    head = json.loads(lines[0])
    head['plugins'] = f' --plugin {plugin}'
    cells = [json.loads(line) for line in lines[1:] if line.strip()]
    with open(os.path.join(copy, 'plan.jsonl'), 'w') as f:
        f.write('\n'.join([json.dumps(head)] + lines[1:]))
    with open(os.path.join(copy, 'study.yaml')) as f:
        text = f.read()
    text = re.sub(r'^plugins:\n(?:\s*- .*\n)+', lambda _: f'plugins:\n  - {json.dumps(plugin)}\n', text, count=1, flags=re.M)
    with open(os.path.join(copy, 'study.yaml'), 'w') as f:
        f.write(text)
    before = recorded(copy)
    own = [c['cell'] for c in cells if any(studies.named(str(v)) in names for v in c.values()) and c['cell'] in before]
    rows = []
    for cell in sorted(own, key=lambda c: hashlib.sha256(c.encode()).hexdigest())[:SAMPLE]:
        r = program.call('rerun', copy, cell, '--plugin', plugin, '--json', seconds=300)
        try:
            now = json.loads(r.stdout)
        except ValueError:
            rows.append((cell, before[cell]['status'], f'not run: {r.stderr.strip()[-120:]}', None))
            continue
        worst = 0.0
        for name, value in before[cell].get('values', {}).items():
            new = now['metrics'].get(name)
            if not name.startswith('time') and isinstance(value, (int, float)) and isinstance(new, (int, float)) and value != new:
                worst = max(worst, abs(value - new) / max(abs(value), abs(new)))
        rows.append((cell, before[cell]['status'], now['status'], 0.0 if now['same'] else worst))
    return here, rows


def add(site, program, shared, folder, s, plugin, scratch):
    """The page of one submission; (name, title, sentence, page) for the list."""
    name = 'submitted-' + re.sub(r'[^\w.-]', '-', '-'.join(p['name'] for p in s['plugins']) + '-' + str(s['study']))
    page = f'findings/{name}/index.html'
    with open(os.path.join(folder, 'report.json')) as f:
        data = json.load(f)
    title = f'{", ".join(p["name"] for p in s["plugins"])}: {data["study"]["title"]}'
    sentences = [f['text'] for f in data.get('findings', []) if f.get('lead')] or [a['text'] for a in data['answers'] if a['text']]
    body = [f'<p class="above"><a href="{relative(page, "findings/index.html")}">Findings</a></p><h1>{escape(title)}</h1>',
            f'<p class="lead">Submitted{" by " + escape(s["by"]) if s["by"] else ""} on {escape(s["made"])}. {escape(data["study"]["question"])}</p>',
            '<div class="finding">' + ''.join(f'<p>{escape(t)}</p>' for t in sentences) + '</div>']
    if page_of_report(site, shared, f'findings/{name}/report.html', page, data):
        body.append('<p><a class="button" href="report.html">Interactive page: figures, all runs</a></p>')
    if re.match(r'https?://', str(s['link'])):
        body.append(f'<p>Source: <a href="{escape(s["link"])}">{escape(s["link"])}</a></p>')
    checked = verify(program, folder, s, plugin, scratch) if plugin else None
    body.append('<h2>Verification</h2>')
    if checked is None:
        body.append('<p>Nothing of this submission was run here: its figures are as they were sent.</p>')
    else:
        here, rows = checked
        tests = '; '.join(f'{t["name"]}: {t["held"]} checks passed, {t["failed"]} failed' for t in here)
        good = sum(1 for _, a, b, worst in rows if a == b and worst is not None and worst <= NEAR)
        lines = ''.join(f'<tr><td><code>{escape(c)}</code></td><td>{escape(a)}</td><td>{escape(b)}</td><td>{"" if worst is None else "to the last bit" if worst == 0 else f"{worst:.1e}"}</td></tr>' for c, a, b, worst in rows)
        body.append(f'<p>Run again here: {good} of {len(rows)} runs have the same status and the same figures. Contract tests here: {escape(tests)}.</p>'
                    f'<div class="scroll"><table><tr><th>run</th><th>status as sent</th><th>status here</th><th>largest relative difference</th></tr>{lines}</table></div>')
    for p in s['plugins']:
        d, t = p['descriptor'], p['contract']
        body.append(f'<h2><code>{escape(p["name"])}</code> ({escape(p["kind"])})</h2>')
        if d:
            body.append(f'<p>{escape(d["summary"])}.</p>' + (methods.equation(p['kind'], d['equation']) if d.get('equation') else '') + f'<dl><dt>Source</dt><dd>{escape(d["reference"])}</dd></dl>')
        body.append(f'<p>Contract tests as sent: {escape(t["held"])} checks passed, {escape(t["failed"])} failed. Declared: {escape(t["declares"])}.</p>')
        if d:
            body.append(methods.options(d).replace('<h2>', '<h3>').replace('</h2>', '</h3>'))
        body.append(f'<p class="note">SHA-256 of {escape(p["file"])}: <code>{escape(p["sha256"])}</code></p>')
    facts = ''.join(f'<dt>{escape(k)}</dt><dd>{escape(v if isinstance(v, str) else json.dumps(v))}</dd>' for env in s['environment'] for k, v in env.items())
    body.append(f'<h2>Environment</h2><details><summary>perp {escape(s["perp"].get("version", ""))}, machine, compiler</summary><dl>{facts}</dl></details>')
    site.write(page, title, ''.join(body))
    return name, title, sentences[0] if sentences else '', page
