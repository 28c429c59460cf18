#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metrics of scenes, computed a second time: from the states of the run (`--series`), by closed forms written down here.

    tests/agree/gauges.py        TAP ($PERP_BIN is the program)

Every metric here that claims a maximum, an event or a verdict is computed on three runs or more, right ones and wrong ones.
Forces have no column: they follow from Newton's second law, m (dv/dt + g), which holds in every step on the velocity level."""
import csv
import json
import math
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'python'))
import tap  # noqa: E402

G = 9.81


class Run:
    """A run with a row for each step: t [s], q and v of each body (space: 7 and 6 numbers, in the plane 3 and 3)."""

    def __init__(self, scene, h, *more, dim=3, t_end=None):
        self.name = ' '.join([scene, f'h={h}', *more])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'series.csv')
            step = f'{h!r}s'
            words = ['simulate', scene, '--h', step, '--sample', step, '--series', path, '--json', *more]
            words += ['--t-end', f'{t_end!r}s'] if t_end else []
            _, out, err = tap.perp(*words)
            if not out.startswith('{'):
                raise SystemExit(f'Bail out! perp {" ".join(words)}: {err}')
            self.metrics = {k: float(x) for k, x in json.loads(out)['metrics'].items()}
            with open(path, encoding='utf-8') as f:
                rows = [{k.split('[')[0]: float(x or 'nan') for k, x in row.items()} for row in csv.DictReader(f)]
        nq, nv = (7, 6) if dim == 3 else (3, 3)
        bodies = sum(k[0] == 'v' and k[1:].isdigit() for k in rows[0]) // nv
        self.dim, self.bodies = dim, bodies
        self.t = [r['t'] for r in rows]
        self.q = [[[r[f'q{nq * b + i}'] for i in range(nq)] for b in range(bodies)] for r in rows]
        self.v = [[[r[f'v{nv * b + i}'] for i in range(nv)] for b in range(bodies)] for r in rows]

    def check(self, metric, value, tol=1e-6, floor=1e-11):
        """The metric of the run against the value found here."""
        there = self.metrics.get(metric, math.nan)
        same = there == value or abs(there - value) <= tol * abs(value) + floor
        tap.ok(same, f'{metric} of {self.name}: {there:.6g}', f'found here: {value!r}, perp: {there!r}')


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def norm(a):
    return math.sqrt(dot(a, a))


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def rotated(body, p):
    """p of the body in world axes."""
    if len(body) == 3:
        c, s = math.cos(body[2]), math.sin(body[2])
        return [c * p[0] - s * p[1], s * p[0] + c * p[1]]
    w, u = body[3], body[4:]
    a = cross(u, p)
    b = cross(u, a)
    return [p[i] + 2 * w * a[i] + 2 * b[i] for i in range(3)]


# ---- bounces ------------------------------------------------------------------------------------

def bounces():
    for e, height, h, more in ((0.8, 1, 4e-3, ()), (1, 1, 1e-3, ('--stab', 'post')), (0.5, 2, 2e-3, ('--stab', 'baumgarte')),
                               (0.8, 1, 0.02, ())):
        run = Run(f'bouncing-ball:e={e},height={height}', h, *more)
        first = math.sqrt(2 * height / G)

        def impact(n):
            return first * (1 + 2 * sum(e**k for k in range(1, n)))

        z = [q[0][2] - 0.1 for q in run.q]
        up = [v[0][2] for v in run.v]
        hits = [i for i in range(1, len(z)) if up[i - 1] < 0 <= up[i]]
        tops = []
        for k, i in enumerate(hits):
            end = hits[k + 1] if k + 1 < len(hits) else len(z)
            falls = next((j for j in range(i, end) if up[j] < 0), None)
            if falls is not None and max(z[i:falls + 1]) > 0:
                tops.append(max(z[i:falls + 1]))
        if run.t[-1] >= impact(len(tops) + 2) + e**(len(tops) + 1) * first:
            tops.append(0)
        # only what the steps resolve of the last bounces counts: the gauge looks at each that it sees
        off = [(top - e**(2 * n) * height) / (e * e * height) for n, top in enumerate(tops, 1)]
        run.check('apex.rel.gain', max(off + [0]), 1e-6)
        run.check('apex.rel.loss', max([-x for x in off] + [0]), 1e-6)
        run.check('apex.rel.err', max(abs(x) for x in off), 1e-6)
        times = [run.t[i] for i in hits]
        due = [impact(n) for n in range(1, 5) if impact(n) <= run.t[-1] - 0.05 * first]
        run.check('event.err', max(abs(a - b) for a, b in zip(times, due)) if len(times) >= len(due) else math.inf, 1e-6)


# ---- rest and its forces ------------------------------------------------------------------------

def displacement(a, b, dim, radius):
    points = [[0] * dim]
    for i in range(dim):
        points += [[sign * radius * (k == i) for k in range(dim)] for sign in (1, -1)]
    return max(norm([y - x + s - r for x, y, r, s in zip(a[:dim], b[:dim], rotated(a, p), rotated(b, p))]) for p in points)


def drift(run, bodies, radius, start=0):
    rows = [i for i, t in enumerate(run.t) if t >= start - 1e-10]
    return max(displacement(run.q[rows[0]][b], run.q[i][b], run.dim, radius) for i in rows for b in bodies)


def speed(run, bodies, radius):
    d = run.dim
    return max(norm(v[b][:d]) + radius * norm(v[b][d:]) for v in run.v[1:] for b in bodies)


def stacks():
    """N cubes: the face below cube i carries the weight of all above it, and what accelerates them."""
    for n, more in ((5, ('--lcp', 'pgs:sweeps=10')), (3, ('--lcp', 'pgs:sweeps=2')), (4, ('--lcp', 'psor:sweeps=5'))):
        run = Run(f'stack:boxes={n}', 5e-3, '--contact', 'box', *more, t_end=0.5)
        run.check('pose.drift.max', drift(run, range(n), 0.5))
        run.check('creep.vel.max', speed(run, range(n), 0.5))
        worst = 0
        for i in range(1, len(run.t)):
            h = run.t[i] - run.t[i - 1]
            load = 0
            for b in reversed(range(n)):
                load += (run.v[i][b][2] - run.v[i - 1][b][2]) / h + G
                worst = max(worst, abs(load - (n - b) * G) / (n * G))
        run.check('force.rel.err', worst, 1e-6)
    run = Run('tower', 1 / 60, '--contact', 'box', '--lcp', 'pgs:sweeps=10', t_end=0.5)
    run.check('pose.drift.max', drift(run, range(5), 0.25))


def verdicts():
    """A box on an incline by statics: it stands if neither the friction nor its edge lets it go."""
    for theta, mu, width in ((0.4, 0.8, 0.5), (0.5, 0.8, 0.5), (0.4, 0.3, 0.5), (0.55, 0.7, 0.8)):
        run = Run(f'tipping-box:theta={theta},mu={mu},width={width}', 1 / 240, dim=2)
        stands = math.tan(theta) <= min(mu, width)
        moved = drift(run, [0], 0.5)
        run.check('verdict.err', float((moved <= 0.05) != stands))
        if stands:
            run.check('pose.drift.max', moved)
    # a verdict that must be wrong: five steps in which nothing that falls gets anywhere
    run = Run('tipping-box:theta=0.5', 1 / 240, dim=2, t_end=5 / 240)
    run.check('verdict.err', 1.0)


# ---- motions with closed forms ------------------------------------------------------------------

def slopes():
    for theta, mu, h in ((math.pi / 6, 0.3, 1 / 240), (0.6, 0.2, 0.01), (0.3, 0.6, 0.01)):
        run = Run(f'incline:theta={theta!r},mu={mu}', h, t_end=1)
        a = max(0, G * (math.sin(theta) - mu * math.cos(theta)))
        exact = [a * math.cos(theta), 0, -a * math.sin(theta)]
        mean = [(x - y) / (run.t[-1] - run.t[0]) for x, y in zip(run.v[-1][0][:3], run.v[0][0][:3])]
        run.check('accel.rel.err', norm([x - y for x, y in zip(mean, exact)]) / (a if a > 0 else G), floor=1e-9)
        place = max(norm([q[0][0] - (0.5 * math.sin(theta) + a * t * t / 2 * math.cos(theta)), q[0][1],
                          q[0][2] - (0.5 * math.cos(theta) - a * t * t / 2 * math.sin(theta))]) for t, q in zip(run.t, run.q))
        run.check('err.place.max', place, floor=1e-9)


def impacts():
    """A spinning ball hits the floor with friction: it sticks if |u| <= 3.5 mu (1 + e) vn."""
    for vx, spin, e, mu in ((3, 0, 0.8, 0.2), (1, 5, 0.5, 0.6), (-2, 20, 1, 0.3)):
        run = Run(f'oblique-impact:vx={vx},spin={spin},e={e},mu={mu}', 3e-3)
        u = vx - 0.1 * spin
        rub = -u / 3.5 if abs(u) / 3.5 <= mu * (1 + e) * 4 else -math.copysign(mu * (1 + e) * 4, u)
        after = [vx + rub, 0, e * 4, 0, spin - rub / (0.4 * 0.1), 0]
        v = next(v[0] for t, v in zip(run.t, run.v) if t >= 0.19 - 1e-10)
        run.check('impact.rel.err', max(w * abs(x - y) for w, x, y in zip([1, 1, 1, 0.1, 0.1, 0.1], v, after)) / 4)


def rolling():
    for v0, mu, h in ((5, 0.2, 2e-3), (3, 0.4, 5e-3), (8, 0.1, 0.02)):
        run = Run(f'rolling-sphere:speed={v0},mu={mu},radius=0.1', h)
        rolls = 2 * v0 / (7 * mu * G)
        t = 0.95 * 1.5 * rolls
        v = next(v[0] for s, v in zip(run.t, run.v) if s >= t - 1e-10)
        exact = [5 / 7 * v0, 0, 0, 0, 5 / 7 * v0 / 0.1, 0]
        run.check('speed.rel.err', max(w * abs(x - y) for w, x, y in zip([1, 1, 1, 0.1, 0.1, 0.1], v, exact)) / (5 / 7 * v0), floor=1e-9)


def paths():
    for rate, rho_v, h in ((2, 0.3, 2e-3), (3, 0.5, 4e-3), (1, 0.1, 0.01)):
        run = Run(f'turntable:rate={rate},speed={rho_v}', h)
        w = 2 / 7 * rate
        r = rho_v / w
        run.check('path.err.max', max(norm([q[1][0] - (0.5 - r + r * math.cos(w * t)), q[1][1] - r * math.sin(w * t), q[1][2] - 0.05])
                                      for t, q in zip(run.t, run.q)), 1e-5)


def oscillations():
    """Errors against the closed form, and the energy, of a spring."""
    for k, d, h, more in ((100, 0, 0.01, ()), (400, 3, 2e-3, ()), (50, 0, 0.02, ('--formulation', 'acceleration', '--ode', 'rk4'))):
        run = Run(f'spring:stiffness={k},damping={d}', h, *more, dim=2, t_end=2)
        decay = d / 2
        w = math.sqrt(k - decay * decay)

        def exact(t):
            e, c, s = math.exp(-decay * t), math.cos(w * t), math.sin(w * t)
            return 0.1 * e * (c + decay / w * s), -0.1 * e * (w + decay * decay / w) * s

        run.check('err.place.max', max(abs(q[0][0] - exact(t)[0]) for t, q in zip(run.t, run.q)), 1e-5)
        for column, at, metric in ((run.q, 0, 'err.q.max'), (run.v, 1, 'err.v.max')):
            size = max(abs(exact(t)[at]) for t in run.t)
            run.check(metric, max(abs(x[0][0] - exact(t)[at]) for t, x in zip(run.t, column)) / size, 1e-5)
        kinetic = [v[0][0]**2 / 2 for v in run.v]
        potential = [k * q[0][0]**2 / 2 for q in run.q]
        energy = [a + b for a, b in zip(kinetic, potential)]
        if d == 0:
            run.check('energy.rel.max', max(abs(e - energy[0]) for e in energy) / (max(kinetic) + max(potential) - min(potential)), 1e-5)


def joints():
    """A rigid pendulum of 1 m: the distance of its mass from the pivot, and the speed along the rod."""
    for stab, h in (('none', 0.01), ('baumgarte', 0.02), ('post', 0.01)):
        run = Run('pendulum', h, '--stab', stab, dim=2, t_end=2)
        lengths = [math.hypot(q[0][0], q[0][1]) for q in run.q]
        run.check('drift.pos.max', max(abs(x - 1) for x in lengths), 1e-6, 1e-12)
        along = [abs(dot(q[0][:2], v[0][:2])) / x for q, v, x in zip(run.q, run.v, lengths)]
        run.check('drift.vel.max', max(along), 1e-6, 1e-10)
        kinetic = [dot(v[0][:2], v[0][:2]) / 2 for v in run.v]
        potential = [G * q[0][1] for q in run.q]
        energy = [a + b for a, b in zip(kinetic, potential)]
        run.check('energy.rel.max', max(abs(e - energy[0]) for e in energy) / (max(kinetic) + max(potential) - min(potential)), 1e-6)


def momenta():
    """A free box: angular momentum in world axes, of the inertias of its edges."""
    for spin, off, h in ((10, 0.01, 2e-3), (5, 0.2, 0.01), (20, 0.05, 2e-3)):
        run = Run(f'racket:spin={spin},off={off}', h, t_end=1)
        inertia = [0.09 * x / 108 for x in (5, 10, 13)]
        L = [rotated(q[0], [i * w for i, w in zip(inertia, v[0][3:])]) for q, v in zip(run.q, run.v)]
        run.check('momentum.ang.max', max(norm([x - y for x, y in zip(a, L[0])]) for a in L) / norm(L[0]), 1e-6)
    for offset, rows in ((0.5, 1), (0, 2), (1, 3)):
        run = Run(f'billiard:offset={offset},rows={rows}', 2e-3, dim=2)
        P = [[sum(0.17 * b[i] for b in v) for i in range(2)] for v in run.v]
        run.check('momentum.lin.max', max(norm([x - y for x, y in zip(p, P[0])]) for p in P) / max(norm(p) for p in P), 1e-6, 1e-13)


def jellett():
    for spin, tilt, h in ((155, 0.1, 5e-4), (120, 0.3, 5e-4), (155, 0.1, 2e-3)):
        run = Run(f'tippe-top:spin={spin},tilt={tilt}', h, t_end=1)
        R, mass = 0.02, 0.02
        inertia = [131 / 350 * mass * R * R] * 2 + [0.4 * mass * R * R]
        J = [dot(rotated(q[0], [i * w for i, w in zip(inertia, v[0][3:])]),
                 [x - y for x, y in zip(rotated(q[0], [0, 0, 0.3 * R]), [0, 0, R])]) for q, v in zip(run.q, run.v)]
        run.check('invariant.rel.max', max(abs(x - J[0]) for x in J) / abs(J[0]), 1e-5)


def overlaps():
    """Balls: the deepest overlap with the floor or with each other."""
    for e, h in ((0.8, 1e-4), (0.3, 2e-4), (0, 1e-4)):
        run = Run(f'bouncing-ball:e={e}', h, '--formulation', 'penalty', t_end=1)
        run.check('pen.max', max(0, max(0.1 - q[0][2] for q in run.q)), 1e-6, 1e-12)
    run = Run('billiard:rows=3,offset=0.7', 1e-4, '--formulation', 'penalty', dim=2, t_end=0.15)
    run.check('pen.max', max(0, max(0.06 - norm([x - y for x, y in zip(q[a][:2], q[b][:2])])
                                    for q in run.q for a in range(run.bodies) for b in range(a))), 1e-6, 1e-12)


if __name__ == '__main__':
    for part in (bounces, stacks, verdicts, slopes, impacts, rolling, paths, oscillations, joints, momenta, jellett, overlaps):
        part()
    tap.done()
