#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Methods in Python: the template through contract tests, lists, studies and simulations; integrators, contact laws and metrics in
studies; and files that misbehave, each of which costs its cells and nothing else."""
import csv
import json
import os
import pathlib
import re
import tempfile

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
KINDS = '''import numpy as np
from perp.plugin import Answer, Real, contact, lcp, metric, ode

@ode('own-rk4', order=4, stages=4, summary='of a test', reference='none', equation='x', options=[Real('one', 1.0, 0, 2, 'x')])
def rk4(system, t, h, q, v, opt):
    k1 = system.deriv(t, q, v, regular=True)
    k2 = system.deriv(t + h / 2, q + h / 2 * k1[0], v + h / 2 * k1[1])
    k3 = system.deriv(t + h / 2, q + h / 2 * k2[0], v + h / 2 * k2[1])
    k4 = system.deriv(t + h, q + h * k3[0], v + h * k3[1])
    return (system.project(q + opt.one * h / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])),
            v + h / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1]))

@ode('own-heun', order=2, stages=2, error_order=1, summary='of a test', reference='none', equation='x')
def heun(system, t, h, q, v, opt):
    k1 = system.deriv(t, q, v, regular=True)
    k2 = system.deriv(t + h, q + h * k1[0], v + h * k1[1])
    err = np.concatenate([h / 2 * (k2[i] - k1[i]) for i in (0, 1)])
    return system.project(q + h / 2 * (k1[0] + k2[0])), v + h / 2 * (k1[1] + k2[1]), err

@contact('own-box', friction=True, summary='of a test', reference='none', equation='x')
def law(island, x, opt):
    for k in range(5000):
        old = x.copy()
        for c in range(island.nc):
            n = island.r * c
            x[n] = max(island.lo[n], x[n] - (island.A[n] @ x + island.b[n]) / island.A[n, n])
            for i in range(n + 1, n + island.r):
                x[i] = np.clip(x[i] - (island.A[i] @ x + island.b[i]) / island.A[i, i], -island.mu[c] * x[n], island.mu[c] * x[n])
        for i in range(island.r * island.nc, island.n):
            x[i] = np.clip(x[i] - (island.A[i] @ x + island.b[i]) / island.A[i, i], island.lo[i], island.hi[i])
        if abs(x - old).max() <= 1e-14 * abs(x).max():
            break
    return Answer(x, 'converged', iterations=k + 1)

@metric('own-low', unit='m', better='less', summary='Lowest position', reference='none')
def low(run):
    assert len(run.t) == len(run.q) == len(run.v) == run.figures['steps'] + 1 and run.t[0] == 0
    return run.q[:, 2].min() if run.q.shape[1] > 2 else np.nan

@metric('own-drift', unit='m', better='less', summary='The drift once more', reference='none', motion=False)
def drift(run):
    assert len(run.t) == 0
    return run.figures['drift.pos.max']

@lcp('own-sweeps', summary='of a test', reference='none', declares=['box', 'free', 'friction', 'semidefinite', 'iterative', 'warm-start'],
     serves='symmetric semidefinite A', ties='there are none', cost='n^2 a sweep', counts='the sweeps')
def sweeps(p, x, opt):
    for k in range(3000):
        for i in range(p.n):
            if p.A[i, i] <= 0:
                return Answer(x, 'unsuited')
            x[i] -= (p.A[i] @ x + p.b[i]) / p.A[i, i]
            x = p.clamp(x)
        if p.merit(x) <= p.tol:
            return Answer(x, 'converged', iterations=k + 1)
    return Answer(x, 'max-iter', iterations=k)
'''
OF_KINDS = '''schema: perp-study/1
study: { name: kinds }
plugins: [kinds.py]
t_end: 50 ms
measure: { repeats: 0 }
metrics: { primary: own-low, record: [own-low, own-drift, drift.pos.max, err.tip.max, steps] }
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

    # ---- integrators, contact laws and metrics
    pathlib.Path('kinds.py').write_text(KINDS)
    status, out, err = perp('test', '--plugin', './kinds.py', '--json', '--timeout', '280s', timeout=900)
    told = {t['name']: t for t in json.loads(out)} if status in (0, 10) else {}
    ok(status == 0 and len(told) == 6 and all(t['held'] >= 20 and t['failed'] == 0 and t['complete'] for t in told.values()),
       'the contract tests of all four kinds hold', status, told, err)
    pathlib.Path('ode.yaml').write_text(
        OF_KINDS + 'formulation: acceleration\nh: 1 ms\ngrid: { scene: "chain:links=3", ode: [rk4, own-rk4, "own-rk4:one=1.01", "own-heun:tol=1e-6"] }\n')
    status, out, err = perp('run', 'ode.yaml', '-o', 'ode', '-q', '--no-report')
    rows = {r['ode']: r for r in cells('ode')} if status == 0 else {}
    ok(rows and all(r['status'] == 'ok' for r in rows.values()), 'integrators in Python stand in a study', status, out, err)
    if rows:
        mine, its = rows['own-rk4'], rows['rk4']
        ok(abs(float(mine['err.tip.max']) - float(its['err.tip.max'])) < 1e-13 and mine['steps'] == its['steps'], 'the same steps as rk4', mine, its)
        ok(float(rows['own-rk4:one=1.01']['err.tip.max']) > 1e-6 and float(rows['own-heun:tol=1e-06']['err.tip.max']) < 1e-6, 'options, an error estimate', rows)
        ok(all(r['own-drift'] == r['drift.pos.max'] and float(r['own-low']) < -0.005 for r in rows.values()), 'metrics in Python: of figures, of the motion', rows)
    pathlib.Path('law.yaml').write_text(OF_KINDS.replace('own-low, own-drift, drift.pos.max, err.tip.max, steps', 'own-low, lcp.solved') +
                                        'grid: { scene: "stack:boxes=2", contact: [box, own-box] }\n')
    status, out, err = perp('run', 'law.yaml', '-o', 'law', '-q', '--no-report')
    rows = {r['contact']: r for r in cells('law')} if status == 0 else {}
    ok(rows and all(r['status'] == 'ok' and r['lcp.solved'] == '1' for r in rows.values()) and
       abs(float(rows['own-box']['own-low']) - float(rows['box']['own-low'])) < 1e-9, 'a contact law in Python stands in a study', status, err, rows)
    s = package.simulate('stack:boxes=2', formulation='acceleration', ode='own-heun', lcp='own-sweeps', t_end=0.02, plugins='kinds.py')
    ok(s and s.record['lcp']['by'] == {'own-sweeps': s.record['lcp']['solved']}, 'an integrator asks for derivatives that a solver of the same file finds', s)
    fails = [('raise LookupError("no such luck")', 'kinds.py:6: LookupError: no such luck'), ('return q[:1], v', 'q must have 21 numbers'),
             ('return system.deriv(t, q[:1], v)', 'q must have 21 numbers'), ('return q', 'a step must return (q, v)')]
    choice = ''.join(f'    if opt.one == {i}: {line}\n' for i, (line, _) in enumerate(fails))
    pathlib.Path('kinds.py').write_text(KINDS.replace("1.0, 0, 2, 'x'", "1.0, 0, 9, 'x'").replace('    k1 = system', choice + '    k1 = system', 1))
    names = [f'own-rk4:one={i}' for i in range(len(fails))]
    status, out, err = perp('run', 'ode.yaml', '-o', 'fails', '-q', '--no-report', '--set', f'grid.ode=[{", ".join(map(json.dumps, names))}, "own-heun:tol=1e-6"]')
    rows = {r['ode']: r for r in cells('fails')}
    for i, ((line, says), name) in enumerate(zip(fails, names)):
        says = says.replace(':6:', f':{6 + i}:')
        row = rows['own-rk4' if i == 1 else name]  # the default is not written
        ok(row['status'] == 'crash' and says in row['cause'] and rows['own-heun:tol=1e-06']['status'] == 'ok',
           f'an integrator with "{line}": crash; others are ok', status, err, row)
    for line, says in (('raise LookupError("no such luck")', 'LookupError: no such luck'), ('return np.inf', 'got inf'), ('return "x"', 'ValueError')):
        pathlib.Path('kinds.py').write_text(KINDS.replace("    assert len(run.t) == 0\n", f'    {line}\n'))
        status, out, err = perp('simulate', 'pendulum', '--t-end', '0.01s', '--plugin', './kinds.py')
        ok(status != 0 and says in err, f'a metric with "{line}": an error', status, out, err)

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
    choice = ''.join(f'    if opt.k == {i}:\n        {line}\n' for i, (line, *_) in enumerate(misbehaves))
    write(choice, HEAD.replace('Int("k", 3, 0, 9, "x")', f'Int("k", {len(misbehaves)}, 0, 99, "x")'))
    rows = {}
    for limit, ends in [('30s', True), ('0.4s', False)]:  # the short limit only where it is met: Pythons that start take time
        names = [f'"mine:k={i}"' for i, (_, expected, *_) in enumerate(misbehaves) if (expected != 'timeout') == ends]
        status, out, err = perp('run', 'study.yaml', '--plugin', './mine.py', '-o', f'm{limit}', '--no-report', '-q', '--set',
                                f'grid.lcp=[{", ".join(names)}, dantzig]', '--timeout', limit)
        both = cells(f'm{limit}')
        rows.update({r['lcp']: r for r in both if r['lcp'] not in rows or r['status'] != 'ok'})
    for i, (line, expected, says, what) in enumerate(misbehaves):
        row = rows[f'mine:k={i}']
        ok(row['status'] == expected and says.replace(':9:', f':{10 + 2 * i}:') in row['cause'] and rows['dantzig']['status'] == 'ok',
           f'a cell that {what}: {expected}; the other is ok', status, out, err, row)
        if i == 0:
            shown = perp('show', 'm30s', row['cell'], '--plugin', './mine.py')[1]
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
    refused('', 'declares no method', 'no method', '')
    refused(DIRECT, "cannot declare 'factored'", 'a capability that it cannot have', HEAD.replace('"box"', '"factored"'))
    refused(DIRECT, "a lcp 'lemke' exists already", 'a name that exists', HEAD.replace('"mine"', '"lemke"'))
    refused(DIRECT, 'outside of its range', 'a default outside of its range', HEAD.replace('"omega", 1.5', '"omega", 2.5'))
    refused(DIRECT, 'lower-case letters', 'a name that is none', HEAD.replace('"mine"', '"Mine"'))
    refused('', 'takes too long to load', 'never ends', 'import time; time.sleep(60)\n')
    write(DIRECT)
    os.environ['PERP_PYTHON'], mine = 'no-such-python', os.environ.get('PERP_PYTHON', 'python3')
    status, out, err = perp('list', 'lcp', '--plugin', './mine.py')
    ok(status == 3 and 'cannot run no-such-python; set PERP_PYTHON to another Python' in err and err.count('\n') == 1,
       'refused: no Python', status, err)
    os.environ['PERP_PYTHON'] = mine
    os.chdir('/')
done()
