#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of reference solutions of loop-arch, boxes-four-bar, biped, slider-crank-clearance and woodpecker, from equations in
coordinates of their own that know nothing of perp.  Writes them into the working folder: python3 make_truths.py [NAME...] (minutes)."""
import math
import sys

G = 9.81


def rk4(f, y, h):
    k1 = f(y)
    k2 = f([a + h / 2 * b for a, b in zip(y, k1)])
    k3 = f([a + h / 2 * b for a, b in zip(y, k2)])
    k4 = f([a + h * b for a, b in zip(y, k3)])
    return [a + h / 6 * (p + 2 * q + 2 * r + s) for a, p, q, r, s in zip(y, k1, k2, k3, k4)]


def flow(f, y, t_end, ends=lambda y: 1.0, h=2e-5):
    """y(t) of y' = f(y), and the time at which `ends` passes 0 (None: not before t_end)."""
    points, end = [list(y)], None
    for i in range(round(t_end / h)):
        y = rk4(f, points[-1], h)
        if ends(y) <= 0:
            low, high = 0.0, h
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if ends(rk4(f, points[-1], middle)) > 0 else (low, middle)
            end = i * h + low
            break
        points.append(y)

    def at(t):
        i = min(int(t / h + 1e-9), len(points) - 1)
        return rk4(f, points[i], t - i * h)

    return at, end


def write(name, source, bodies, rows):
    columns = ['x [m]', 'y [m]', 'angle [rad]', 'vx [m/s]', 'vy [m/s]', 'omega [rad/s]']
    with open(name, 'w', encoding='utf-8') as file:
        file.write(f'# uncertainty: 1e-9\n# source: {source}\n')
        file.write(', '.join(['t [s]'] + [f'{body}.{c}' for body in bodies for c in columns]) + '\n')
        for row in rows:
            file.write(', '.join(f'{x:.14g}' for x in row) + '\n')


def loop_arch():
    l, lean, m, top, foot, low, half, stop = 0.4, 0.5, 0.3, 2.0, 0.5, 0.025, 0.08, 0.125
    I = m * (l * l + 0.02**2) / 12

    def rates(y):
        s, c = math.sin(y[0]), math.cos(y[0])
        A = 4 * (I + m * l * l / 4) + top * (l * s)**2 + 2 * foot * (l * c)**2
        return [y[1], ((2 * m + top) * G * l * s - (top - 2 * foot) * l * l * s * c * y[1]**2) / A]

    at, end = flow(rates, [lean, 0.0], 1, lambda y: low + l * math.cos(y[0]) - stop)
    rows = []
    for i in range(51):
        th, w = at(0.01 * i) if 0.01 * i < end else (math.acos((stop - low) / l), 0.0)
        s, c, row = l * math.sin(th), l * math.cos(th), [0.01 * i]
        row += [-s, low, 0, -c * w, 0, 0, 0, low + c, 0, 0, -s * w, 0, s, low, 0, c * w, 0, 0]
        for side in (-1, 1):
            for k in (-1, 1):
                row += [side * s / 2 + k * half, low + c / 2, side * th, side * c * w / 2, -s * w / 2, side * w]
        rows.append(row)
    write('loop-arch.csv', f'one angle by RK4 in steps of 20 us, for the defaults; it lands at {end:.12f} s, where all stops',
          ['left', 'middle', 'right', 'up0', 'up1', 'down0', 'down1'], rows)


def boxes_four_bar():
    a, lean, m, top, half, low = 0.3, 0.2, 0.5, 1.0, 0.15, 0.05
    I = m * (a * a + 0.02**2) / 12
    rate = (m + top) * G * a / (2 * (I + m * a * a / 4) + top * a * a)
    at, _ = flow(lambda y: [y[1], rate * math.sin(y[0])], [lean, 0.0], 0.4)
    rows = []
    for i in range(41):
        th, w = at(0.01 * i)
        s, c, row = a * math.sin(th), a * math.cos(th), [0.01 * i, 0, low, 0, 0, 0, 0]
        for k in (-1, 1):
            row += [s / 2 + k * half, low + c / 2, -th, c * w / 2, -s * w / 2, -w]
        rows.append(row + [s, low + c, 0, c * w, -s * w, 0])
    write('boxes-four-bar.csv', 'one angle by RK4 in steps of 20 us, with the lowest link fixed, for the defaults',
          ['base', 'side0', 'side1', 'top'], rows)


def biped():
    l, phi0, th0, low, p, k, d = 0.4, 0.5, -0.6, 0.05, 0.06, 200.0, 4.0  # both servos of a kind
    thigh, shank, knee, trunk = 0.2, 0.3, 0.2, 6.0
    It, Is = thigh * (l * l + 0.02**2) / 12, shank * (l * l + 0.02**2) / 12
    A = 4 * (Is + shank * l * l / 4) + (2 * knee + 6 * thigh + trunk) * l * l
    B, C = (3 * thigh + trunk) * l * l, 6 * (It + thigh * l * l / 4) + trunk * l * l

    def rates(y):
        ph, th, a, b = y
        s, c = math.sin(ph - th), math.cos(ph - th)
        P = (2 * shank + 2 * knee + 6 * thigh + trunk) * G * l * math.sin(ph) - k * (ph - phi0) - d * a - B * s * b * b
        Q = (3 * thigh + trunk) * G * l * math.sin(th) - k * (th - th0) - d * b + B * s * a * a
        D = A * C - (B * c)**2
        return [a, b, (C * P - B * c * Q) / D, (A * Q - B * c * P) / D]

    at, _ = flow(rates, [phi0, th0, 0.0, 0.0], 0.5)
    rows = []
    for i in range(51):
        ph, th, a, b = at(0.01 * i)
        sx, sy, tx, ty = l * math.sin(ph), l * math.cos(ph), l * math.sin(th), l * math.cos(th)
        row = [0.01 * i, sx + tx, low + sy + ty, 0, sy * a + ty * b, -sx * a - tx * b, 0]
        for side in (-0.2, 0.2):
            row += [side, low / 2, 0, 0, 0, 0]
        for side in (-0.2, 0.2):
            row += [side + sx, low + sy, 0, sy * a, -sx * a, 0]
        for side in (-0.2, 0.2):
            for j in (-1, 1):
                row += [side + j * p + sx / 2, low + sy / 2, -ph, sy * a / 2, -sx * a / 2, -a]
        for side in (-0.2, 0.2):
            for j in (-1, 0, 1):
                row += [side + j * p + sx + tx / 2, low + sy + ty / 2, -th, sy * a + ty * b / 2, -sx * a - tx * b / 2, -b]
        rows.append(row)
    legs = [f'shank{i}{j}' for i in (0, 1) for j in (0, 1)] + [f'thigh{i}{j}' for i in (0, 1) for j in (0, 1, 2)]
    write('biped.csv', 'two angles by RK4 in steps of 20 us, with the feet fixed, for the defaults',
          ['trunk', 'foot0', 'foot1', 'knee0', 'knee1'] + legs, rows)


# ---- three coordinates with contacts: Moreau's midpoint rule, Newton's law of impact, Coulomb's friction ----


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def inverse(A):
    (a, b, c), (d, e, f), (g, h, i) = A
    p, q, r = e * i - f * h, f * g - d * i, d * h - e * g
    D = a * p + b * q + c * r
    return [[p / D, (c * h - b * i) / D, (b * f - c * e) / D], [q / D, (a * i - c * g) / D, (c * d - a * f) / D],
            [r / D, (b * g - a * h) / D, (a * e - b * d) / D]]


def times(A, x):
    return [dot(row, x) for row in A]


def moreau(scene, q, v, h):
    q = [a + h / 2 * b for a, b in zip(q, v)]
    W = inverse(scene.mass(q))
    middle = [a + h / 2 * b for a, b in zip(v, times(W, scene.force(q, v)))]
    u = [a + h * b for a, b in zip(v, times(W, scene.force(q, middle)))]
    rows = []
    for i, gap in enumerate(scene.gaps(q)):
        if gap > 0:
            continue
        n, t = scene.rows(q, i)
        Wn, Wt = times(W, n), times(W, t)
        rows.append([n, t, Wn, Wt, dot(n, Wn), dot(t, Wt), scene.e[i] * min(0, dot(n, v)), 0.0, 0.0])
    for _ in range(2000 if rows else 0):
        change = 0
        for row in rows:
            n, t, Wn, Wt, An, At, bounce, p, s = row
            row[7] = max(0, p - (dot(n, u) + bounce) / An)
            u = [a + (row[7] - p) * b for a, b in zip(u, Wn)]
            row[8] = min(max(s - dot(t, u) / At, -scene.mu * row[7]), scene.mu * row[7])
            u = [a + (row[8] - s) * b for a, b in zip(u, Wt)]
            change = max(change, abs(row[7] - p) * An, abs(row[8] - s) * At)
        if change < 1e-13:
            break
    return [a + h / 2 * b for a, b in zip(q, u)], u


class Slider:  # angles of crank, rod and block
    l1, l2, m1, m2, m3, J1, J2, J3, mu, e = 0.153, 0.306, 0.038, 0.038, 0.076, 7.4e-5, 5.9e-4, 2.7e-6, 0.01, [0.4] * 4
    corners = [(x, y) for x in (-0.05, 0.05) for y in (-0.025, 0.025)]

    def mass(self, q):
        b = (self.m2 / 2 + self.m3) * self.l1 * self.l2 * math.cos(q[0] - q[1])
        return [[self.J1 + (self.m1 / 4 + self.m2 + self.m3) * self.l1**2, b, 0],
                [b, self.J2 + (self.m2 / 4 + self.m3) * self.l2**2, 0], [0, 0, self.J3]]

    def force(self, q, v):
        k = (self.m2 / 2 + self.m3) * self.l1 * self.l2 * math.sin(q[0] - q[1])
        return [-k * v[1]**2 - G * (self.m1 / 2 + self.m2 + self.m3) * self.l1 * math.cos(q[0]),
                k * v[0]**2 - G * (self.m2 / 2 + self.m3) * self.l2 * math.cos(q[1]), 0]

    def gaps(self, q):
        y, s, c = self.l1 * math.sin(q[0]) + self.l2 * math.sin(q[1]), math.sin(q[2]), math.cos(q[2])
        return [0.026 - math.copysign(1, b) * (y + a * s + b * c) for a, b in self.corners]

    def rows(self, q, i):
        (a, b), s, c = self.corners[i], math.sin(q[2]), math.cos(q[2])
        up = -math.copysign(1, b)
        return ([up * self.l1 * math.cos(q[0]), up * self.l2 * math.cos(q[1]), up * (a * c - b * s)],
                [-self.l1 * math.sin(q[0]), -self.l2 * math.sin(q[1]), -a * s - b * c])


class Woodpecker:  # height of the sleeve, angles of sleeve and bird
    mM, JM, mS, JS, c, r0, ball = 0.0003, 5.0e-9, 0.0045, 7.0e-7, 0.0056, 0.0025, 0.0005
    lM, lG, mu, e = 0.010, 0.015, 0.3, [0.5, 0, 0]
    discs = [(2, -0.0201 + ball, 0.02), (1, 0.0031 + ball, 0.0058), (1, 0.0031 + ball, -0.0058)]  # whose, and where in it

    def mass(self, q):
        a, b = self.mS * self.lM * math.cos(q[1]), self.mS * self.lG * math.cos(q[2])
        d = self.mS * self.lM * self.lG * math.cos(q[1] - q[2])
        return [[self.mM + self.mS, a, b], [a, self.JM + self.mS * self.lM**2, d], [b, d, self.JS + self.mS * self.lG**2]]

    def force(self, q, v):
        m, k, spring = self.mS, self.mS * self.lM * self.lG * math.sin(q[1] - q[2]), self.c * (q[1] - q[2])
        return [-(self.mM + m) * G + m * self.lM * math.sin(q[1]) * v[1]**2 + m * self.lG * math.sin(q[2]) * v[2]**2,
                -m * G * self.lM * math.cos(q[1]) - k * v[2]**2 - spring, -m * G * self.lG * math.cos(q[2]) + k * v[1]**2 + spring]

    def place(self, q, i):
        of, x, y = self.discs[i]
        s, c, n, t = math.sin(q[of]), math.cos(q[of]), [0, 0, 0], [1, 0, 0]
        at, n[of], t[of] = x * c - y * s, -x * s - y * c, x * c - y * s - self.ball
        if of == 2:
            at += self.lM * math.cos(q[1]) + self.lG * c
            n[1], t[1] = -self.lM * math.sin(q[1]), self.lM * math.cos(q[1])
            n[2], t[2] = n[2] - self.lG * s, t[2] + self.lG * c
        return at - self.ball - self.r0, n, t

    def gaps(self, q):
        return [self.place(q, i)[0] for i in range(3)]

    def rows(self, q, i):
        return self.place(q, i)[1:]


def slider_crank(h):
    scene, q, v, rows = Slider(), [0, 0, 0.004], [150.0, -75.0, 0.0], []
    every = round(4e-4 / h)
    for i in range(round(0.02 / h) + 1):
        if i % every == 0:
            rows.append((i * h, scene.l1 * math.cos(q[0]) + scene.l2 * math.cos(q[1])))
        q, v = moreau(scene, q, v, h)
    return rows


def slider_crank_clearance():
    rough, rows = slider_crank(1e-6), slider_crank(5e-7)
    off = max(abs(a[1] - b[1]) for a, b in zip(rough, rows))
    with open('slider-crank-clearance.csv', 'w', encoding='utf-8') as file:
        file.write("# source: Moreau's midpoint rule in three coordinates of its own in steps of 1 and 0.5 us, which differ by "
                   f'{off:.1g} m\n# uncertainty: {off:.1g}\nt [s], block.x [m]\n')
        for t, x in rows:
            file.write(f'{t:.4g}, {x:.9f}\n')


def rises(h):
    scene, q, v, found = Woodpecker(), [0, -0.1, -0.2788], [-0.3411, 0.0, -7.4583], []
    for i in range(round(0.5 / h)):
        before = q[2]
        q, v = moreau(scene, q, v, h)
        if before < 0 <= q[2]:
            found.append(i * h - h * before / (q[2] - before))
    return found


def woodpecker():
    rough, times_up = rises(5e-6), rises(2.5e-6)
    off = max(abs(a - b) for a, b in zip(rough, times_up))
    with open('woodpecker.csv', 'w', encoding='utf-8') as file:
        file.write("# source: Moreau's midpoint rule in three coordinates of its own in steps of 5 and 2.5 us, which differ by "
                   f'{off:.1g} s\n# uncertainty: {off:.1g}\nt [s], event\n')
        for t in times_up:
            file.write(f'{t:.7f}, up\n')


if __name__ == '__main__':
    tables = [loop_arch, boxes_four_bar, biped, slider_crank_clearance, woodpecker]
    for table in tables:
        if len(sys.argv) == 1 or table.__name__.replace('_', '-') in sys.argv[1:]:
            table()
