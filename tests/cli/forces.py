#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Forces of joints, drives and contacts over time, `perp simulate --forces`, against mechanics written
here: free-body diagrams of each link, minimal coordinates, statics, balance of momentum."""
import csv
import json
import math
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'python'))
from tap import done, ok

PERP = os.environ['PERP_BIN']
G = 9.81



def close(got, want, allowed, what):
    off = max((abs(g - w) for g, w in zip(got, want)), default=math.inf)
    ok(len(got) == len(want) and off <= allowed, what, f'off by {off:.3g} (allowed {allowed:g}): got {got}, want {want}')


def run(folder, scene, options, more=('--forces',)):
    path, out = os.path.join(folder, 'scene.yaml'), os.path.join(folder, 'out.csv')
    with open(path, 'w', encoding='utf-8') as f:
        f.write(scene)
    if os.path.exists(out):
        os.remove(out)
    r = subprocess.run([PERP, 'simulate', path, '--series', out, *more, *options.split()], capture_output=True, text=True)
    if r.returncode != 0:
        print(f'# {options}: status {r.returncode}: {r.stdout[-300:]} {r.stderr[-500:]}')
        return []
    with open(out, newline='', encoding='utf-8') as f:
        rows = list(csv.DictReader(f))
    return [{k.split('[')[0]: float(v) if v else math.nan for k, v in row.items()} for row in rows]


def solve(A, b):
    """Gauss with partial pivoting."""
    n = len(b)
    A = [list(A[i]) + [b[i]] for i in range(n)]
    for k in range(n):
        p = max(range(k, n), key=lambda i: abs(A[i][k]))
        A[k], A[p] = A[p], A[k]
        for i in range(k + 1, n):
            f = A[i][k] / A[k][k]
            for j in range(k, n + 1):
                A[i][j] -= f * A[k][j]
    x = [0.0] * n
    for k in reversed(range(n)):
        x[k] = (A[k][n] - sum(A[k][j] * x[j] for j in range(k + 1, n))) / A[k][k]
    return x


# ---- a pendulum: closed form ----

M, L, I = 2.0, 0.5, 0.04
PENDULUM = '''schema: perp-scene/1
scene: {{ summary: pendulum, dim: 2, t_end: 0.6 s, h: 1 ms }}
bodies:
  - {{ name: bob, mass: 2 kg, inertia: 0.04, x: [0.5, 0] }}
joints:
  - {{ name: pin, kind: hinge, a: {a}, b: {b}, at: [0, 0] }}
'''


def swing(phi, n, h):
    """(angle, rate) after n steps of Runge-Kutta 4, from rest at phi"""
    y = [phi, 0.0]

    def rate(s):
        return [s[1], -M * G * L * math.cos(s[0]) / (I + M * L * L)]
    for _ in range(n):
        k1 = rate(y)
        k2 = rate([y[i] + h / 2 * k1[i] for i in (0, 1)])
        k3 = rate([y[i] + h / 2 * k2[i] for i in (0, 1)])
        k4 = rate([y[i] + h * k3[i] for i in (0, 1)])
        y = [y[i] + h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]) for i in (0, 1)]
    return y


def pin_force(phi, w):
    """on the bob: m a - m g;  along the rod m l w^2 and the part of the weight"""
    acc = -M * G * L * math.cos(phi) / (I + M * L * L)
    return [M * (-L * acc * math.sin(phi) - L * w * w * math.cos(phi)),
            M * (L * acc * math.cos(phi) - L * w * w * math.sin(phi)) + M * G]


def pin_mean(t, h):
    """mean over [t - h, t], from the momentum of the exact motion"""
    n = 400
    a, b = swing(0, n, (t - h) / n), swing(0, n, t / n)

    def velocity(y):
        return [-L * y[1] * math.sin(y[0]), L * y[1] * math.cos(y[0])]
    return [M * (velocity(b)[i] - velocity(a)[i]) / h + (M * G if i == 1 else 0) for i in (0, 1)]


AT = ('--formulation acceleration --ode rk4 --stab post', '--formulation acceleration --ode gsl:rk8pd:tol=1e-11',
      '--formulation reduced --ode rk4', '--formulation reduced --ode gsl:rk8pd:tol=1e-11')
MEAN = (('--formulation velocity', 1), ('--formulation velocity --stab split', 1), ('--formulation velocity --stab velocity-projection', 1),
        ('--formulation velocity-midpoint', 2), ('--formulation si-split', 1))
START = (('--formulation generalized-alpha', 2), ('--formulation impulse', 1))


def pendulum(folder):
    scene = PENDULUM.format(a='world', b='bob')
    for options in AT:
        rows = run(folder, scene, f'{options} --h 1ms --sample 50ms')
        got, want = [], []
        for row in rows:
            got += [row['pin.fx'], row['pin.fy'], row['pin.tz']]
            want += pin_force(row['q2'], row['v2']) + [0]
        ok(len(rows) == 13 and all(row['pin.unique'] == 1 for row in rows), f'pendulum, {options}: 13 rows, unique forces', len(rows))
        close(got, want, 1e-9, f'pendulum, {options}: the force of each row is that of its own state')
    # a joint the other way round: the opposite force
    rows = run(folder, PENDULUM.format(a='bob', b='world'), f'{AT[0]} --h 1ms --sample 50ms')
    got = [row[k] for row in rows for k in ('pin.fx', 'pin.fy')]
    close(got, [-x for row in rows for x in pin_force(row['q2'], row['v2'])], 1e-9, 'a joint from the bob to the world: the opposite force')
    for options, order in MEAN + START:
        errors = []
        for h in (4e-3, 2e-3, 1e-3):
            rows = run(folder, scene, f'{options} --h {h * 1000:g}ms --sample 100ms --t-end 0.4s')
            if (options, order) in START:
                y = swing(0, 4000, 1e-4)
                want = pin_force(*y)
            else:
                want = pin_mean(0.4, h)
            row = rows[-1] if rows else {}
            errors.append(max(abs(row.get('pin.fx', math.nan) - want[0]), abs(row.get('pin.fy', math.nan) - want[1])))
        slope = math.log2(errors[0] / errors[2]) / 2 if errors[2] > 0 else math.nan
        ok(errors[2] < (0.3 if order == 1 else 5e-3) and slope > order - 0.3,
              f'pendulum, {options}: the force converges with order {order}', f'errors {errors}, order {slope:.2f}')
    # long steps by their accuracy: the force at the end of each, as accurate as its positions
    for tol in (1e-3, 1e-4, 1e-6):
        for sample in ('50ms', '1us'):
            rows = run(folder, scene, f'--formulation velocity:tol={tol:g} --h 5ms --sample {sample}')[1:]
            got, want = [], []
            for row in rows:
                got += [row['pin.fx'], row['pin.fy'], row['pin.tz']]
                want += pin_force(row['q2'], row['v2']) + [0]
            ok(len(rows) > 1, f'velocity:tol={tol:g}: rows', len(rows))
            close(got, want, 100 * tol, f'pendulum, velocity:tol={tol:g}, {sample}: the force of each row is that of its own state')
    # balance of momentum: the sum of h F over all steps is what the bob got beside its weight
    for options, allowed in (('--formulation velocity', 1e-9), ('--formulation velocity-midpoint', 1e-9),
                             ('--formulation velocity-midpoint --stab velocity-projection', 1e-9),
                             ('--formulation velocity --stab post', 1e-9), 
                             ('--formulation velocity:substeps=3', 1e-9)):
        rows = run(folder, scene, f'{options} --h 5ms --sample 1us --t-end 0.4s')
        got = [0, 0]
        known = rows[1:]
        for before, row in zip(rows, rows[1:]):
            for i, k in enumerate(('pin.fx', 'pin.fy')):
                got[i] += (row['t'] - before['t']) * row[k]
        want = [M * rows[-1]['v0'], M * rows[-1]['v1'] + M * G * rows[-1]['t']] if rows else [1, 1]
        ok(len(known) > 3, f'{options}: rows', len(known))
        close(got, want, allowed, f'{options}: impulses of the joint and momentum balance')


# ---- an inclined slider, a hinge in space ----

def frames(folder):
    scene = '''schema: perp-scene/1
scene: { summary: slider, dim: 2, t_end: 0.2 s, h: 1 ms }
bodies:
  - { name: block, mass: 3 kg, inertia: 0.02, x: [0.3, 0.4] }
joints:
  - { name: rail, kind: slider, a: world, b: block, at: [0.3, 0.5], axis: [0.8, 0.6] }
'''
    for options in AT + tuple(o for o, _ in MEAN + START):
        rows = run(folder, scene, f'{options} --h 1ms --sample 100ms')[1:]
        want = []
        for row in rows:  # normal force m g cos, across the axis; its torque about the point at arm (0, -0.1)
            n = 3 * G * 0.8
            f = [-0.6 * n, 0.8 * n]
            want += [f[0], f[1], 0, n, -0.1 * f[0] * -1 * -1]
        got = [row[k] for row in rows for k in ('rail.fx', 'rail.fy', 'rail.f1', 'rail.f2', 'rail.tz')]
        # the block does not turn: torque about the centre = tz + (point - centre) x F = 0, point - centre = (0, 0.1)
        want = [w if i % 5 != 4 else 0.1 * want[5 * (i // 5)] for i, w in enumerate(want)]
        close(got, want, 2e-6 if 'si-split' in options else 1e-7, f'block on an inclined rail, {options}: m g cos across the axis, and its torque')
    scene = '''schema: perp-scene/1
scene: { summary: hinge, dim: 3, t_end: 0.5 s, h: 1 ms }
bodies:
  - { name: bob, mass: 2 kg, inertia: [0.04, 0.04, 0.04], x: [0.5, 0.3, 0] }
joints:
  - { name: pin, kind: hinge, a: world, b: bob, at: [0, 0, 0], axis: [0, 1, 0] }
'''
    for options in AT[:3]:
        got, want = [], []
        for row in run(folder, scene, f'{options} --h 1ms --sample 100ms'):
            x, z = row['q0'], row['q2']
            w = row['v4']  # about y, the same in the world and in the body
            acc = M * G * x / (I + M * L * L)  # about y: positive turns z to x, so that x falls
            a = [acc * z - w * w * x, 0, -acc * x - w * w * z]
            f = [M * a[0], 0, M * a[2] + M * G]
            r = [x, 0.3, z]
            # about the point: r x m a + I alpha = torque - r x m g
            t = [r[1] * f[2] - r[2] * f[1], r[2] * f[0] - r[0] * f[2] + I * acc, r[0] * f[1] - r[1] * f[0]]
            got += [row[f'pin.{k}'] for k in ('fx', 'fy', 'fz', 'tx', 'ty', 'tz', 'f1', 't1')]
            want += f + t + [f[1], 0]
        close(got, want, 1e-8, f'hinge off the centre of a body in space, {options}: force and torque, none along the axis')


# ---- a loaded four-bar: Newton and Euler, link by link ----

FOUR = '''schema: perp-scene/1
scene: { summary: a loaded four-bar, dim: 2, t_end: 1 s, h: 0.5 ms, driven: true }
let: { ax: 0.3 * cos(1), ay: 0.3 * sin(1), bx: BX, by: BY, cx: 0.9 }
bodies:
  - { name: crank, mass: 1 kg, inertia: 0.01, x: [ax / 2, ay / 2] }
  - { name: coupler, mass: 2 kg, inertia: 0.05, x: [(ax + bx) / 2, (ay + by) / 2] }
  - { name: rocker, mass: 1.5 kg, inertia: 0.03, x: [(cx + bx) / 2, by / 2] }
joints:
  - { name: O, kind: hinge, a: world, b: crank, at: [0, 0] }
  - { name: A, kind: hinge, a: crank, b: coupler, at: [ax, ay] }
  - { name: B, kind: hinge, a: coupler, b: rocker, at: [bx, by] }
  - { name: C, kind: hinge, a: world, b: rocker, at: [0.9, 0] }
forces:
  - { kind: torque, a: crank, value: 3 }
  - { kind: point, a: coupler, value: [2, -7] }
'''
CRANK, COUPLER, ROCKER, GROUND = 0.3, 0.8, 0.6, 0.9
MASS, INERTIA = (1, 2, 1.5), (0.01, 0.05, 0.03)


def linkage(crank, near):
    """places of A and B; B on the side of `near`"""
    A = [CRANK * math.cos(crank), CRANK * math.sin(crank)]
    d = [GROUND - A[0], -A[1]]
    D = math.hypot(*d)
    along = (COUPLER ** 2 - ROCKER ** 2 + D * D) / (2 * D)
    across = math.sqrt(COUPLER ** 2 - along ** 2)
    Bs = [[A[0] + (along * d[0] - s * across * d[1]) / D, A[1] + (along * d[1] + s * across * d[0]) / D] for s in (1, -1)]
    return A, min(Bs, key=lambda B: math.hypot(B[0] - near[0], B[1] - near[1]))


def four_bar_forces(crank, rate, near):
    """Forces at O on the crank, A on the coupler, B and C on the rocker, of the crank's angle and rate alone."""
    A, B = linkage(crank, near)
    u = [A, [B[0] - A[0], B[1] - A[1]], [B[0] - GROUND, B[1]]]  # O to A, A to B, C to B
    # velocity: rate x u0 + w1 x u1 = w2 x u2
    w = [rate] + solve([[-u[1][1], u[2][1]], [u[1][0], -u[2][0]]], [rate * u[0][1], -rate * u[0][0]])
    # unknown: accelerations e0, e1, e2, forces O, A, B, C: on the crank, on the coupler, on the rocker, on the rocker
    rows, right = [], []

    def equation(parts, value):
        row = [0.0] * 11
        for k, x in parts:
            row[k] += x
        rows.append(row)
        right.append(value)
    # closure: e0 z x u0 - w0^2 u0 + e1 z x u1 - w1^2 u1 = e2 z x u2 - w2^2 u2
    for i, (sx, j) in enumerate(((-1, 1), (1, 0))):
        equation([(0, sx * u[0][j]), (1, sx * u[1][j]), (2, -sx * u[2][j])],
                 w[0] ** 2 * u[0][i] + w[1] ** 2 * u[1][i] - w[2] ** 2 * u[2][i])
    load = [[0, -MASS[0] * G], [2, -7 - MASS[1] * G], [0, -MASS[2] * G]]
    for i, (sx, j) in enumerate(((-1, 1), (1, 0))):
        # centres: u0 / 2;  u0 + u1 / 2;  C + u2 / 2
        equation([(3 + i, 1), (5 + i, -1), (0, -MASS[0] * sx * u[0][j] / 2)], -MASS[0] * w[0] ** 2 * u[0][i] / 2 - load[0][i])
        equation([(5 + i, 1), (7 + i, -1), (0, -MASS[1] * sx * u[0][j]), (1, -MASS[1] * sx * u[1][j] / 2)],
                 -MASS[1] * (w[0] ** 2 * u[0][i] + w[1] ** 2 * u[1][i] / 2) - load[1][i])
        equation([(7 + i, 1), (9 + i, 1), (2, -MASS[2] * sx * u[2][j] / 2)], -MASS[2] * w[2] ** 2 * u[2][i] / 2 - load[2][i])
    # moments about the centres: arm x F = ax Fy - ay Fx
    def moment(k, sign, arm):
        return [(k + 1, sign * arm[0]), (k, -sign * arm[1])]

    def half(v, s):
        return [s * v[0] / 2, s * v[1] / 2]
    equation(moment(3, 1, half(u[0], -1)) + moment(5, -1, half(u[0], 1)) + [(0, -INERTIA[0])], -3)
    equation(moment(5, 1, half(u[1], -1)) + moment(7, -1, half(u[1], 1)) + [(1, -INERTIA[1])], 0)
    equation(moment(7, 1, half(u[2], 1)) + moment(9, 1, half(u[2], -1)) + [(2, -INERTIA[2])], 0)
    return solve(rows, right)[3:]


def four_bar(folder):
    A, B = linkage(1.0, (0.9, 0.6))
    scene = FOUR.replace('BX', repr(B[0])).replace('BY', repr(B[1]))
    names = [f'{j}.{k}' for j in 'OABC' for k in ('fx', 'fy')]
    for options, allowed in ((f'--formulation acceleration --ode gsl:rk8pd:tol=1e-13 --stab post --h 0.5ms', 1e-9),
                             ('--formulation acceleration --ode rk4 --stab post --h 0.1ms', 1e-9),
                             ('--formulation reduced --ode gsl:rk8pd:tol=1e-13 --h 0.5ms', 1e-9)):
        rows = run(folder, scene, f'{options} --t-end 0.5s --sample 50ms')
        got, want, size = [], [], 0
        for row in rows:
            f = four_bar_forces(1 + row['q2'], row['v2'], (2 * row['q6'] - 0.9, 2 * row['q7']))
            got += [row[n] for n in names]
            want += f
            size = max([size] + [abs(x) for x in f])
        ok(len(rows) == 11, f'four-bar, {options}: rows', len(rows))
        close(got, want, allowed * max(size, 1), f'four-bar, {options}: reactions are those of Newton and Euler of each link')
    for options, order in MEAN[:4] + START:
        errors = []
        for h in (2e-3, 1e-3, 5e-4):
            rows = run(folder, scene, f'{options} --h {h * 1000:g}ms --t-end 0.2s --sample 200ms')
            if not rows:
                break
            middle = 0 if (options, order) in START else h / 2
            fine = run(folder, scene, f'--formulation acceleration --ode gsl:rk8pd:tol=1e-12 --stab post --h 0.5ms --t-end {200 - 1000 * middle:g}ms')[-1]
            want = four_bar_forces(1 + fine['q2'], fine['v2'], (2 * fine['q6'] - 0.9, 2 * fine['q7']))
            errors.append(max(abs(rows[-1][n] - x) for n, x in zip(names, want)))
        good = len(errors) == 3 and not math.isnan(errors[2])
        slope = math.log2(errors[0] / errors[2]) / 2 if good else math.nan
        ok(good and slope > order - 0.3, f'four-bar, {options}: forces converge with order {order}', f'{errors}: {slope:.2f}')


# ---- statics ----

def statics(folder):
    chain = '''schema: perp-scene/1
scene: { summary: hanging chain, dim: 3, t_end: 0.1 s, h: 1 ms }
bodies:
  - { name: top, mass: 1 kg, inertia: [0.01, 0.01, 0.01], x: [0, 0, -0.5] }
  - { name: mid, mass: 2 kg, inertia: [0.01, 0.01, 0.01], x: [0, 0, -1.5] }
  - { name: low, mass: 4 kg, inertia: [0.01, 0.01, 0.01], x: [0, 0, -2.5] }
joints:
  - { name: one, kind: ball, a: world, b: top, at: [0, 0, 0] }
  - { name: two, kind: ball, a: top, b: mid, at: [0, 0, -1] }
  - { name: three, kind: ball, a: low, b: mid, at: [0, 0, -2] }
'''
    for options in AT + tuple(o for o, _ in MEAN + START):
        rows = run(folder, chain, f'{options} --h 1ms --sample 50ms')[1:]
        got = [row[f'{j}.{k}'] for row in rows for j in ('one', 'two', 'three') for k in ('fx', 'fy', 'fz')]
        close(got, [0, 0, 7 * G, 0, 0, 6 * G, 0, 0, -4 * G] * len(rows), 1e-7, f'chain at rest, {options}: the weight below each joint')
        ok(len(rows) > 0, f'chain at rest, {options}: has rows')
    arm = '''schema: perp-scene/1
scene: { summary: arm, dim: 2, t_end: 3 s, h: 1 ms, driven: true }
bodies:
  - { name: arm, mass: 2 kg, inertia: 0.04, x: [0.25, 0] }
joints:
  - { name: shoulder, kind: hinge, a: world, b: arm, at: [0, 0] }
drives:
  - { name: motor, joint: shoulder, target: 0, stiffness: 100 Nm, damping: 20 Nm * 1 s, max_force: 1000 Nm }
'''
    for options in ('--formulation velocity', '--formulation acceleration --ode rk4', '--formulation reduced --ode symplectic-euler',
                    '--formulation impulse', '--formulation velocity:tol=1e-6'):
        rows = run(folder, arm, f'{options} --sample 1s')
        row = rows[-1] if rows else {}
        phi = row.get('q2', math.nan)
        close([row.get(k, math.nan) for k in ('motor.torque', 'shoulder.fx', 'shoulder.fy')], [2 * G * 0.25 * math.cos(phi), 0, 2 * G], 1e-4,
              f'arm that a servo holds, {options}: torque m g l, reaction m g')
    # on its way there: the torque of the servo is its law, the reaction that of the motion
    swinging = arm.replace('target: 0,', 'target: 1 rad,').replace('20 Nm', '2 Nm')
    inertia = 0.04 + 2 * 0.25 ** 2
    for tol in (1e-4, 1e-6):
        rows = run(folder, swinging, f'--formulation velocity:tol={tol:g} --t-end 1s --sample 20ms')[1:]
        got, want = [], []
        for row in rows:
            phi, w = row['q2'], row['v2']
            torque = -100 * (phi - 1) - 2 * w
            acc = (torque - 2 * G * 0.25 * math.cos(phi)) / inertia
            got += [row['motor.torque'], row['shoulder.fx'], row['shoulder.fy']]
            want += [torque, 2 * 0.25 * (-acc * math.sin(phi) - w * w * math.cos(phi)),
                     2 * G + 2 * 0.25 * (acc * math.cos(phi) - w * w * math.sin(phi))]
        ok(len(rows) > 2, f'velocity:tol={tol:g}: rows', len(rows))
        close(got, want, 2000 * tol, f'arm on its way, velocity:tol={tol:g}: torque by the law of the servo, reaction by the motion')
    box = '''schema: perp-scene/1
scene: {{ summary: box, dim: 3, t_end: 0.4 s, h: 1 ms }}
materials:
  default: {{ mu: 0.3 }}
bodies:
  - {{ name: box, mass: 5 kg, x: [0.1, 0.2, 0.1], v: [{v}, 0, 0], shape: {{ kind: box, size: [0.2, 0.2, 0.2] }} }}
shapes:
  - {{ name: floor, body: world, kind: plane }}
'''
    for options in ('--formulation velocity', '--formulation velocity --stab post', '--formulation acceleration --ode rk4',
                    '--formulation velocity-midpoint', '--formulation impulse'):
        for v, force in ((0, 0), (3, -0.3)):
            rows = run(folder, box.format(v=v), f'{options} --sample 100ms')
            row = rows[-2] if rows else {}
            names = [f'contact.world.box.{k}' for k in ('fx', 'fy', 'fz')]
            close([row.get(k, math.nan) for k in names], [5 * G * force, 0, 5 * G], 1e-4, f'box, v = {v}, {options}: m g, and mu m g against the motion')
            # no turning: torque about the centre of mass is 0
            x = [row.get(f'q{k}', math.nan) for k in range(3)]
            p = [row.get(f'contact.world.box.p{k}', math.nan) for k in 'xyz']
            F = [row.get(k, math.nan) for k in names]
            t = row.get('contact.world.box.ty', math.nan) + (p[2] - x[2]) * F[0] - (p[0] - x[0]) * F[2]
            # the contact is that of the start of the step, up to v h = 3 mm away
            close([t, p[2]], [0, 0], 0.2 if v else 1e-3, f'box, v = {v}, {options}: the force acts at the centre of pressure')


# ---- redundant joints, refusals ----

def shared(folder):
    door = '''schema: perp-scene/1
scene: { summary: door, dim: 3, t_end: 0.1 s, h: 1 ms }
bodies:
  - { name: door, mass: 10 kg, inertia: [1, 1, 1], x: [0.5, 0, 1] }
joints:
  - { name: low, kind: hinge, a: world, b: door, at: [0, 0, 0.5], axis: [0, 0, 1] }
  - { name: high, kind: hinge, a: world, b: door, at: [0, 0, 1.5], axis: [0, 0, 1] }
'''
    for options in ('--formulation acceleration --ode rk4', '--formulation velocity', '--formulation velocity-midpoint'):
        rows = run(folder, door, f'{options} --sample 50ms')[1:]
        row = rows[0] if rows else {}
        close([row.get('low.fz', math.nan) + row.get('high.fz', math.nan)], [10 * G], 1e-6, f'door on two hinges, {options}: both carry it')
        ok(row.get('low.unique') == 0 and row.get('high.unique') == 0, f'door on two hinges, {options}: forces are not unique', row.get('low.unique'))
        close([row.get('low.fz', math.nan)], [5 * G], 1e-6, f'door on two hinges, {options}: the least norm shares the weight')


SPIN = '''schema: perp-scene/1
scene: {{ summary: a spinning rod, dim: 2, t_end: 1 s, h: 1 ms, gravity: 0 }}
bodies:
  - {{ name: rod, mass: 2 kg, inertia: 0.04, x: [0.5, 0], v: [0, 1.5], w: 3 }}
joints:
  - {{ name: pin, kind: hinge, a: world, b: rod, at: [0, 0] }}
gauges:
  - {{ kind: reaction, joint: pin, exact: {exact}, let_t: {{ phi: 3 * t / 1 s }}, scale: 9 }}
'''


def gauges(folder):
    """m l w^2 towards the pin, which turns: an expression of t"""
    path = os.path.join(folder, 'spin.yaml')
    for exact, good in (('[-9 * cos(phi), -9 * sin(phi)]', True), ('[9 * cos(phi), 9 * sin(phi)]', False),
                        ('[-9 * cos(phi), 9 * sin(phi)]', False)):
        with open(path, 'w', encoding='utf-8') as f:
            f.write(SPIN.format(exact=exact))
        for options, allowed in (('--formulation acceleration --ode rk4', 1e-9), ('--formulation velocity', 5e-3),
                                 ('--formulation velocity-midpoint', 1e-4), ('--formulation generalized-alpha', 1e-4)):
            r = subprocess.run([PERP, 'simulate', path, '--json', *options.split()], capture_output=True, text=True)
            off = json.loads(r.stdout)['metrics'].get('force.rel.err', math.nan) if r.stdout else math.nan
            ok(off < allowed if good else off > 1, f'gauge of a force over time, exact = {exact}, {options}', (off, r.stderr[-300:]))
    with open(path, 'w', encoding='utf-8') as f:
        f.write(SPIN.format(exact='[1, 2, 3]'))
    status, text = command('check', path)
    ok(status == 3 and '2 components' in text, 'gauge of a force: a wrong number of components', (status, text[-300:]))


def command(*words):
    r = subprocess.run([PERP, *words], capture_output=True, text=True)
    return r.returncode, r.stdout + r.stderr


def refusals(folder):
    status, text = command('simulate', 'oscillator', '--forces', '--t-end', '0.1s')
    ok(status == 2 and 'no bodies' in text, 'a scene without bodies: refused', (status, text[-200:]))
    status, text = command('simulate', 'mass-ratio', '--formulation', 'groups', '--forces', '--t-end', '0.01s')
    ok(status == 2 and 'groups' in text, 'simulation groups: refused', (status, text[-200:]))
    status, text = command('simulate', 'pendulum', '--engine', 'ode', '--forces', '--t-end', '0.01s')
    ok(status != 0 and ('does not report forces' in text or 'not' in text), 'an engine with joints: refused', (status, text[-200:]))
    study = os.path.join(folder, 'study.yaml')
    head = ('schema: perp-study/1\nstudy: { name: s, title: s, question: "which force?" }\nscene: pendulum\n'
            'formulation: acceleration\node: rk4\nh: [10 ms, 5 ms]\nt_end: 0.2 s\n')
    for name, good in (('force.joint.joint0.max', True), ('force.joint.elbow.max', False)):
        with open(study, 'w', encoding='utf-8') as f:
            f.write(head + f'metrics: {{ primary: {name}, record: [{name}], series: {{ every: 0.1 s, forces: true }} }}\n')
        out = os.path.join(folder, f'out{good}')
        status, text = command('run', study, '-o', out, '--no-report')
        if not good:
            ok(status == 10 and 'no force for the metric' in text, 'study: a force of a joint that is not there is refused', text[-300:])
            continue
        with open(os.path.join(out, 'derived', 'cells.csv'), newline='', encoding='utf-8') as f:
            cells = list(csv.DictReader(line for line in f if not line.startswith('#')))
        keys = [k for k in cells[0] if k and k.startswith(name)]
        ok(status == 0 and keys and all(float(c[keys[0]]) > 1 for c in cells), 'study: a force as a metric', (status, text[-300:], keys))
        series = [os.path.join(out, 'series', n) for n in os.listdir(os.path.join(out, 'series'))]
        with open(series[0], encoding='utf-8') as f:
            lines = f.read().splitlines()
        ok('joint0.fx[N]' in lines[0] and all(line.split(',')[-1] == '1' for line in lines[1:]), 'study: series with forces in every row', lines[:2])


with tempfile.TemporaryDirectory() as place:
    for part in (pendulum, frames, four_bar, statics, shared, gauges, refusals):
        if len(sys.argv) < 2 or part.__name__ in sys.argv[1:]:
            part(place)
done()
