#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""perp why: planted causes are found by measurement, each fix that it reports is run again by
perp simulate or perp lcp solve, healthy runs have no cause, and figures agree with closed forms."""
import functools
import json
import math
import os
import random
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'python'))
from tap import done, ok

PERP = os.environ['PERP_BIN']
# Each cause at least twice, on different scenes, formulations and solvers.  Two names: both were planted.
PLANTED = [
    ('four-bar --formulation radau5 --h 10ms --t-end 2s', ['singular-jacobian']),
    ('four-bar --formulation acceleration --ode rk4 --kkt schur-cg --t-end 2s', ['singular-jacobian']),
    ('sarrus --formulation acceleration --ode rk4 --stab none --t-end 1s', ['singular-jacobian']),
    ('psd.lcp --lcp pdas', ['singular-jacobian']),
    ('crush --t-end 0.2s', ['infeasible-contacts']),
    ('crush:dim=2 --formulation acceleration', ['infeasible-contacts']),
    ('vice.yaml --lcp dantzig --contact frictionless', ['infeasible-contacts']),
    ('spring --h 0.5s', ['unstable-step']),
    ('oscillator --ode rk4 --h 3s', ['unstable-step']),
    ('chain:links=6 --stab baumgarte:alpha=1e4 --t-end 0.3s', ['unstable-step']),
    ('flyball --formulation acceleration --ode rk4 --h 10ms --t-end 0.3s', ['stiffness']),
    ('double-pendulum --formulation penalty:stiffness=1e7 --h 1ms --t-end 1s', ['stiffness']),
    ('car-axis --ode euler --h 10ms', ['stiffness']),
    ('chain:links=6 --stab none', ['drift']),
    ('bead --formulation acceleration --ode heun --stab none --h 50ms', ['drift']),
    ('four-bar --kkt schur-cg:max_iter=2 --t-end 1s', ['budget']),
    ('wall --lcp apgd:max_iter=4 --t-end 0.1s', ['budget']),
    ('bricard --formulation generalized-alpha:iterations=2 --t-end 0.5s', ['budget']),
    ('stack:boxes=20 --lcp dantzig --memory 300kB --t-end 0.1s', ['budget']),
    ('chain:links=6 --timeout 1ms', ['budget']),
    ('stack.lcp --lcp jacobi:max_iter=5', ['budget']),
    ('mass-ratio:ratio=1e6 --lcp pgs:max_iter=100 --t-end 2ms', ['bad-scaling']),
    ('scaled5.mtx --lcp jacobi', ['bad-scaling']),
    ('scaled.mtx --lcp dantzig', ['bad-scaling']),
    ('chain:links=6 --stab none --kkt schur-cg:max_iter=1', ['budget', 'drift']),
    ('chain:links=6 --stab baumgarte:alpha=1e4 --kkt schur-cg:max_iter=1 --t-end 0.4s', ['budget', 'unstable-step']),
    ('double-pendulum --ode euler --formulation acceleration --stab none --h 5ms --t-end 2s', ['drift', 'coarse-step']),
]
HEALTHY = ['pendulum', 'double-pendulum', 'chain', 'bricard --formulation radau5 --t-end 1s', 'stack:boxes=4 --lcp dantzig',
           'bouncing-ball', 'rolling-sphere', 'car-axis', 'four-bar --formulation ggl --t-end 2s', 'mass-ratio', 'painleve',
           'chain:links=6 --formulation acceleration --ode rk4 --stab post', 'oscillator --ode verlet', 'jam', 'soft', 'stack.lcp']


def run(words, command='why'):
    words = shlex.split(words) if isinstance(words, str) else words
    r = subprocess.run([PERP, *shlex.split(command), *words], capture_output=True, text=True)
    return r.returncode, r.stdout, r.stderr


@functools.cache  # some are asked twice
def why(words):
    code, out, err = run(words + ' --json')
    if out == '':
        print('#', err.strip())
    return code, json.loads(out) if out else {}


def write_scaled(path, n=8, seed=3):
    rng = random.Random(seed)
    g = [[rng.gauss(0, 1) for _ in range(n)] for _ in range(n)]
    s = [[sum(g[i][k] * g[j][k] for k in range(n)) + (0.1 if i == j else 0) for j in range(n)] for i in range(n)]
    d = [10 ** rng.uniform(-8, 8) for _ in range(n)]
    b = [d[i] * rng.gauss(0, 1) for i in range(n)]
    rows = [[d[i] * s[i][j] * d[j] for j in range(n)] + [b[i]] for i in range(n)]
    with open(path, 'w') as f:
        f.write('%%%%MatrixMarket matrix array real general\n%d %d\n' % (n, n + 1))
        f.writelines('%.17g\n' % rows[i][j] for j in range(n + 1) for i in range(n))


VICE = '''schema: perp-scene/1
scene: { summary: Work that is wider than the vice, dim: 2, t_end: 0.1 s, h: 1 ms, size: 1 m, dissipative: true }
bodies:
  - { name: work, mass: 2, x: [0, 0], shape: { kind: box, size: [0.8 m, 1 m] } }
  - { name: anvil, mass: 5, x: [0, -0.59], shape: { kind: box, size: [1 m, 0.2 m] } }
  - { name: jaw, mass: 5, x: [0, 0.58], shape: { kind: box, size: [1 m, 0.2 m] } }
joints:
  - { kind: fixed, a: world, b: anvil, at: [0, -0.59] }
  - { kind: fixed, a: world, b: jaw, at: [0, 0.58] }
'''
STUDY = '''schema: perp-study/1
study: { name: s, title: Two stabilizations, question: Which drifts?, seed: 1 }
limits: { timeout: 30 s }
grid: { scene: ["chain:links=6"], stab: [none, "post:velocity=true"] }
'''

PROBLEMS = '''schema: perp-study/1
kind: lcp
study: { name: l, title: Two solvers, question: Why does it fail?, seed: 1 }
problems: { generate: { family: psd, n: 20 } }
grid: { lcp: [pdas, "pgs:max_iter=3"] }
'''

os.chdir(tempfile.mkdtemp())
write_scaled('scaled.mtx')
write_scaled('scaled5.mtx', 5)  # of 8 rows jacobi takes seconds, and is told the same
run('psd --n 20 -o psd.lcp', 'lcp generate')
run('stack --n 64 -o stack.lcp', 'lcp generate')
open('vice.yaml', 'w').write(VICE)

found = 0
for words, causes in PLANTED:
    code, d = why(words)
    named = [c['cause'] for c in d.get('causes', [])]
    ok(d.get('failed') and all(c in named for c in causes), f'{words}: {", ".join(causes)}; named {named}')
    found += all(c in named for c in causes)
    ok(code == 0 and d['fixed'], f'{words}: a fix was found, status {code}')
    # the fix, by the command that it names: it ends with status 0, and nothing is left unsolved
    command = d.get('works', '').split('  #')[0]
    again = subprocess.run([PERP, *shlex.split(command)[1:], '--json'], capture_output=True, text=True)
    ok(again.returncode == 0, f'{command}: status {again.returncode} {again.stderr.strip()[:200]}')
print(f'# {found} of {len(PLANTED)}')

for words in HEALTHY:
    code, d = why(words)
    ok(code == 0 and not d['failed'] and d['causes'] == [] and d['unfixed'] == [], f'{words}: did not fail')

# closed forms: symplectic Euler with h omega = 5, and RK4 at 3 i
_, d = why('spring --h 0.5s')
size = (23 + math.sqrt(23 * 23 - 4)) / 2
got = d['evidence']['linearized']
ok(abs(got['eigenvalue'] / size - 1) < 1e-4, f'symplectic Euler: {got["eigenvalue"]} {size}')
ok(abs(got['rate_fastest'] / 10 - 1) < 1e-3, f'the rate of the spring: {got["rate_fastest"]}')
_, d = why('oscillator --ode rk4 --h 3s')
z = 3j
size = abs(1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24)
got = d['evidence']['linearized']['eigenvalue']
ok(abs(got / size - 1) < 1e-4, f'RK4: {got} {size}')
# a loop with one redundant row, and its rank at a singular position; rank n / 2; whose contacts
_, d = why('sarrus --formulation acceleration --ode rk4 --stab none --t-end 1s')
got = d['evidence']['jacobian']
ok(got['rows'] == 30 and got['rank_most'] == 29 and got['sine_at_failure'] < 0.02, f'rank of Sarrus: {got}')
_, d = why('psd.lcp --lcp pdas')
ok('rank 10 with 20 rows' in d['causes'][0]['says'], d['causes'][0]['says'])
_, d = why('vice.yaml --lcp dantzig --contact frictionless')
pairs = d['evidence']['contacts']['pairs']
ok({'work and anvil', 'work and jaw'} <= set(pairs) and d['evidence']['contacts']['without_solution'] > 0, f'pairs {pairs}')

# a problem without a solution has a cause and no fix, whatever the solver
run('infeasible --n 12 -o infeasible.lcp', 'lcp generate')
for solver in ['lemke', 'pgs:max_iter=200', 'murty']:
    code, d = why('infeasible.lcp --lcp ' + solver)
    named = [c['cause'] for c in d['causes']]
    ok(code == 10 and named == ['infeasible-contacts'] and not d['fixed'], f'infeasible by {solver}: {code} {named}')

# limits of the user
code, d = why('pendulum --limit err.q.max=1e-4 --t-end 2s')
ok(code == 0 and d['failed'] and [c['cause'] for c in d['causes']] == ['coarse-step'], 'a limit of the user')
# a run of a study, in its limits
open('s.yaml', 'w').write(STUDY)
code, out, err = run('s.yaml -o folder', 'run')
ok(code == 0, f'a study: {code} {err.strip()[:200]}')
cells = [json.loads(line) for line in open('folder/plan.jsonl')][1:]
for cell in cells:
    code, d = why('folder ' + cell['cell'][:8])
    named = [c['cause'] for c in d['causes']]
    ok(code == 0 and named == (['drift'] if cell['stab'] == 'none' else []), f'{d["run"]}: {named}')
ok(len(cells) == 2, f'{len(cells)} runs of a study')
open('l.yaml', 'w').write(PROBLEMS)
code, out, err = run('l.yaml -o problems', 'run')
cells = [json.loads(line) for line in open('problems/plan.jsonl')][1:]
for cell in cells:
    code, d = why('problems ' + cell['cell'][:8])
    named = [c['cause'] for c in d['causes']]
    ok(code == 0 and named == ['singular-jacobian' if cell['lcp'] == 'pdas' else 'budget'], f'{d["run"]}: {named}')
    again = subprocess.run(d['works'].replace('perp ', PERP + ' '), shell=True, capture_output=True, text=True)
    ok(again.returncode == 0, f'{d["works"]}: {again.returncode} {again.stderr.strip()[:200]}')
ok(len(cells) == 2, f'{len(cells)} problems of a study')
code, out, err = run('pendulum')
ok(code == 0 and max(map(len, out.splitlines())) <= 80 and 'did not fail' in out, 'healthy, as text')
code, out, err = run('chain:links=6 --stab none')
ok(code == 0 and max(map(len, out.splitlines())) <= 80 and 'cause 1' in out and 'works' in out, 'as text in 80 columns')
for words, status, part in [('nothing', 2, 'nothing'), ('stack.lcp --h 1ms', 2, '--h has no effect'),
                            ('pendulum --equilibrate', 2, '--equilibrate'), ('pendulum --limit x=1', 2, 'no metric x'),
                            ('missing.lcp', 3, 'missing.lcp'), ('pendulum --lcp dantzig', 2, 'no effect')]:
    code, out, err = run(words)
    ok(code == status and part in err and out == '', f'{words}: {code}, {err.strip()[:160]}')
done()
