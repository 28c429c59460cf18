#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A solver in Python: the template through contract tests, lists, studies and simulations, and files that misbehave, each of
which costs its cells and nothing else."""
import csv
import json
import os
import pathlib
import re
import tempfile
import time

import perp as package
from tap import done, ok, perp, raises

HEAD = '''import os, sys, time
import numpy as np
from perp.plugin import *
@lcp("mine", summary="one of the tests", reference="none", declares=["box", "free", "semidefinite"],
     options=[Real("omega", 1.5, 0, 2, "x", open="both"), Int("k", 3, 0, 9, "x"), Bool("b", True, "x"),
              Enum("e", "two", ["one", "two"], "x"), Text("t", "a word", "x"), Real("time", 2, unit="s", help="x")],
     serves="nothing", ties="no ties", cost="nothing", counts="nothing")
def solve(p, x, opt):
'''
STUDY = '''schema: perp-study/1
kind: lcp
study: { name: mine }
problems: { generate: [ { family: spd, n: 8 } ] }
grid: { lcp: [mine, dantzig] }
accept: { targets: [1e-8] }
measure: { repeats: 1 }
limits: { timeout: 30 s, memory: 1 GiB }
metrics: { primary: time.cpu, record: [rel, iterations, work.counted] }
'''
SLIDE = '''schema: perp-study/1
study: { name: slide }
t_end: 20 ms
contact: frictionless
grid: { scene: "stack:boxes=1", lcp: [mine, dantzig] }
measure: { repeats: 0 }
metrics: { primary: steps, record: [steps] }
'''
DIRECT = '    return Answer(np.linalg.solve(p.A, -p.b), "exact", iterations=2, work=3.5)\n'
SWEEPS = '''    for sweep in range(2000):
        for i in range(p.n):
            x[i] = max(0, x[i] - (p.A[i] @ x + p.b[i]) / p.A[i, i])
    return Answer(x, "converged", iterations=2000, work=2000.0 * p.n * p.n)
'''


def write(body, head=HEAD):
    pathlib.Path('mine.py').write_text(head + body)


def cells(folder):
    with open(f'{folder}/derived/cells.csv', newline='', encoding='utf-8') as f:
        return list(csv.DictReader(f))


def solved(name, *options):
    """`perp lcp solve` of a problem of two rows: (status, what it says as JSON, stderr)."""
    status, out, err = perp('lcp', 'solve', 'two.json', '--lcp', ':'.join([name, *options]), '--json', '--plugin', './mine.py')
    return status, json.loads(out) if out.strip() else {}, err


def refused(body, says, what, head=HEAD):
    write(body, head)
    status, out, err = perp('list', 'lcp', '--plugin', './mine.py')
    ok(status == 3 and says in err and err.count('\n') == 1 and not out, f'refused: {what}', f'status {status}', out, err)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    pathlib.Path('two.json').write_text('{"n":2,"A":[[2,1],[1,2]],"b":[-5,-6]}')

    # ---- the template
    status, out, err = perp('new', 'plugin', 'lcp', '--language', 'python', '--name', 'my-py')
    ok(status == 0 and sorted(os.listdir('my-py')) == ['README.md', 'my-py.py', 'study.yaml'], 'perp new plugin --language python', err)
    status, out, err = perp('new', 'plugin', 'ode', '--language', 'python')
    ok(status == 2 and 'Python is available for kind lcp only' in err, 'of another kind: refused', err)
    status, out, err = perp('test', '--plugin', './my-py/my-py.py', '--json')
    told = json.loads(out)[0] if status in (0, 10) else {}
    ok(status == 0 and told['held'] >= 30 and told['failed'] == 0 and told['complete'], 'the contract tests hold', status, out[:2000], err)
    status, out, err = perp('list', 'lcp', '--plugin', './my-py/my-py.py')
    ok(status == 0 and re.search('^my-py +Projected', out, re.M), 'it is listed', out[-300:], err)
    ok(package.info('my-py', plugins='my-py/my-py.py')['options'][0]['range'] == '(0, 2)' and
       'my-py' in package.list('lcp', plugins=['my-py/my-py.py']), 'the package knows plug-ins as well')
    status, out, err = perp('run', 'my-py/study.yaml', '--plugin', './my-py/my-py.py', '-o', 'r', '--no-report', '-q', '--set',
                            'problems.generate=[{family: [spd, boxed], n: 8}]', '--set', 'grid.lcp=[my-py, dantzig]', '--set',
                            'measure.repeats=1')
    rows = cells('r') if status == 0 else []
    ok([r['status'] for r in rows] == ['ok'] * 4 and all(float(r['rel']) <= 1e-8 for r in rows if r['lcp'] == 'my-py'),
       'it stands in a study, judged as all', status, err, rows)
    s = package.simulate('stack:boxes=1', lcp='my-py', t_end=0.02, plugins='my-py/my-py.py')
    ok(s and s.parts['lcp'] == 'my-py' and s.record['lcp']['by'] == {'my-py': s.record['lcp']['solved']}, 'it serves a simulation', s)

    # ---- what it is given and what it hands back
    write('    assert (opt.omega, opt.k, opt.b, opt.e, opt.t, opt.time) == (1.25, 4, False, "one", "other", 0.5), opt\n'
          '    assert p.A.tolist() == [[2, 1], [1, 2]] and p.b.tolist() == [-5, -6] and p.hi.tolist() == [np.inf] * 2\n' + DIRECT)
    status, j, err = solved('mine', 'omega=1.25,k=4,b=false,e=one,t=other,time=500ms')
    ok(status == 0 and j['iterations'] == 2 and j['work'] == 3.5 and abs(j['lambda'][0] - 4 / 3) < 1e-12,
       'options of all types, the problem, counts', j, err)
    write('    end = time.process_time() + 0.05\n    while time.process_time() < end: pass\n' + DIRECT)
    status, j, err = solved('mine')
    ok(status == 0 and 0.05 <= j['seconds'] < 0.5, 'its CPU time is charged', j, err)
    write('    print("a word"); sys.stdout.flush()\n' + DIRECT)
    status, out, err = perp('lcp', 'solve', 'two.json', '--lcp', 'mine', '--plugin', './mine.py')
    ok(status == 0 and 'a word' in out, 'what it prints does not meet its answers', out, err)
    write('    return Answer(np.zeros(p.n), "converged")\n')
    status, j, err = solved('mine')
    ok(status == 10 and j['reason'] == 'inaccurate', 'it does not judge itself', j)

    # ---- a study that names it is one file to run, in any folder
    write(SWEEPS)
    os.makedirs('own', exist_ok=True)
    os.environ['XDG_STATE_HOME'] = folder + '/state'
    pathlib.Path('own/study.yaml').write_text(STUDY + 'plugins: [../mine.py]\n')
    status, out, err = perp('run', 'own/study.yaml', '-o', 'own/r', '-q')
    rows = {r['lcp']: r for r in cells('own/r')} if status == 0 else {}
    ok(rows and rows['mine']['status'] == 'ok' and pathlib.Path('own/r/report.html').exists(), 'a study with plugins: [../mine.py] runs',
       status, out, err)
    for words in [('status', 'own/r'), ('report', 'own/r'), ('check', 'own/study.yaml'), ('plan', 'own/study.yaml'),
                  ('rerun', 'own/r', rows['mine']['cell']), ('answer', 'own/r')] if rows else []:
        status, out, err = perp(*words)
        ok(status == 0, f'perp {words[0]} needs no --plugin', status, out, err)
    write('    a lie\n')
    status, out, err = perp('run', 'own/study.yaml', '-o', 'own/r', '-q')
    ok(status == 3 and err.startswith('own/study.yaml:10:') and 'mine.py:9' in err and err.count('error') == 1,
       'a file that is no Python: the line of the study, and its own', status, out, err)

    # ---- cells of a study
    pathlib.Path('study.yaml').write_text(STUDY)
    pathlib.Path('slide.yaml').write_text(SLIDE)
    misbehaves = [
        ('raise ValueError("no such luck")', 'crash', 'mine.py:9: ValueError: no such luck', 'raises an exception'),
        ('x[p.n] = 1', 'crash', 'mine.py:9: IndexError', 'writes behind x'),
        ('os._exit(3)', 'crash', 'its Python process ended with status 3', 'ends its process'),
        ('sys.exit("enough")', 'crash', 'mine.py:9: SystemExit: enough', 'exits'),
        ('os.kill(os.getpid(), 11)', 'crash', 'ended by signal 11', 'crashes'),
        ('while True: pass', 'timeout', 'time limit', 'never ends'),
        ('np.ones(10**9)', 'oom', 'mine.py:9: MemoryError', 'takes more memory than there is'),
        ('return 3', 'crash', 'must return a perp.plugin.Answer', 'returns no answer'),
        ('return Answer(np.ones(1), "exact")', 'crash', 'x must have 8 numbers', 'returns too few numbers'),
        ('return Answer(x, "fine")', 'crash', 'reason must be one of converged', 'has a reason of its own'),
        ('return Answer(x, "exact", iterations=-1)', 'crash', 'must be counts', 'counts backwards'),
        ('return Answer(x * np.nan, "exact")', 'unsolved', '', 'answers NaN'),
    ]
    for i, (line, expected, says, what) in enumerate(misbehaves):
        write(f'    {line}\n')
        began = time.time()
        status, out, err = perp('run', 'study.yaml', '--plugin', './mine.py', '-o', f'm{i}', '--no-report', '-q',
                                *(['--timeout', '2s'] if expected == 'timeout' else []))
        rows = {r['lcp']: r for r in cells(f'm{i}')}
        ok(rows['mine']['status'] == expected and says in rows['mine']['cause'] and rows['dantzig']['status'] == 'ok',
           f'a cell that {what}: {expected}; the other is ok', status, out, err, rows)
        if i == 0:
            shown = perp('show', 'm0', rows['mine']['cell'], '--plugin', './mine.py')[1]
            ok('Traceback' in shown and 'raise ValueError("no such luck")' in shown, 'perp show has its traceback', shown)
    write('    x = x\n    raise ValueError("no such luck")\n')
    raises(package.Error, 'mine.py:10: ValueError: no such luck', lambda: package.simulate(
        'stack:boxes=1', lcp='mine', t_end=0.02, contact='frictionless', plugins='mine.py'), 'a simulation that fails says why')
    status, out, err = perp('run', 'slide.yaml', '--plugin', './mine.py', '-o', 'slide', '--no-report', '-q')
    rows = {r['lcp']: r for r in cells('slide')}
    ok(rows['mine']['status'] == 'crash' and 'no such luck' in rows['mine']['cause'] and rows['dantzig']['status'] == 'ok',
       'a cell of a simulation whose solver raises an exception: crash', status, out, err, rows)

    def running(p):
        try:
            return (folder + '/mine.py').encode() in p.read_bytes()
        except OSError:
            return False  # it has ended

    left = [p for p in pathlib.Path('/proc').glob('[0-9]*/cmdline') if running(p)]
    ok(not left, 'no Python is left behind', *left)

    # ---- files that are none
    refused('    return (\n', "mine.py:9: SyntaxError: '(' was never closed", 'a syntax error')
    refused(DIRECT + 'undefined\n', "mine.py:10: NameError: name 'undefined' is not defined", 'an exception')
    refused('', 'declares no solver', 'no solver', '')
    refused(DIRECT, "cannot declare 'factored'", 'a capability that it cannot have', HEAD.replace('"box"', '"factored"'))
    refused(DIRECT, "a lcp 'lemke' exists already", 'a name that exists', HEAD.replace('"mine"', '"lemke"'))
    refused(DIRECT, 'outside of its range', 'a default outside of its range', HEAD.replace('"omega", 1.5', '"omega", 2.5'))
    refused(DIRECT, 'lower-case letters', 'a name that is none', HEAD.replace('"mine"', '"Mine"'))
    refused('', 'takes too long to load', 'never ends', 'while True: pass\n')
    write(DIRECT)
    os.environ['PERP_PYTHON'], mine = 'no-such-python', os.environ.get('PERP_PYTHON', 'python3')
    status, out, err = perp('list', 'lcp', '--plugin', './mine.py')
    ok(status == 3 and 'cannot run no-such-python; set PERP_PYTHON to another Python' in err and err.count('\n') == 1,
       'refused: no Python', status, err)
    os.environ['PERP_PYTHON'] = mine
    os.chdir('/')
done()
