#!/usr/bin/env python3
# cost.py PERP SOURCE OUT: work of `perp report`, counted, not timed.  A gnuplot that only counts its calls stands first in
# PATH: the page needs none of them, and is there before the first.
import os
import shutil
import subprocess
import sys

perp, source, out = sys.argv[1], sys.argv[2], os.path.join(sys.argv[3], 'cost')
count = 0


def ok(good, text):
    global count
    count += 1
    print(f'{"" if good else "not "}ok {count} - {text}', flush=True)


shutil.rmtree(out, ignore_errors=True)
os.makedirs(f'{out}/bin')
real = shutil.which('gnuplot')
if real is None:
    print('1..0 # SKIP gnuplot is not installed')
    sys.exit()
with open(f'{out}/bin/gnuplot', 'w') as f:
    f.write(f'#!/bin/sh\n[ -s "{out}/motion/report.json" ] && echo after >>"{out}/calls" || echo before >>"{out}/calls"\nexec {real} "$@"\n')
os.chmod(f'{out}/bin/gnuplot', 0o755)
env = dict(os.environ, PATH=f'{out}/bin:{os.environ["PATH"]}')


def run(*args):
    return subprocess.run([perp, *args], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def calls():
    try:
        return open(f'{out}/calls').read().split()
    except FileNotFoundError:
        return []


r = run('run', f'{source}/motion.yaml', '-o', f'{out}/motion')
ok(r.returncode == 0 and os.path.exists(f'{out}/motion/report.json'), 'a study runs and has a report')
ok(not calls() and not os.path.exists(f'{out}/motion/figs'), 'no figure is drawn for it')
for f in ('report.json', 'report.html'):
    if os.path.exists(f'{out}/motion/{f}'):
        os.remove(f'{out}/motion/{f}')
ok(run('report', f'{out}/motion').returncode in (0, 5) and not calls(), 'nor for `perp report` without --figs')
os.remove(f'{out}/motion/report.json')
ok(run('report', f'{out}/motion', '--figs', 'svg').returncode in (0, 5), 'with --figs svg they are drawn')
scripts = [f for f in os.listdir(f'{out}/motion/figs') if f.endswith('.gp')]
ok(len(calls()) == len(scripts) > 0, f'each once: {len(calls())} calls for {len(scripts)} figures')
ok(set(calls()) == {'after'}, 'the page is written before the first of them')
ok(len(scripts) <= 40, f'{len(scripts)} figures of {open(f"{out}/motion/plan.jsonl").read().count(chr(10))} runs')
r = run('report', f'{out}/motion', '--width', 'page')
ok(r.returncode == 2 and 'add --figs pdf' in r.stderr, 'a width without figures is refused')
print(f'1..{count}')
