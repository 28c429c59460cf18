# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges of the soak: energy, momenta and laws of contact from the states that a run writes and the numbers of the scene.

Nothing here is taken from perp's own metrics. States are those of --series: q0, q1, ... and v0, v1, ...
"""
import math


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def turned(q, a):
    """a of the frame of a body with the unit quaternion q, in the world."""
    n = math.sqrt(sum(x * x for x in q))
    w, u = q[0] / n, [x / n for x in q[1:]]
    t = [2 * x for x in cross(u, a)]
    return [a[i] + w * t[i] + cross(u, t)[i] for i in range(3)]


def point(dim, q, a):
    if dim == 2:
        c, s = math.cos(q[2]), math.sin(q[2])
        return [q[0] + c * a[0] - s * a[1], q[1] + s * a[0] + c * a[1]]
    return [x + y for x, y in zip(q[:3], turned(q[3:], a))]


def states(scene, row):
    """(q, v) of each body; the quaternion is normalized."""
    dim = scene['scene']['dim']
    nq, nv = (3, 3) if dim == 2 else (7, 6)
    return [([row['q%d' % (nq * i + k)] for k in range(nq)], [row['v%d' % (nv * i + k)] for k in range(nv)]) for i in range(len(scene['bodies']))]


def inertia(b):
    return b['inertia']


def energy(scene, row):
    dim, g = scene['scene']['dim'], scene['scene']['gravity']
    s = states(scene, row)
    e = 0.0
    for b, (q, v) in zip(scene['bodies'], s):
        e += 0.5 * b['mass'] * sum(x * x for x in v[:dim]) + b['mass'] * g * q[dim - 1]
        e += 0.5 * inertia(b) * v[2] ** 2 if dim == 2 else 0.5 * sum(i * w * w for i, w in zip(inertia(b), v[3:]))
    index = {b['name']: i for i, b in enumerate(scene['bodies'])}
    for f in scene.get('forces', []):
        if f['kind'] != 'spring':
            continue
        p = [point(dim, s[index[f[k]]][0], f['anchor_' + k]) if f[k] != 'world' else f['anchor_' + k] for k in 'ab']
        e += 0.5 * f['stiffness'] * (math.dist(*p) - f['length']) ** 2
    return e


def energy_scale(scene, rows):
    """The kinetic energy at its largest, and what gravity and springs exchange: never 0."""
    dim = scene['scene']['dim']
    most = 0.0
    for row in rows:
        e = 0.0
        for b, (q, v) in zip(scene['bodies'], states(scene, row)):
            e += 0.5 * b['mass'] * sum(x * x for x in v[:dim])
            e += 0.5 * inertia(b) * v[2] ** 2 if dim == 2 else 0.5 * sum(i * w * w for i, w in zip(inertia(b), v[3:]))
        most = max(most, e)
    return most + 1e-3 * sum(b['mass'] for b in scene['bodies'])


def momenta(scene, row):
    """Linear momentum, and angular momentum about the centre of mass."""
    dim = scene['scene']['dim']
    s = states(scene, row)
    m = [b['mass'] for b in scene['bodies']]
    total = sum(m)
    P = [sum(k * v[i] for k, (q, v) in zip(m, s)) for i in range(dim)]
    c = [sum(k * q[i] for k, (q, v) in zip(m, s)) / total for i in range(dim)]
    L = [0.0] * (1 if dim == 2 else 3)
    for b, k, (q, v) in zip(scene['bodies'], m, s):
        d = [q[i] - c[i] for i in range(dim)]
        if dim == 2:
            L[0] += k * (d[0] * v[1] - d[1] * v[0]) + inertia(b) * v[2]
        else:
            spin = turned(q[3:], [i * w for i, w in zip(inertia(b), v[3:])])
            L = [L[i] + k * cross(d, v[:3])[i] + spin[i] for i in range(3)]
    return P, L


def momentum_scale(scene, row):
    dim = scene['scene']['dim']
    p, l = 0.0, 0.0
    for b, (q, v) in zip(scene['bodies'], states(scene, row)):
        speed = math.sqrt(sum(x * x for x in v[:dim]))
        p += b['mass'] * (speed + 0.01)
        l += b['mass'] * (speed + 0.01) * 0.5 + (abs(inertia(b) * v[2]) if dim == 2 else sum(abs(i * w) for i, w in zip(inertia(b), v[3:])))
    return p, l


def distance(scene, a, b):
    """Largest distance of two states: of places and of directions of the axes; about how far points of the bodies are apart [m]."""
    dim = scene['scene']['dim']
    worst = 0.0
    for (p, _), (q, _) in zip(states(scene, a), states(scene, b)):
        worst = max(worst, math.dist(p[:dim], q[:dim]))
        if dim == 2:
            worst = max(worst, 2 * abs(math.sin((p[2] - q[2]) / 2)))
        else:
            n = math.sqrt(sum(x * x for x in p[3:]) * sum(x * x for x in q[3:]))
            s = abs(sum(x * y for x, y in zip(p[3:], q[3:]))) / n
            worst = max(worst, 2 * math.sqrt(max(0.0, 1 - min(1.0, s) ** 2)))
    return worst


def travel(scene, rows):
    return max(distance(scene, rows[0], r) for r in rows) + 1e-2


def violation(scene, rows):
    """Largest distance of the two points of a joint that has one point (ball, hinge, universal), by its anchors at the start."""
    dim = scene['scene']['dim']
    index = {b['name']: i for i, b in enumerate(scene['bodies'])}
    first, worst = states(scene, rows[0]), 0.0

    def local(i, at):
        q = first[i][0]
        d = [x - y for x, y in zip(at, q[:dim])]
        if dim == 2:
            c, s = math.cos(q[2]), math.sin(q[2])
            return [c * d[0] + s * d[1], -s * d[0] + c * d[1]]
        return turned([q[3], -q[4], -q[5], -q[6]], d)

    for j in scene.get('joints', []):
        if j['kind'] not in ('ball', 'hinge', 'universal'):
            continue
        ends = [(index[j[k]], local(index[j[k]], j['at'])) if j[k] != 'world' else None for k in 'ab']
        for row in rows:
            s = states(scene, row)
            p = [point(dim, s[e[0]][0], e[1]) if e else j['at'] for e in ends]
            worst = max(worst, math.dist(*p))
    return worst


def lowest(dim, shape, q):
    """Height of the lowest point of a sphere, a box or a capsule above z = 0 (in the plane y); None for others."""
    if shape['kind'] == 'sphere':
        return q[dim - 1] - shape['radius']
    if shape['kind'] == 'capsule':
        e = [shape['length'] / 2] + [0.0] * (dim - 1)
        return min(point(dim, q, e)[-1], point(dim, q, [-x for x in e])[-1]) - shape['radius']
    if shape['kind'] != 'box':
        return None
    half = [a / 2 for a in shape['size']]
    corners = [[]]
    for a in half:
        corners = [c + [sign * a] for c in corners for sign in (-1, 1)]
    return min(point(dim, q, c)[-1] for c in corners)


def floor_forces(scene, row):
    """(normal, tangential) force of the world's plane z = 0 on each body that it touches, from the columns of --forces."""
    dim = scene['scene']['dim']
    for b in scene['bodies']:
        key = 'contact.world.%s.f' % b['name']
        if key + 'x[N]' not in row:
            continue
        f = [row.get(key + c + '[N]', 0.0) for c in ('xy' if dim == 2 else 'xyz')]
        if any(x != x for x in f):
            continue
        yield b['name'], f[-1], math.sqrt(sum(x * x for x in f[:-1]))
