# SPDX-License-Identifier: GPL-3.0-or-later
"""Random scenes of the soak: dictionaries that are written as scene files (JSON is YAML).

All numbers that a judge needs are in the scene itself: masses, moments of inertia, springs, gravity.
"""
import math

KINDS = ['tree', 'loop', 'free', 'driven', 'drop', 'slide', 'collide', 'shipped', 'lcp', 'input']


def number(r, lo, hi):
    """Three digits, evenly spread over the logarithm."""
    return float('%.3g' % math.exp(r.uniform(math.log(lo), math.log(hi))))


def vector(r, size, n):
    return [float('%.3g' % r.uniform(-size, size)) for _ in range(n)]


def unit(r, n=3):
    while True:
        a = [r.gauss(0, 1) for _ in range(n)]
        s = math.sqrt(sum(x * x for x in a))
        if s > 0.1:
            return [x / s for x in a]


def moments(r, mass, size):
    """Moments of a cuboid: they satisfy the triangle inequality."""
    a, b, c = (number(r, 0.3 * size, 2 * size) for _ in range(3))
    return [float('%.4g' % (mass / 12 * x)) for x in (b * b + c * c, a * a + c * c, a * a + b * b)]


def body(r, dim, name, x):
    mass = number(r, 0.1, 10)
    inertia = moments(r, mass, 0.5)
    return {'name': name, 'mass': mass, 'inertia': inertia if dim == 3 else inertia[0], 'x': x}


def place(r, dim, scene_bodies, step=0.6):
    last = scene_bodies[-1]['x'] if scene_bodies else [0.0] * dim
    return [float('%.4g' % (a + step * d)) for a, d in zip(last, unit(r, dim))]


def rotate(q, a):
    w, x, y, z = q
    t = [2 * (y * a[2] - z * a[1]), 2 * (z * a[0] - x * a[2]), 2 * (x * a[1] - y * a[0])]
    return [a[i] + w * t[i] + [y * t[2] - z * t[1], z * t[0] - x * t[2], x * t[1] - y * t[0]][i] for i in range(3)]


def middle(a, b, t=0.5):
    return [float('%.6g' % (x + t * (y - x))) for x, y in zip(a, b)]


def spin_together(r, dim, bodies):
    """All bodies move as one rigid body: no joint is violated."""
    v, w = vector(r, 1, dim), vector(r, 3, 3)
    for b in bodies:
        x = [p - q for p, q in zip(b['x'], bodies[0]['x'])]
        if dim == 2:
            b['v'] = [v[0] - w[2] * x[1], v[1] + w[2] * x[0]]
            b['w'] = w[2]
        else:
            b['v'] = [v[0] + w[1] * x[2] - w[2] * x[1], v[1] + w[2] * x[0] - w[0] * x[2], v[2] + w[0] * x[1] - w[1] * x[0]]
            q = b.get('quat', [1, 0, 0, 0])
            b['w'] = rotate([q[0], -q[1], -q[2], -q[3]], w)


def joint(r, dim, a, b, at, kinds=None):
    kind = r.choice(kinds or (['ball', 'slider', 'hinge'] if dim == 2 else ['ball', 'ball', 'hinge', 'hinge', 'universal', 'slider', 'cylindrical']))
    j = {'name': 'j%s_%s' % (a, b), 'kind': kind, 'a': a, 'b': b, 'at': at}
    if kind in ('slider', 'cylindrical') or (kind == 'hinge' and dim == 3):
        j['axis'] = unit(r, dim)
    if kind == 'universal':
        u = unit(r)
        v = unit(r)
        s = sum(p * q for p, q in zip(u, v))
        v = [q - s * p for p, q in zip(u, v)]
        n = math.sqrt(sum(q * q for q in v))
        if n < 0.1:
            j['kind'] = 'ball'
        else:
            j['axis_a'], j['axis_b'] = u, [q / n for q in v]
            j['soak_world'] = True
    return j


def springs(r, dim, names, count, damped=False):
    out = []
    for _ in range(count):
        a, b = r.sample(names, 2)
        f = {'kind': 'spring', 'a': a, 'b': b, 'stiffness': number(r, 1, 200), 'length': number(r, 0.1, 1),
             'anchor_a': vector(r, 0.2, dim), 'anchor_b': vector(r, 0.2, dim)}
        if damped:
            f['damping'] = number(r, 0.1, 5)
        out.append(f)
    return out


def head(r, dim, gravity, t_end, **more):
    return {'schema': 'perp-scene/1', 'scene': dict(summary='soak', dim=dim, gravity=gravity, t_end=t_end, h=r.choice([0.004, 0.002, 0.001]), **more)}


def tree(r, floating=False):
    dim = r.choice([2, 3])
    s = head(r, dim, r.choice([0, 9.81]), number(r, 0.1, 0.6))
    bodies, joints = [], []
    for i in range(r.randint(1 if not floating else 2, 6)):
        b = body(r, dim, 'b%d' % i, place(r, dim, bodies))
        if dim == 3 and r.random() < 0.5:
            b['quat'] = unit(r, 4)
        if i or not floating:
            parent = r.randrange(i) if i and r.random() < 0.9 or (i and floating) else None
            base = bodies[parent]['x'] if parent is not None else [0.0] * dim
            joints.append(joint(r, dim, 'b%d' % parent if parent is not None else 'world', b['name'], middle(base, b['x'])))
        bodies.append(b)
    of = {b['name']: b.get('quat') for b in bodies}
    for j in joints: # axes of a universal joint are those of the bodies
        if j.pop('soak_world', False):
            for end in 'ab':
                q = of.get(j[end])
                if q:
                    j['axis_' + end] = rotate([q[0], -q[1], -q[2], -q[3]], j['axis_' + end])
    if floating:
        spin_together(r, dim, bodies)
    names = [b['name'] for b in bodies] + ([] if floating else ['world'])
    forces = springs(r, dim, names, r.randint(0, 2)) if len(names) > 1 else []
    s.update(bodies=bodies, joints=joints, forces=forces)
    return s


def loop(r):
    """A closed polygon of bars in the plane; in space the same on hinges across it (redundant) or on balls and one hinge."""
    dim = r.choice([2, 3])
    s = head(r, dim, 9.81, number(r, 0.1, 0.5))
    n = r.randint(3, 6)
    corners = []
    for i in range(n + 1):
        a = 2 * math.pi * (i + 0.6 * r.random()) / (n + 1)
        corners.append([float('%.4g' % (math.cos(a) * number(r, 0.5, 1))), float('%.4g' % (math.sin(a)))])
    if dim == 3:
        corners = [[x, 0.0, z] for x, z in corners]
    bodies, joints = [], []
    for i in range(n):
        bodies.append(body(r, dim, 'b%d' % i, middle(corners[i], corners[i + 1])))
    for i in range(n + 1):
        a, b = ('b%d' % (i - 1) if i else 'world'), ('b%d' % i if i < n else 'world')
        j = {'name': 'j%d' % i, 'kind': 'hinge', 'a': a, 'b': b, 'at': corners[i]}
        if b == 'world':
            j['a'], j['b'] = 'world', a
        if dim == 3:
            j['axis'] = [0, 1, 0]
        joints.append(j)
    s.update(bodies=bodies, joints=joints, forces=springs(r, dim, ['b%d' % i for i in range(n)], r.randint(0, 1)))
    return s


def driven(r):
    s = tree(r)
    s['scene']['driven'] = True
    s['drives'] = []
    for j in s['joints']:
        if j['kind'] in ('hinge', 'slider') and r.random() < 0.8:
            d = {'joint': j['name']}
            what = r.choice(['servo', 'motor', 'limit', 'friction', 'armature'])
            if what == 'servo':
                d.update(stiffness=number(r, 1, 100), damping=number(r, 0.1, 10), target=r.choice([0.3, '0.3 * sin(5 * t)', 0]))
                if isinstance(d['target'], str):
                    d['target'] = {'kind': 'sine', 'amplitude': 0.3, 'rate': 5}
            elif what == 'motor':
                d.update(velocity=number(r, 0.2, 3), max_force=number(r, 0.1, 50))
            elif what == 'friction':
                d.update(velocity=0, max_force=number(r, 0.05, 5))
            elif what == 'limit':
                d.update(lower=-number(r, 0.02, 1), upper=number(r, 0.02, 1), restitution=r.choice([0, 0.5]), max_force=0)
            else:
                d.update(armature=number(r, 0.01, 1), stiffness=number(r, 1, 50), damping=0)
            s['drives'].append(d)
    if r.random() < 0.4:
        s['forces'] += springs(r, s['scene']['dim'], [b['name'] for b in s['bodies']] + ['world'], 1, True)
    if r.random() < 0.4:
        s['forces'].append({'kind': 'drag', 'a': s['bodies'][0]['name'], 'linear': number(r, 0.1, 3), 'quadratic': number(r, 0.01, 1), 'angular': number(r, 0.01, 1)})
    return s


def solid(r, dim):
    kind = r.choice(['sphere', 'box', 'box', 'capsule'] if dim == 2 else ['sphere', 'box', 'box', 'capsule', 'cylinder', 'ellipsoid', 'cone'])
    if kind == 'sphere':
        return {'kind': kind, 'radius': number(r, 0.05, 0.4)}, None
    if kind == 'box':
        return {'kind': kind, 'size': [number(r, 0.1, 0.6) for _ in range(dim)]}, None
    if kind == 'ellipsoid':
        return {'kind': kind, 'half': [number(r, 0.1, 0.3) for _ in range(3)]}, None
    return {'kind': kind, 'radius': number(r, 0.05, 0.2), 'length': number(r, 0.1, 0.5)}, None


def reach(shape):
    """Radius of a sphere around the origin of the shape that holds it."""
    if shape['kind'] == 'sphere':
        return shape['radius']
    if shape['kind'] == 'box':
        return math.sqrt(sum((a / 2) ** 2 for a in shape['size']))
    if shape['kind'] == 'ellipsoid':
        return max(shape['half'])
    return shape['radius'] + shape['length']


def heap(r, dim, count, spheres=False):
    bodies, high = [], 0.0
    for i in range(count):
        shape = {'kind': 'sphere', 'radius': number(r, 0.05, 0.3)} if spheres else solid(r, dim)[0]
        high += reach(shape) + number(r, 0.005, 0.3)
        x = vector(r, 0.15, dim)
        x[-1] = high
        high += reach(shape)
        b = body(r, dim, 'b%d' % i, x)
        if dim == 3 and r.random() < 0.7:
            b['quat'] = unit(r, 4)
        if dim == 2 and r.random() < 0.7:
            b['angle'] = r.uniform(-3, 3)
        b['v'] = vector(r, 1.5, dim)
        b['w'] = vector(r, 5, 3) if dim == 3 else r.uniform(-5, 5)
        b['shape'] = shape
        bodies.append(b)
    return bodies


def drop(r):
    dim = r.choice([2, 3])
    spheres = r.random() < 0.4
    s = head(r, dim, 9.81, number(r, 0.2, 0.8), size=0.3, dissipative=True)
    s.update(bodies=heap(r, dim, r.randint(1, 4), spheres), shapes=[{'body': 'world', 'kind': 'plane'}],
             materials={'default': {'mu': r.choice([0, 0.2, 0.5, 1]), 'restitution': r.choice([0, 0, 0.4, 1])}})
    return s


def slide(r):
    """One ball or box that starts on an inclined plane, with or without a spin."""
    dim = r.choice([2, 3])
    s = head(r, dim, 9.81, number(r, 0.1, 0.5), size=0.3, dissipative=True)
    shape = {'kind': 'sphere', 'radius': number(r, 0.05, 0.3)} if r.random() < 0.6 else {'kind': 'box', 'size': [number(r, 0.1, 0.5) for _ in range(dim)]}
    up = shape['radius'] if shape['kind'] == 'sphere' else shape['size'][-1] / 2
    tilt = r.choice([0, 0, 0.2, 0.5])
    x = [up * math.sin(tilt)] + [0.0] * (dim - 2) + [up * math.cos(tilt)]
    b = body(r, dim, 'b0', x)
    if shape['kind'] == 'sphere':
        b['w'] = vector(r, 10, 3) if dim == 3 else r.uniform(-10, 10)
    along = r.uniform(-1, 1)
    b['v'] = [along * math.cos(tilt)] + [0.0] * (dim - 2) + [-along * math.sin(tilt)]
    plane = {'body': 'world', 'kind': 'plane'}
    if tilt and dim == 3:
        plane['turn'] = b['turn'] = {'axis': [0, 1, 0], 'angle': tilt}
    elif tilt:
        plane['angle'] = b['angle'] = -tilt
    b['shape'] = shape
    mu = r.choice([0, 0.1, 0.3, 0.6, 1])
    s.update(bodies=[b], shapes=[plane], materials={'default': {'mu': mu, 'restitution': 0}})
    s['soak_tilt'] = tilt
    return s


def collide(r):
    """Bodies without gravity that meet: both momenta are constant."""
    dim = r.choice([2, 3])
    s = head(r, dim, 0, number(r, 0.3, 0.8), size=0.3, dissipative=True)
    bodies = heap(r, dim, r.randint(2, 4), r.random() < 0.3)
    for b in bodies:
        b['v'] = [p - 3 * (q - (bodies[0]['x'][i] + bodies[-1]['x'][i]) / 2) for i, (p, q) in enumerate(zip(vector(r, 0.3, dim), b['x']))]
    s.update(bodies=bodies, materials={'default': {'mu': r.choice([0, 0.3, 0.8]), 'restitution': r.choice([0, 0.5, 1])}})
    if r.random() < 0.4 and len(bodies) > 2:
        s['forces'] = springs(r, dim, [b['name'] for b in bodies], 1)
    return s


def make(r, kind):
    return {'tree': tree, 'loop': loop, 'driven': driven, 'drop': drop, 'slide': slide, 'collide': collide,
            'free': lambda q: tree(q, True)}[kind](r)
