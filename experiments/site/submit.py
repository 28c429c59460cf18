#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""perp submit: a plug-in and its results as a folder that others can show (perp site) and check.  Called by the program:
submit.py -o DIR [--by TEXT] [--link URL] -- PROGRAM RESULTS.

  submission.json   who, perp, machine, descriptors of the plug-ins, results of their contract tests, sums of all files
  report.json       all that the page of the results shows
  results/          study.yaml, plan.jsonl, journal/, env/: data, no program"""
import argparse
import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SCHEMA = 'perp-submission/1'
KINDS = ('formulation', 'ode', 'kkt', 'lcp', 'stab', 'contact', 'joints', 'forces', 'scenes', 'metrics')
LISTED = {'joint': 'joints', 'force': 'forces', 'scene': 'scenes', 'metric': 'metrics'}  # of the contract tests -> of perp list


def fail(text, status):
    print(f'perp: error: {text}', file=sys.stderr)
    sys.exit(status)


def digest(path):
    with open(path, 'rb') as f:
        return hashlib.sha256(f.read()).hexdigest()


def files_of(folder):
    return sorted(os.path.relpath(os.path.join(d, f), folder) for d, _, files in os.walk(folder) for f in files)


def call(program, *args):
    r = subprocess.run([program, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if r.returncode not in (0, 10):
        fail(f'perp {" ".join(args)}: {r.stderr.strip()[-400:]}', 1)
    return r.stdout


def submit(program, results, out, by, link):
    try:
        with open(os.path.join(results, 'plan.jsonl')) as f:
            head = json.loads(f.readline())
    except (OSError, ValueError):
        fail(f'{results} is no folder of results: `perp run STUDY -o DIR` makes one', 3)
    plugins = re.findall(r'--plugin (\S+)', head.get('plugins') or '')
    if not plugins:
        fail(f'the runs of {results} use no plug-in; perp submit is for methods, engines or scenes of others', 2)
    missing = [p for p in plugins if not os.path.exists(p)]
    if missing:
        fail(f'{missing[0]}, which the runs used, is not there any more', 3)
    if os.path.exists(out) and os.listdir(out):
        fail(f'{out} has files already; name a new folder', 2)
    os.makedirs(os.path.join(out, 'results'), exist_ok=True)
    told, given = [], [a for p in plugins for a in ('--plugin', p)]
    for path in plugins:
        for test in json.loads(call(program, 'test', '--plugin', path, '--json')):
            kind = LISTED.get(test['kind'], test['kind'])
            described = next((d for d in json.loads(call(program, 'list', kind, '--json', '--plugin', path)) if d['name'] == test['name']), None) if kind in KINDS else None
            told.append({'kind': kind, 'name': test['name'], 'file': os.path.basename(path), 'sha256': digest(path), 'descriptor': described, 'contract': test})
    with tempfile.TemporaryDirectory(prefix='perp-submit-') as scratch:
        call(program, 'report', results, '-o', os.path.join(scratch, 'report.html'), *given)
        shutil.copy(os.path.join(scratch, 'report.json'), out)
    for name in ('study.yaml', 'plan.jsonl', 'reference.json'):
        if os.path.exists(os.path.join(results, name)):
            shutil.copy(os.path.join(results, name), os.path.join(out, 'results'))
    for name in ('journal', 'env'):
        shutil.copytree(os.path.join(results, name), os.path.join(out, 'results', name))
    environment = []
    for f in files_of(os.path.join(out, 'results/env')):
        with open(os.path.join(out, 'results/env', f)) as s:
            environment.append(json.load(s))
    with open(os.path.join(out, 'submission.json'), 'w') as f:
        json.dump({'schema': SCHEMA, 'by': by, 'link': link, 'made': datetime.datetime.now(datetime.timezone.utc).strftime('%Y-%m-%d'), 'study': head['study'], 'runs': head['cells'],
                   'perp': json.loads(call(program, 'version', '--json')), 'environment': environment, 'plugins': told, 'files': {p: digest(os.path.join(out, p)) for p in files_of(out) if p != 'submission.json'}}, f, indent=1)
        f.write('\n')


def read(folder):
    """A submission whose files are those that were sent; a text of what is wrong otherwise."""
    try:
        with open(os.path.join(folder, 'submission.json')) as f:
            s = json.load(f)
        if s['schema'] != SCHEMA:
            return f'{folder}: {s["schema"]} is not {SCHEMA}'
        have = {p for p in files_of(folder) if p != 'submission.json'}
        if have != set(s['files']):
            return f'{folder}: files that are not those of the submission: {", ".join(sorted(have ^ set(s["files"])))[:200]}'
        for p, sum_ in s['files'].items():
            if os.path.islink(os.path.join(folder, p)) or digest(os.path.join(folder, p)) != sum_:
                return f'{folder}: {p} was changed after the submission'
        for p in s['plugins']:
            if not isinstance(p['name'], str) or not re.fullmatch(r'[\w:.-]+', p['name']):
                return f'{folder}: a plug-in without a name'
        return s
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:
        return f'{folder}: no submission that can be read: {e}'


def main():
    p = argparse.ArgumentParser(prog='perp submit', add_help=False)
    p.add_argument('-o', '--output', required=True)
    p.add_argument('--by', default='')
    p.add_argument('--link', default='')
    p.add_argument('program')
    p.add_argument('results')
    a = p.parse_args()
    submit(a.program, a.results, a.output, a.by, a.link)
    print(a.output)


if __name__ == '__main__':
    main()
