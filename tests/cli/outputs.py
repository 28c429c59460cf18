#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every formulation says beside its motion: forces of joints, actuators and contacts, energies. The
list of formulations is the program's own, so that a new one is held to the same: over any time the
momentum of each body changes by the sum of its weight and of the forces that the program reports.

  PERP_BIN=build/experiments/perp tests/cli/outputs.py [FORMULATION ... | --group GROUP]

GROUP: a test of meson each, so that a mutant (tests/mutate) meets the nearest first. A formulation of OWN, a folder of
models/formulations without these, rest: the others, acting: caps and thresholds."""
import csv
import json
import math
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'python'))
from tap import done, ok, skip

PERP = os.environ['PERP_BIN']
G = 9.81



# ---- vectors ----

def add(a, b, *more):
    both = [x + y for x, y in zip(a, b)]
    return add(both, *more) if more else both


def sub(a, b):
    return [x - y for x, y in zip(a, b)]


def scaled(s, a):
    return [s * x for x in a]


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def length(a):
    return math.hypot(*a)


def turned(q, a):
    """R(q) a, q = (w, x, y, z)"""
    t = scaled(2, cross(q[1:], a))
    return add(a, scaled(q[0], t), cross(q[1:], t))


# ---- scenes: bodies with one moment of inertia, so that L = I omega ----

class Body:
    def __init__(self, name, mass, inertia, x, v=(0, 0, 0), w=(0, 0, 0)):
        self.name, self.mass, self.inertia = name, mass, inertia
        self.x, self.v, self.w = list(x), list(v), list(w)


class Joint:
    """kind, bodies, the point where it is at the start, its axis (all bodies start unturned)"""

    def __init__(self, name, kind, a, b, at, axis=None, drives=()):
        self.name, self.kind, self.a, self.b, self.at, self.axis, self.drives = name, kind, a, b, list(at), axis, drives


class Scene:
    def __init__(self, name, needs, bodies, joints, shapes=(), pairs=(), h=1e-3, t_end=0.2, mu=0.0):
        self.name, self.needs, self.bodies, self.joints = name, needs, {b.name: b for b in bodies}, joints
        self.shapes, self.pairs, self.h, self.t_end, self.mu = shapes, pairs, h, t_end, mu

    def text(self):
        out = ['schema: perp-scene/1',
               f'scene: {{ summary: {self.name}, dim: 3, t_end: {self.t_end} s, h: {self.h} s, driven: true }}', 'bodies:']
        for b in self.bodies.values():
            i = b.inertia
            out.append(f'  - {{ name: {b.name}, mass: {b.mass} kg, inertia: [{i}, {i}, {i}], x: {b.x}, v: {b.v}, w: {b.w} }}')
        if self.joints:
            out.append('joints:')
        for j in self.joints:
            axis = f', axis: {list(j.axis)}' if j.axis else ''
            if j.kind == 'universal':
                axis = ', axis_a: [1, 0, 0], axis_b: [0, 1, 0]'
            out.append(f'  - {{ name: {j.name}, kind: {j.kind}, a: {j.a}, b: {j.b}, at: {j.at}{axis} }}')
        if any(j.drives for j in self.joints):
            out.append('drives:')
            out += [f'  - {{ name: {j.name}_{i}, joint: {j.name}, {d} }}' for j in self.joints for i, d in enumerate(j.drives)]
        if self.shapes:
            out.append('shapes:')
            out += [f'  - {{ {s} }}' for s in self.shapes]
            out.append(f'materials: {{ default: {{ mu: {self.mu}, restitution: 0 }} }}')
        return '\n'.join(out) + '\n'


CHAIN = [Body('one', 2, 0.02, (0.3, 0, 0)), Body('two', 1, 0.01, (0.6, 0, 0)), Body('three', 0.5, 0.004, (0.6, 0.3, 0)),
         Body('four', 0.7, 0.006, (0.6, 0.3, -0.25))]
SERVO = 'stiffness: 200 {unit}, damping: 10 {unit} * 1 s'
# name, capabilities of which one is needed, ...
SCENES = [
    Scene('joints', set(), CHAIN,
          [Joint('ball', 'ball', 'world', 'one', (0, 0, 0)), Joint('hinge', 'hinge', 'one', 'two', (0.45, 0, 0), (0, 1, 0)),
           Joint('weld', 'fixed', 'two', 'three', (0.6, 0.15, 0)), Joint('cross', 'universal', 'three', 'four', (0.6, 0.3, -0.1))]),
    Scene('balls', set(), CHAIN,
          [Joint('ball', 'ball', 'world', 'one', (0, 0, 0)), Joint('hinge', 'hinge', 'one', 'two', (0.45, 0, 0), (0, 1, 0)),
           Joint('elbow', 'ball', 'two', 'three', (0.6, 0.15, 0)), Joint('last', 'ball', 'three', 'four', (0.6, 0.3, -0.1))]),
    Scene('servos', {'servos'},
          [Body('arm', 2, 0.02, (0.3, 0, 0)), Body('sledge', 1, 0.01, (0.6, 0, 0)), Body('end', 0.5, 0.004, (0.9, 0, 0))],
          [Joint('shoulder', 'hinge', 'world', 'arm', (0, 0, 0), (0, 1, 0), [f"target: -0.3, {SERVO.format(unit='Nm')}"]),
           Joint('rail', 'slider', 'arm', 'sledge', (0.6, 0, 0), (1, 0, 0), [f"target: 0.1, {SERVO.format(unit='N/m')}"]),
           Joint('wrist', 'hinge', 'sledge', 'end', (0.7, 0, 0), (0, 1, 0), [f"target: 0.5, {SERVO.format(unit='Nm')}"])]),
    Scene('motors', {'drives'},
          [Body('arm', 2, 0.02, (0.3, 0, 0)), Body('sledge', 1, 0.01, (0.6, 0, 0)), Body('leg', 0.5, 0.004, (0.3, 1, 0))],
          [Joint('shoulder', 'hinge', 'world', 'arm', (0, 0, 0), (0, 1, 0), ['velocity: -1 rad/s, max_force: 30 Nm']),
           Joint('rail', 'slider', 'arm', 'sledge', (0.6, 0, 0), (1, 0, 0), ['velocity: 0, max_force: 2 N']),
           Joint('stop', 'hinge', 'world', 'leg', (0, 1, 0), (0, 1, 0), ['lower: -1, upper: 0'])]),
    Scene('contacts', {'contacts'},
          [Body('brick', 2, 0.02, (0, 0, 0.1), v=(1.5, 0, 0)), Body('ball', 1, 0.004, (1, 0, 0.1), v=(0, 1, 0))],
          [], pairs=[('world', 'brick'), ('world', 'ball')], mu=0.3,
          shapes=['kind: plane, body: world', 'kind: box, body: brick, size: [0.2, 0.2, 0.2]',
                  'kind: sphere, body: ball, radius: 0.1']),
    Scene('all', {'drives', 'contacts'},
          [Body('arm', 2, 0.02, (0.3, 0, 0.5)), Body('foot', 1, 0.01, (0.6, 0, 0.3)), Body('brick', 2, 0.02, (0.55, 0, 0.1))],
          [Joint('shoulder', 'hinge', 'world', 'arm', (0, 0, 0.5), (0, 1, 0), ['velocity: 0, max_force: 1 Nm']),
           Joint('knee', 'hinge', 'arm', 'foot', (0.6, 0, 0.5), (0, 1, 0), ['target: -0.5, stiffness: 50 Nm, damping: 5 Nm * 1 s'])],
          pairs=[('world', 'foot'), ('world', 'brick'), ('foot', 'brick')], mu=0.3,
          shapes=['kind: plane, body: world', 'kind: box, body: brick, size: [0.2, 0.2, 0.2]',
                  'kind: sphere, body: foot, radius: 0.1']),
    # of the accelerations of a moment an impact has no part; what is reported as a mean of the step has it whole
    Scene('impact', {'contacts', 'means'},
          [Body('arm', 2, 0.02, (0.3, 0, 0.5)), Body('hand', 0.5, 0.005, (0.7, 0, 0.11), v=(0, 0, 0))],
          [Joint('shoulder', 'hinge', 'world', 'arm', (0, 0, 0.5), (0, 1, 0)), Joint('wrist', 'ball', 'arm', 'hand', (0.6, 0, 0.5))],
          pairs=[('world', 'hand')], mu=0.3, shapes=['kind: plane, body: world', 'kind: sphere, body: hand, radius: 0.1']),
    # it meets its stop in the moment of the start: all of its momentum is the impulse of the stop
    Scene('struck', {'drives', 'means'}, [Body('sledge', 2, 0.02, (0, 0, 0), v=(-1, 0, 0))],
          [Joint('rail', 'slider', 'world', 'sledge', (0, 0, 0), (1, 0, 0), ['lower: 0'])], t_end=0.03),
    # edges of boxes that cross at small angles
    Scene('turning', {'contacts', 'edges'},
          [Body('lower', 2, 0.02, (0, 0, 0.1)), Body('upper', 1, 0.004, (0.025, 0.01, 0.25), w=(0, 0, 4))],
          [], pairs=[('world', 'lower'), ('lower', 'upper')], mu=0.3,
          shapes=['kind: plane, body: world', 'kind: box, body: lower, size: [0.2, 0.2, 0.2]',
                  'kind: box, body: upper, size: [0.15, 0.15, 0.1]']),
]
OWN = ('velocity', 'velocity-midpoint')
FOLDERS = {'dae': 'dae', 'schemes': 'schemes', 'velocity': 'velocity-others'}
STICKS = '''schema: perp-scene/1
scene: { summary: a block at rest on a slope that static friction holds, t_end: 0.3 s, h: 1 ms }
bodies:
  - { name: block, mass: 2 kg, shape: { kind: box, size: [0.2, 0.2, 0.1] }, x: [0.05 * sin(0.35), 0, 0.05 * cos(0.35)], turn: { axis: [0, 1, 0], angle: 0.35 } }
shapes:
  - { body: world, kind: plane, turn: { axis: [0, 1, 0], angle: 0.35 } }
materials: { default: { mu: 0.5, mu_dynamic: 0.2 } }
'''

# closes within a step, more slowly than the threshold: no impact ends the step, and the row leaves no gap
LANDS = '''schema: perp-scene/1
scene: { summary: a ball that falls by a millimetre, t_end: 0.1 s, h: 10 ms }
bodies:
  - { name: ball, mass: 2 kg, shape: { kind: sphere, radius: 0.1 }, x: [0, 0, 0.101] }
shapes:
  - { body: world, kind: plane }
materials: { default: { restitution: 0 } }
'''

# mu_dynamic from the start, until it rests at v^2 / (2 mu_dynamic g); with mu it would go half as far
SLIDES = '''schema: perp-scene/1
scene: { summary: a block that slides from the start until friction has stopped it, t_end: 0.3 s, h: 1 ms }
bodies:
  - { name: block, mass: 2 kg, shape: { kind: box, size: [0.2, 0.2, 0.1] }, x: [0, 0, 0.05], v: [0.8, 0, 0] }
shapes:
  - { body: world, kind: plane }
materials: { default: { mu: 0.5, mu_dynamic: 0.3 } }
'''
# m at 0.1, 0.2 and 0.3 s: methods of order 1 take the speed of an end of a step; xpbd has 5 % less friction at any step
SLIDES_OFF = {m: (1e-6,) * 3 for m in ('acceleration', 'velocity-midpoint', 'moreau-jean', 'nonsmooth-alpha', 'impulse')}
ONE_FRICTION = ('ipc',) # they refuse two coefficients
SLIDES_OFF['xpbd'] = (1e-3, 3e-3, 6e-3)

# ---- what the program says ----

def registry():
    """name -> capabilities"""
    listed = json.loads(subprocess.run([PERP, 'list', 'formulation', '--json'], capture_output=True, text=True, check=True).stdout)
    return {f['name']: set(f['capabilities']) for f in listed}


# where the default does not suit: Euler's motors leave their speed and come back, his forces are those of states of order 1; springs
# of penalty need short steps, the start of bdf too
OPTIONS = {'acceleration': ['--ode', 'rk4'], 'coordinate-partitioning': ['--ode', 'rk4'], 'tangent-coordinates': ['--ode', 'rk4'],
           'bdf': ['--h', '0.25ms'], 'penalty': ['--ode', 'rk4', '--h', '0.1ms']}


# shapes of ipc may not touch at the start but for inset, its sums are as exact as its last Newton step, and its friction has the
# normal force of the solution before
SPELT = {'ipc': 'ipc:inset=1,tol=1e-11,friction_iterations=10'}


# steps as long as an error allows, forces at the state of a row; those of contacts are means of something else
TOL = 'velocity:tol=1e-8'
# further ways on which a formulation makes its steps or keeps its joints
VARIANTS = {'velocity': [TOL, 'velocity:substeps=3', 'velocity --stab split', 'velocity --stab post'],
            'velocity-midpoint': ['velocity-midpoint --stab velocity-projection']}

# a cap, a threshold, a bound of an error: a scene in which it acts, and the largest figure that is right there
ACTING = [
    ('crush --t-end 0.1s', 'velocity-midpoint', 'creep.vel.max', 0.06, 'the push-out of deep bodies is capped'),
    ('belt.yaml', 'velocity-midpoint', 'truth.err', 1e-5, 'slip on a belt ends where its speed is that of the belt'),
    ('two-belts', 'ipc:inset=1,friction_iterations=10', 'truth.err', 2e-4, 'belts take a parcel with them'),
    ('tippe-top', 'acceleration --ode rk4', 'invariant.rel.max', 1e-8, 'friction turns with the slip'),
    ('rolling-sphere', 'acceleration --ode rk4', 'event.err', 1e-9, 'rolling begins in time'),
    ('rocking.yaml', 'velocity:tol=1e-3', 'event.err', 2e-4, 'corners that come and go within a step are told apart'),
    ('bouncing-ball', 'velocity:tol=1e-3', 'event.err', 2e-4, 'impacts end adaptive steps'),
    ('pendulum', 'velocity:tol=1e-3', 'err.q.max', 1e-5, 'the error of a step is that of the tolerance'),
]


def run(folder, scene, formulation):
    path, table = os.path.join(folder, f'{scene.name}.yaml'), os.path.join(folder, 'out.csv')
    with open(path, 'w', encoding='utf-8') as f:
        f.write(scene.text())
    r = subprocess.run([PERP, 'simulate', path, '--formulation', *SPELT.get(formulation, formulation).split(), '--series', table, '--forces', '--json', '--sample', f'{scene.h} s', *([] if ' --ode' in formulation else OPTIONS.get(formulation, []))],
                       capture_output=True, text=True)
    if r.returncode not in (0, 9):
        return r.returncode, r.stderr.strip(), []
    with open(table, newline='', encoding='utf-8') as f:
        rows = [{k.split('[')[0]: float(v) if v else math.nan for k, v in row.items()} for row in csv.DictReader(f)]
    return 0, json.loads(r.stdout), rows


class State:
    """x, R, v, omega of each body in a row; the world is None"""

    def __init__(self, scene, row):
        self.of, self.row = {'world': ([0] * 3, [1, 0, 0, 0], [0] * 3, [0] * 3)}, row
        for i, name in enumerate(scene.bodies):
            q = [row[f'q{7 * i + k}'] for k in range(7)]
            v = [row[f'v{6 * i + k}'] for k in range(6)]
            self.of[name] = q[:3], q[3:], v[:3], turned(q[3:], v[3:])

    def forces(self, scene, at=None):
        """body -> [force, torque about its centre], and the sum of the sizes of both; at: where the bodies are"""
        of, row = (at or self).of, self.row
        out, size = {name: [0.0] * 6 for name in of}, {name: [0.0] * 2 for name in of}

        def act(body, point, f, t, sign):
            arm = sub(point, of[body][0])
            out[body] = add(out[body], scaled(sign, f + add(t, cross(arm, f))))
            size[body] = add(size[body], [length(f), length(t) + length(arm) * length(f)])

        for j in scene.joints:
            x, q = of[j.b][:2]
            point = add(x, turned(q, sub(j.at, scene.bodies[j.b].x)))
            f = [row[f'{j.name}.f{c}'] for c in 'xyz']
            t = [row[f'{j.name}.t{c}'] for c in 'xyz']
            if j.drives:
                axis = turned(of[j.a][1], list(j.axis))
                for i in range(len(j.drives)):
                    if j.kind == 'slider':
                        f = add(f, scaled(row[f'{j.name}_{i}.force'], axis))
                    else:
                        t = add(t, scaled(row[f'{j.name}_{i}.torque'], axis))
            act(j.b, point, f, t, 1)
            act(j.a, point, f, t, -1)
        for a, b in scene.pairs:
            f, t, p = ([row[f'contact.{a}.{b}.{k}{c}'] for c in 'xyz'] for k in 'ftp')
            if length(f) + length(t) > 0:
                act(b, p, f, t, 1)
                act(a, p, f, t, -1)
        return out, size


def mean_of_step(rows, way):
    """The first row has no forces where they are means of the step that ends in a row."""
    return way != TOL and any(math.isnan(x) for k, x in rows[0].items() if k.endswith('.fx'))


def balance(scene, rows, way):
    """(linear, angular): the largest share of the impulses on a body by which its momentum is not theirs"""
    states = [State(scene, row) for row in rows]
    at_state = not mean_of_step(rows, way)
    total = {name: [0.0] * 6 for name in scene.bodies}
    size = {name: [0.0] * 2 for name in scene.bodies}
    unknown = [any(math.isnan(x) for k, x in row.items() if re.search(r'\.[ft]x$|\.force$|\.torque$', k)) for row in rows[:2]]
    if at_state and unknown[0] or unknown[1]:
        states = states[1:] # no forces of the first step
    for before, after in zip(states, states[1:]):
        h = after.row['t'] - before.row['t']
        if at_state:
            both = [before.forces(scene), after.forces(scene)]
        else:
            both = [after.forces(scene, before), after.forces(scene)]
        for name in scene.bodies:
            for f, sizes in both:
                total[name] = add(total[name], scaled(h / 2, f[name]))
                size[name] = add(size[name], scaled(h / 2, sizes[name]))
    worst = [0.0, 0.0]
    for name, body in scene.bodies.items():
        span = states[-1].row['t'] - states[0].row['t']
        v0, w0, v1, w1 = states[0].of[name][2:] + states[-1].of[name][2:]
        off = sub(add(total[name], [0, 0, -body.mass * G * span, 0, 0, 0]),
                  scaled(body.mass, sub(v1, v0)) + scaled(body.inertia, sub(w1, w0)))
        for i in range(2):
            worst[i] = max(worst[i], length(off[3 * i:3 * i + 3]) / size[name][i] if size[name][i] else 0)
    return worst


# Shares of the impulses that rounding, first order and what is approximate may leave. Bodies of point-mass are points whose
# rigidity is iterated, avbd stops at an error of its constraints.
EXACT, LINEAR, ANGULAR = 1e-10, 0.01, 0.03
# Newton's method of ipc ends at a speed of 1e-11 m/s
ROUGH = {('point-mass', 'balls'): 0.02, ('ipc', 'turning'): 1e-8}
# of order 1 where servos begin: 0.013 in steps of 0.25 ms
TURNS = {('moreau-jean', 'servos'): 0.06, ('nonsmooth-alpha', 'servos'): 0.06}
# motors of soft-constraints are as soft as its contacts
OTHER = (('soft-constraints', 'motors'),)
# of order 1: 12 mm in steps of 1 ms, 3 mm in steps of 0.25 ms
FAR = {('tgs', 'motors'): 0.015}
APPROXIMATE = ('avbd', 'point-mass', 'reduced')


def serves(scene, name, caps):
    if name == 'groups': # steps of different lengths: refuses --forces
        return False
    if name == 'point-mass':
        return scene.name == 'balls'
    if 'edges' in scene.needs:
        return name == 'ipc'
    if 'means' in scene.needs: # formulations of which a mean is known
        return scene.needs - {'means'} | {'contacts'} <= caps and name.startswith(('velocity', 'reduced', 'regularized', 'si-'))
    return scene.needs <= caps | ({'servos'} if 'drives' in caps else set())


def energy(scene, state):
    total = 0.0
    for name, body in scene.bodies.items():
        x, _, v, w = state.of[name]
        total += 0.5 * body.mass * length(v) ** 2 + 0.5 * body.inertia * length(w) ** 2 + body.mass * G * x[2]
    return total


def bounds(scene, name, rows):
    """motors pull at their limit and never beyond it, stops push only, contacts push, friction stays in its cone"""
    most = lambda column: max(abs(r[column]) for r in rows[1:])
    if scene.name == 'motors':
        ok((29.9 if (name, scene.name) not in OTHER else 1) < most('shoulder_0.torque') <= 30 * (1 + 1e-9), f'{name}, {scene.name}: the motor ends at 30 Nm', most('shoulder_0.torque'))
        ok(most('rail_0.force') <= 2 * (1 + 1e-9), f'{name}, {scene.name}: dry friction ends at 2 N', most('rail_0.force'))
        stop = [r['stop_0.torque'] for r in rows[1:]]
        ok(max(stop) <= 1e-9 and min(stop) < -1.4, f'{name}, {scene.name}: the stop pushes back only', (min(stop), max(stop)))
    for a, b in scene.pairs:
        least, slip = math.inf, 0.0
        for r in rows[1:]:
            fx, fy, fz = (r[f'contact.{a}.{b}.f{c}'] for c in 'xyz')
            if a == 'world':
                least = min(least, fz)
                slip = max(slip, math.hypot(fx, fy) - scene.mu * fz)
        if a == 'world':
            ok(least >= -1e-9, f'{name}, {scene.name}: {b} is pushed by the floor, not pulled', least)
            ok(slip <= 1e-6 * G, f'{name}, {scene.name}: friction of {b} stays within its bound', slip)


def outputs(folder, scene, name, truths, judged=True):
    """Everything that a run says, in a scene that the formulation serves; not judged: where it ends is the truth of others"""
    status, said, rows = run(folder, scene, name)
    who = f'{name}, {scene.name}'
    if status == 2 and 'was built without it' in said:
        skip(f'{name} is not built', who)
        return
    ok(status == 0 and len(rows) > 20, f'{who}: runs', f'{status} {said}')
    if status != 0:
        return
    first, last = State(scene, rows[0]), State(scene, rows[-1])
    if scene.name not in truths: # the first is acceleration with Runge and Kutta
        truths[scene.name] = [last.of[b][0] for b in scene.bodies]
    if not judged:
        return
    linear, angular = balance(scene, rows, name)
    exact = mean_of_step(rows, name) and not scene.needs & {'drives', 'servos'} and name not in APPROXIMATE
    allowed = ROUGH.get((name, scene.name), EXACT if exact else LINEAR)
    ok(linear <= allowed, f'{who}: momentum changes by the reported forces', linear)
    ok(angular <= TURNS.get((name, scene.name), ANGULAR), f'{who}: angular momentum changes by their moments', angular)
    if 'stiffness' not in scene.text():
        want, got = energy(scene, last) - energy(scene, first), rows[-1]['energy'] - rows[0]['energy']
        ok(abs(want - got) <= 1e-6 * (1 + abs(want)), f'{who}: the energy is that of the state', (got, want))
    bounds(scene, name, rows)
    if scene.joints: # corrections make errors of joints smaller
        before, after = (sum(r[c] for r in rows[1:]) for c in ('drift.pos.pre', 'drift.pos'))
        ok(before >= after / 2, f'{who}: joint errors before corrections are those of the step', (before, after))
    off = max(length(sub(last.of[b][0], x)) for b, x in zip(scene.bodies, truths[scene.name]))
    ok(off <= FAR.get((name, scene.name), 0.01) or (name, scene.name) in OTHER, f'{who}: ends where acceleration does', off)


def series(folder, text, method, *options):
    """The rows of a run of the scene, without units, and what it said."""
    path = os.path.join(folder, 'scene.yaml')
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    r = subprocess.run([PERP, 'simulate', path, '--formulation', method, '--series', '-', *options], capture_output=True, text=True)
    return [{k.split('[')[0]: x for k, x in row.items()} for row in csv.DictReader(r.stdout.splitlines())], r.stderr


def acting(folder):
    for method in ('velocity', 'velocity-midpoint', 'acceleration'):
        rows, said = series(folder, STICKS, method)
        off = abs(float(rows[-1]['q0']) - float(rows[0]['q0'])) if rows else math.nan
        ok(off < 1e-4, f'{method}: what rests on a slope below its static friction goes on to rest', f'{off} m {said}')
    for method in ('velocity', 'velocity-midpoint:threshold=1'):
        rows, said = series(folder, LANDS, method)
        gap = float(rows[-1]['q2']) - 0.1 if rows else math.nan
        ok(abs(gap) < 1e-6, f'{method}: a ball that comes down slowly ends on the ground', f'{gap} m {said}')
    for method, caps in registry().items():
        if 'contacts' not in caps or method == 'point-mass':
            continue
        scene = SLIDES.replace('mu: 0.5', 'mu: 0.3') if method in ONE_FRICTION else SLIDES
        rows, said = series(folder, scene, SPELT.get(method, method), '--sample', '0.1 s',
                            *(OPTIONS[method] if method in ('acceleration', 'penalty') else []))
        for t, most in zip((0.1, 0.2, 0.3), SLIDES_OFF.get(method, (2e-4, 3.5e-4, 4.5e-4))):
            stop = min(t, 0.8 / (0.3 * G))
            want = 0.8 * stop - 0.3 * G * stop * stop / 2
            off = min((abs(float(row['q0']) - want) for row in rows if abs(float(row['t']) - t) < 1e-6), default=math.nan)
            ok(off < most, f'{method}: a block that slides is where dynamic friction leaves it at {t} s', f'{off} m {said}')
    for scene, method, metric, most, what in ACTING:
        r = subprocess.run([PERP, 'simulate', *scene.split(), '--formulation', *method.split(), '--json'], capture_output=True, text=True)
        got = json.loads(r.stdout)['metrics'].get(metric, math.nan) if r.returncode in (0, 9) else math.nan
        ok(got <= most, f'{scene}, {method}: {what}', f'{metric} {got:.3g} (most {most:g}) {r.stderr}')
    r = subprocess.run([PERP, 'simulate', 'billiard', '--formulation', 'acceleration', '--lcp', 'pgs:max_iter=3', '--json'],
                       capture_output=True, text=True)
    ok(r.returncode == 10 and 'no impulses were found' in r.stdout + r.stderr, 'billiard: an impact that is solved poorly ends the run',
          f'{r.returncode} {r.stdout[:300]}')


def groups(names):
    """formulation -> the test that runs it, by the file with its descriptor"""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'models', 'formulations')
    folder = {}
    for base, _, files in os.walk(source):
        for f in (x for x in files if x.endswith('.c')):
            with open(os.path.join(base, f), encoding='utf-8') as text:
                for name in re.findall(r'perp_formulation_desc perp_formulation_\w+ = \{\s*\.d = \{ \.name = "([^"]+)"', text.read()):
                    folder[name] = os.path.basename(base)
    return {n: n if n in OWN else FOLDERS.get(folder.get(n), 'rest') for n in names}


def main(only):
    acts = not only or only == ['--group', 'acting']
    if only[:1] == ['--group']:
        group = groups(registry())
        only = [n for n in group if group[n] == only[1]] or [None]
    with tempfile.TemporaryDirectory() as folder:
        truths = {}
        for name, caps in registry().items():
            if name not in (only or [name]) and (name != 'acceleration' or only == [None]): # whose states are the truth
                continue
            for scene in SCENES:
                if serves(scene, name, caps):
                    for way in [name] + VARIANTS.get(name, []):
                        if way == TOL and scene.name not in ('joints', 'balls', 'servos'):
                            continue
                        outputs(folder, scene, way, truths, name in (only or [name]))
                elif not scene.needs & {'means', 'edges'}:
                    status, said, _ = run(folder, scene, name)
                    ok(status in (2, 3) and 'formulation' in said, f'{name}, {scene.name}: refused with a reason', f'{status} {said}')
        if acts:
            acting(folder)
    done()


main(sys.argv[1:])
