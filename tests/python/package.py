#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python package: lcp, simulate, run, load, list, info.  With the argument `plain` as where there is neither numpy nor
pandas."""
import math
import os
import pathlib
import sys
import tempfile

from tap import done, ok, raises, skip

plain = 'plain' in sys.argv
if plain:
    sys.modules['numpy'] = sys.modules['pandas'] = None  # import fails
import perp  # noqa: E402

inf = math.inf


def close(x, y, tol=1e-9):
    return len(x) == len(y) and all(abs(a - b) <= tol for a, b in zip(x, y))


# ---- lcp: known answers, worked out by hand

s = perp.lcp([[2, 1], [1, 2]], [-5, -6])
ok(s and close(s.x, [4 / 3, 7 / 3]) and close(s.w, [0, 0]) and s.status == 'solved' and s.residual <= 1e-10,
   'lcp: 2 x 2 of the documentation', s)
ok(repr(s).startswith('solved by auto') and '1.33333, 2.33333' in repr(s), 'lcp: says what it is', repr(s))
ok(isinstance(s.x, list) == plain, f'lcp: {"lists where there is no numpy" if plain else "arrays of numpy"}')
s = perp.lcp([[2, 1], [1, 2]], [-5, -6], hi=[1, inf], solver='dantzig')
ok(s and close(s.x, [1, 2.5]) and close(s.w, [-0.5, 0]), 'lcp: an upper bound binds, w <= 0 there', s)
s = perp.lcp([[2, 1], [1, 2]], [3, -1], lo=-inf, solver='dantzig')
ok(s and close(s.x, [-7 / 3, 5 / 3]), 'lcp: one bound for all, equalities', s)
# A is not symmetric: rows and columns are not mixed up
s = perp.lcp([[4, 1], [0, 2]], [-9, -2], solver='lemke')
ok(s and close(s.x, [2, 1]), 'lcp: A is given by rows', s)
s = perp.lcp([[1, 0], [0, 1]], [-2, -3], friction_of=[-1, 0], mu=[0, 0.5], solver='dantzig')
ok(s and close(s.x, [2, 1]), 'lcp: friction within mu times the normal', s)
s = perp.lcp([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [-2, -3, -4], friction_of=[-1, 0, 0], mu=0.5, cone=[0, 1, 0],
             solver='block-gs')
ok(s and close(s.x, [2, 0.6, 0.8], 1e-8), 'lcp: a circular cone', s)
s = perp.lcp([[0]], [-1])
ok(not s and s.status == 'infeasible', 'lcp: no solution, and said to be proved', s)
s = perp.lcp([[2, 1], [1, 2]], [-5, -6], solver='pgs:max_iter=1')
ok(not s and s.status == 'not solved' and s.reason == 'max-iter' and s.residual > 1e-3, 'lcp: not solved is no exception', s)
s = perp.lcp([[2, 1], [1, 2]], [-5, -6], solver='pgs:max_iter=1', guess=[4 / 3, 7 / 3])
ok(s, 'lcp: a guess', s)
ok(perp.lcp([], []), 'lcp: no rows')
for bad, says in (({'A': [[1, 2]], 'b': [1]}, 'A must be 1 x 1'), ({'A': [[1]], 'b': [1, 2]}, 'A must have 2 rows'),
                  ({'A': [['x']], 'b': [1]}, 'A must be numbers'), ({'A': [[1]], 'b': 3}, 'b must be numbers'),
                  ({'A': [[1]], 'b': [1], 'lo': 2, 'hi': 1}, 'bounds'), ({'A': [[1]], 'b': [1], 'mu': [1]}, 'go together'),
                  ({'A': [[1]], 'b': [1], 'lo': [1, 2]}, 'lo must have 1 numbers'), ({'A': [[1]], 'b': [1], 'tol': 0}, 'tol'),
                  ({'A': [[1]], 'b': [1], 'solver': 'lemk'}, "did you mean 'lemke'"),
                  ({'A': [[1]], 'b': [1], 'solver': 'psor:omega=3'}, 'omega')):
    raises(perp.Error, says, lambda: perp.lcp(**bad), f'lcp: refused: {says}')
if not plain:
    import numpy as np
    rng = np.random.default_rng(1)
    G = rng.normal(size=(30, 30))
    A, x = G @ G.T + np.eye(30), np.maximum(rng.normal(size=30), 0)
    w = np.where(x > 0, 0, rng.uniform(0.1, 1, 30))
    s = perp.lcp(A, w - A @ x)
    ok(s and np.allclose(s.x, x, atol=1e-8) and np.allclose(s.w, w, atol=1e-8), 'lcp: arrays, a solution made beforehand', s)
    s = perp.lcp(A.astype(np.float32)[::2, ::2], np.ones(15, int))
    ok(s and not s.x.any(), 'lcp: arrays of other types and strides', s)
    try:
        import scipy.sparse as sp
        B = sp.diags([2.0] * 400) - sp.diags([1.0] * 399, 1) - sp.diags([0.5] * 399, -1)  # not symmetric
        s, t = perp.lcp(B, -np.ones(400) * 1e-3), perp.lcp(B.toarray(), -np.ones(400) * 1e-3)
        ok(s and t and np.allclose(s.x, t.x, rtol=1e-6), 'lcp: a sparse matrix of scipy', s, t)
    except ImportError:
        skip('no scipy', 'lcp: a sparse matrix of scipy')

# ---- simulate

s = perp.simulate('pendulum', formulation='acceleration', ode='rk4', h=1e-3, t_end='0.5s')
ok(s and abs(s.t - 0.5) < 1e-12 and len(s.q) == 3 and s.metrics['steps'] == 500 and s.metrics['err.q.max'] < 1e-9,
   'simulate: parts, times as numbers and with units, metrics', s)
t = s.series['t']
ok(t[0] == 0 and t[-1] == 0.5 and close([s.series['q0'][-1], s.series['q1'][-1]], s.q[:2], 1e-12) and s.units['t'] == 's' and
   len(s.series['energy']) == len(t), 'simulate: series that end in the last state', s.units)
s = perp.simulate('pendulum', formulation='acceleration', ode='rk4', h=1e-3, t_end=0.5, forces=True)
pull = s.forces['force.joint.joint0']
ok(pull['unit'] == 'N' and abs(pull['final'] - (s.series['joint0.fx'][-1] ** 2 + s.series['joint0.fy'][-1] ** 2) ** 0.5) < 1e-9 and s.units['joint0.fx'] == 'N',
   'simulate: forces of joints', pull)
s = perp.simulate('stack:boxes=2', lcp='pgs:max_iter=1', t_end=0.05)
ok(not s and s.status == 'unsolved', 'simulate: unsolved is said', s)
raises(perp.Error, "did you mean 'stack'", lambda: perp.simulate('stak'), 'simulate: an unknown scene')
raises(perp.Error, 'stab', lambda: perp.simulate('pendulum', formulation='reduced', stab='post'), 'simulate: a part without effect')
raises(perp.Error, "no option '--wheels'", lambda: perp.simulate('pendulum', wheels=4), 'simulate: an unknown option')

# ---- list, info, version

ok({'dantzig', 'lemke', 'auto'} <= set(perp.list('lcp')) and 'chain6-stab' in perp.list('studies'), 'list')
ok(perp.info('dantzig')['name'] == 'dantzig' and 'options' in perp.info('dantzig'), 'info')
raises(perp.Error, 'dantzig', lambda: perp.info('dantzg'), 'info: an unknown name')
ok(perp.version()[0].isdigit(), 'version', perp.version())

# ---- Simulation, with lists where there is no numpy; python/tests has the rest

sim = perp.Simulation('stack:boxes=2', lcp='dantzig')
sim.step(20)
saved = sim.state
ok(isinstance(sim.q, list) == plain and close(sim.forces.pairs[(0, 1)][0], [0, 0, 9.81], 1e-8) and len(sim.contacts) == 8 and
   close([sum(row[2] for row in sim.contacts.force)], [3 * 9.81], 1e-8), 'Simulation: contacts and forces', sim)
sim.step(5)
last = list(sim.q)
sim.state = saved
sim.step(5)
ok(list(sim.q) == last, 'Simulation: the same bits after its state is restored')
sim = perp.Simulation({'scene': {'dim': 3, 'gravity': 0}, 'bodies': [{'mass': 2, 'inertia': [1, 1, 1]}]}, h=1e-3)
sim.on_control(lambda s: s.apply(0, force=[1, 0, 0]))
sim.on_force(lambda t, x, R, v, w: (0, 3, 0))
g = sim.gradient(('force', 0))
sim.step(2)
ok(close(sim.v, [1e-3, 3e-3, 0, 0, 0, 0], 1e-15) and close([g.dv[0][0]], [1e-3], 1e-12) and g.worst == 'smooth',
   'Simulation: a controller, a force, derivatives', sim.v, g.dv)

# ---- run, load

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    pathlib.Path('two.yaml').write_text('''schema: perp-study/1
study: { name: two }
t_end: 0.1 s
formulation: velocity
grid: { scene: "chain:links=3", h: [4 ms, 2 ms], stab: [none, post] }
measure: { repeats: 1 }
metrics: { primary: drift.pos.max, record: [drift.pos.max, steps] }
''')
    where = perp.run('two.yaml', output='there', only='stab == none', **{'measure.repeats': 2}, h=['5 ms', '2 ms'])
    table = perp.load(where)
    ran = [i for i, status in enumerate(table['status']) if status == 'ok']
    here = {k: [table[k][i] for i in ran] for k in table.keys()}
    ok(sorted(here['h']) == [0.002, 0.005] and set(here['stab']) == {'none'} and sorted(here['steps']) == [20, 50] and
       len(table['h']) == 4, 'run and load: settings, the cells of `only`', table)
    ok(all(v > 0 for v in here['time.step_us.median']) and here['rounds'] == [2, 2] and
       all(math.isnan(v) for i, v in enumerate(table['time.step_us.median']) if i not in ran), 'load: times beside metrics', table)
    ok(table.attrs['units']['h'] == 's' and table.attrs['units']['time.step_us.median'] == 'us', 'load: units', table.attrs)
    where = perp.run('two.yaml', **{'measure.repeats': 0})
    table = perp.load(where)
    ok(str(where) == 'results/two' and len(table['h']) == 4 and all(isinstance(c, str) for c in table['cell']),
       'run: where it says; cells without times', where, table)
    try:
        import pandas
        ok(isinstance(table, pandas.DataFrame) and table.groupby('stab')['drift.pos.max'].max()['none'] > 0, 'load: a data frame')
    except ImportError:
        ok(isinstance(table, perp.Table) and len(table.where([s == 'post' for s in table['stab']])['h']) == 2,
           'load: columns where there is no pandas', table)
    raises(perp.Error, 'perp run STUDY', lambda: perp.load('nowhere'), 'load: a folder that is none')
    raises(perp.Error, 'no-such', lambda: perp.run('no-such-study'), 'run: an unknown study')
    pathlib.Path('bad.yaml').write_text('schema: perp-study/1\nt_end: 1 furlong\n')
    raises(perp.Error, 'furlong', lambda: perp.run('bad.yaml'), 'run: a study that is none')
    os.chdir('/')
done()
