#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""make_robots.py FOLDER: small robots, each in URDF, in SDF and in MJCF, for tests/import/robots.c.

One description makes all three: what perp reads of a URDF or an SDF is compared with what libmujoco reads of the MJCF, and
of the URDF where it can.  Numbers are drawn from a seed, so that no axis, place or inertia is a special one."""
import math
import pathlib
import random
import sys


def quat(rpy):
    r, p, y = (a / 2 for a in rpy)
    cr, sr, cp, sp, cy, sy = math.cos(r), math.sin(r), math.cos(p), math.sin(p), math.cos(y), math.sin(y)
    return (cr * cp * cy + sr * sp * sy, sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy, cr * cp * sy - sr * sp * cy)


def turn(q, v):
    w, x, y, z = q
    t = [2 * (y * v[2] - z * v[1]), 2 * (z * v[0] - x * v[2]), 2 * (x * v[1] - y * v[0])]
    return [v[0] + w * t[0] + y * t[2] - z * t[1], v[1] + w * t[1] + z * t[0] - x * t[2], v[2] + w * t[2] + x * t[1] - y * t[0]]


def times(a, b):
    return (a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3], a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1], a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0])


def text(v):
    return ' '.join(repr(float(x)) for x in v) if isinstance(v, (list, tuple)) else repr(float(v))


class Robot:
    """Links: name, mass, inertia (ixx iyy izz ixy ixz iyz), its pose, principal moments, their quaternion. Joints: name, type,
    parent, child, pose, axis, more.  plain: the moments are those along the axes of the pose (libmujoco diagonalizes other
    inertias of a URDF to 1e-7 only)."""

    def __init__(self, seed, plain=False):
        self.r, self.plain = random.Random(seed), plain
        self.links, self.joints = [('base', 2.0, (0.1, 0.1, 0.1, 0, 0, 0), (0, 0, 0), (0, 0, 0), (0.1, 0.1, 0.1), (1, 0, 0, 0))], []

    def draw(self, size, n=3):
        return tuple(round(self.r.uniform(-size, size), 3) for _ in range(n))

    def link(self, name, mass=None):
        a, b, c = (self.r.uniform(0.05, 0.1) for _ in range(3))
        m = round(self.r.uniform(0.5, 2), 3) if mass is None else mass
        moments = (b + c, a + c, a + b)
        q = (1, 0, 0, 0) if self.plain else quat(self.draw(1))
        R = list(zip(*[turn(q, v) for v in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]))
        I = [[sum(R[i][k] * moments[k] * R[j][k] for k in range(3)) for j in range(3)] for i in range(3)]
        inertia = (I[0][0], I[1][1], I[2][2], I[0][1], I[0][2], I[1][2])
        self.links.append((name, m, inertia if m > 0 else (0,) * 6, self.draw(0.1), self.draw(1), moments, q))

    def joint(self, name, kind, parent, child, pose=None, axis=None, **more):
        xyz, rpy = pose or (self.draw(0.3), self.draw(1))
        if axis is None:
            axis = self.draw(1)
        self.joints.append((name, kind, parent, child, xyz, rpy, axis, more))

    def chain(self, kinds, **more):
        for i, kind in enumerate(kinds):
            self.link('link%d' % i)
            self.joint('joint%d' % i, kind, 'link%d' % (i - 1) if i else 'base', 'link%d' % i, **more)
        return self

    # ---- the three formats ----

    def urdf(self, head='', tail='', shuffle=False):
        out = []
        for name, m, inertia, xyz, rpy, _, _ in self.links:
            body = ''
            if m > 0:
                pairs = ' '.join('%s="%s"' % p for p in zip(('ixx', 'iyy', 'izz', 'ixy', 'ixz', 'iyz'), map(text, inertia)))
                body = f'<inertial><origin xyz="{text(xyz)}" rpy="{text(rpy)}"/><mass value="{text(m)}"/><inertia {pairs}/></inertial>'
            out.append(f'  <link name="{name}">{body}</link>')
        for name, kind, parent, child, xyz, rpy, axis, more in self.joints:
            parts = ''
            if 'limit' in more:
                parts += '<limit lower="%s" upper="%s" effort="20" velocity="3"/>' % tuple(map(text, more['limit']))
            elif kind in ('revolute', 'prismatic'):
                parts += '<limit lower="-9" upper="9" effort="0" velocity="0"/>'
            if 'damping' in more:
                parts += f'<dynamics damping="{text(more["damping"])}" friction="0"/>'
            if 'mimic' in more:
                parts += '<mimic joint="%s" multiplier="%s" offset="%s"/>' % more['mimic']
            out.append(f'  <joint name="{name}" type="{kind}"><origin xyz="{text(xyz)}" rpy="{text(rpy)}"/>'
                       f'<parent link="{parent}"/><child link="{child}"/><axis xyz="{text(axis)}"/>{parts}</joint>')
        if shuffle:
            self.r.shuffle(out)
        return '<?xml version="1.0"?>\n<robot name="made">\n' + head + '\n'.join(out) + '\n' + tail + '</robot>\n'

    def world(self, link):
        for _, _, parent, child, xyz, rpy, _, _ in self.joints:
            if child == link:
                x, q = self.world(parent)
                return [a + b for a, b in zip(x, turn(q, xyz))], times(q, quat(rpy))
        return [0, 0, 0], (1, 0, 0, 0)

    def sdf(self, relative=False, head='', tail='', fixed=True, fix='world'):
        """relative: poses in the frames of parents; else in the model, as quaternions."""
        out = []
        for name, m, inertia, xyz, rpy, _, _ in self.links:
            own = [j for j in self.joints if j[3] == name]
            if own and relative:
                pose = f'<pose relative_to="{own[0][2]}">{text(own[0][4])} {text(own[0][5])}</pose>'
            else:
                x, q = self.world(name)
                pose = f'<pose rotation_format="quat_xyzw">{text(x)} {text(q[1:])} {text(q[0])}</pose>'
            values = ''.join(f'<{k}>{text(v)}</{k}>' for k, v in zip(('ixx', 'iyy', 'izz', 'ixy', 'ixz', 'iyz'), inertia))
            out.append(f'  <link name="{name}">{pose}<inertial><pose>{text(xyz)} {text(rpy)}</pose><mass>{text(m)}</mass>'
                       f'<inertia>{values}</inertia></inertial></link>')
        for name, kind, parent, child, _, _, axis, more in self.joints:
            kind = 'revolute' if kind == 'continuous' else kind
            where = f'<pose>{text(more["anchor"])} 0 0 0</pose>' if 'anchor' in more else ''
            parts = ''
            if kind not in ('fixed', 'ball'):
                extra = ''
                if 'damping' in more or 'stiffness' in more:
                    extra += (f'<dynamics><damping>{text(more.get("damping", 0))}</damping>'
                              f'<spring_stiffness>{text(more.get("stiffness", 0))}</spring_stiffness>'
                              f'<spring_reference>{text(more.get("reference", 0))}</spring_reference></dynamics>')
                if 'limit' in more:
                    extra += '<limit><lower>%s</lower><upper>%s</upper></limit>' % tuple(map(text, more['limit']))
                in_frame = f' expressed_in="{more["expressed"]}"' if 'expressed' in more else ''
                xyz = axis
                if 'expressed' in more:  # the same direction, said in another frame
                    q = self.world(more['expressed'])[1]
                    xyz = turn((q[0], -q[1], -q[2], -q[3]), turn(self.world(child)[1], axis))
                parts = f'<axis><xyz{in_frame}>{text(list(xyz))}</xyz>{extra}</axis>'
                if 'axis2' in more:
                    parts += f'<axis2><xyz>{text(more["axis2"])}</xyz></axis2>'
            out.append(f'  <joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{where}{parts}'
                       f'{more.get("inside", "")}</joint>')
        if fixed:
            out.append(f'  <joint name="to_world" type="fixed"><parent>{fix}</parent><child>base</child></joint>')
        return ('<?xml version="1.0"?>\n<sdf version="1.9">\n' + head + '<model name="made">\n' + '\n'.join(out) + '\n' + tail +
                '</model>\n' + ('</world>\n' if '<world' in head else '') + '</sdf>\n')

    def mjcf(self, free=False, tail='', gravity='0 0 -9.81'):
        def body(name, pose, joints):
            _, m, _, xyz, rpy, moments, q = next(x for x in self.links if x[0] == name)
            inner = joints
            if m > 0:
                inner += (f'<inertial pos="{text(xyz)}" mass="{text(m)}" diaginertia="{text(moments)}" '
                          f'quat="{text(times(quat(rpy), q))}"/>')
            for jn, kind, parent, child, x, r, axis, more in self.joints:
                if parent != name:
                    continue
                own, at = '', more.get('anchor', (0, 0, 0))
                one = lambda k, a, n=jn: (f'<joint name="{n}" type="{k}" axis="{text(a)}" pos="{text(at)}" '
                                          f'damping="{text(more.get("damping", 0))}" stiffness="{text(more.get("stiffness", 0))}" '
                                          f'springref="{text(more.get("reference", 0))}"/>')
                if kind in ('revolute', 'continuous', 'screw'):
                    own = one('hinge', axis)
                if kind in ('prismatic', 'screw'):
                    own += one('slide', axis, jn + ('_2' if kind == 'screw' else ''))
                if kind == 'ball':
                    own = f'<joint name="{jn}" type="ball" pos="{text(at)}"/>'
                if kind in ('universal', 'revolute2'):
                    own = one('hinge', axis) + one('hinge', more['axis2'], jn + '_2')
                if kind == 'floating':
                    own = '<freejoint/>'
                if kind == 'planar':
                    k = 0 if abs(axis[0]) < 0.6 * math.sqrt(sum(v * v for v in axis)) else 1
                    n = [v / math.sqrt(sum(v * v for v in axis)) for v in axis]
                    a = [(i == k) - n[k] * n[i] for i in range(3)]
                    a = [v / math.sqrt(sum(v * v for v in a)) for v in a]
                    b = [n[(i + 1) % 3] * a[(i + 2) % 3] - n[(i + 2) % 3] * a[(i + 1) % 3] for i in range(3)]
                    own = one('slide', a, jn + '_x') + one('slide', b, jn + '_y') + one('hinge', n)
                if kind == 'floating':
                    roots.append((child, (x, r)))
                    continue
                inner += body(child, (x, r), own)
            return f'<body name="{name}" pos="{text(pose[0])}" quat="{text(quat(pose[1]))}">{inner}</body>\n'
        roots = []
        out = body('base', ((0, 0, 0), (0, 0, 0)), '<freejoint/>' if free else '')
        for name, (xyz, rpy) in roots:
            x, q = self.world(name)
            out += body(name, (xyz, rpy), '<freejoint/>')
        return (f'<mujoco model="made"><compiler angle="radian" inertiafromgeom="false"/><option gravity="{gravity}"/>\n<worldbody>\n' +
                out + '</worldbody>\n' + tail + '</mujoco>\n')


def main(folder):
    def put(name, what):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(what)

    def all_three(name, robot, **how):
        put(name + '.urdf', robot.urdf())
        put(name + '.sdf', robot.sdf(**how))
        put(name + '.xml', robot.mjcf())

    all_three('hinges', Robot(1).chain(['revolute', 'continuous', 'revolute']))
    all_three('slides', Robot(2).chain(['prismatic', 'revolute', 'prismatic']), relative=True)
    r = Robot(3).chain(['revolute', 'fixed', 'revolute', 'fixed'])
    all_three('fixed', r, relative=True)
    r = Robot(4).chain(['revolute', 'continuous'])
    r.link('side')
    r.joint('turn', 'continuous', 'link0', 'side')
    r.link('hand')
    r.joint('grip', 'prismatic', 'side', 'hand', damping=0.4)
    all_three('branches', r)
    put('any-order.urdf', r.urdf(shuffle=True))
    all_three('damped', Robot(5).chain(['revolute', 'prismatic'], damping=0.7), relative=True)
    for i, kinds in enumerate((['revolute', 'continuous'], ['prismatic', 'revolute'], ['continuous', 'prismatic', 'revolute'])):
        put('plain%d.urdf' % i, Robot(20 + i, plain=True).chain(kinds, damping=0.2 * i).urdf())
    # the axis in another frame
    r = Robot(6).chain(['revolute', 'revolute', 'prismatic'], expressed='base')
    put('expressed.sdf', r.sdf())
    put('expressed.xml', r.mjcf())
    # until version 1.4 axes are in the frame of the model, later where a flag says so
    plain = r.sdf().replace(' expressed_in="base"', '')
    put('expressed-1.4.sdf', plain.replace('version="1.9"', 'version="1.4"'))
    put('expressed-1.6.sdf', plain.replace('version="1.9"', 'version="1.6"').replace(
        '<axis>', '<axis><use_parent_model_frame>true</use_parent_model_frame>'))
    # a link that flies
    r = Robot(7)
    r.link('link0')
    r.joint('fly', 'floating', 'base', 'link0')
    r.link('link1')
    r.joint('joint1', 'revolute', 'link0', 'link1')
    put('floating.urdf', r.urdf())
    put('floating.xml', r.mjcf())
    put('free.sdf', Robot(8).chain(['revolute', 'continuous']).sdf(fixed=False))
    put('free.xml', Robot(8).chain(['revolute', 'continuous']).mjcf(free=True))
    put('planar.urdf', Robot(9).chain(['planar', 'revolute']).urdf())
    put('planar.xml', Robot(9).chain(['planar', 'revolute']).mjcf())
    # no link of the file has a mass between two hinges that cross
    r = Robot(10)
    r.link('hub', 0)
    r.joint('yaw', 'continuous', 'base', 'hub', axis=(0, 0, 1))
    r.link('arm')
    r.joint('pitch', 'continuous', 'hub', 'arm', pose=((0, 0, 0), (0, 0, 0.4)), axis=(1, 0, 0))
    put('massless.urdf', r.urdf())
    flat = Robot(10)
    flat.link('hub', 0)
    flat.draw(0.3), flat.draw(1)
    yaw = next(j for j in r.joints if j[0] == 'yaw')
    flat.links = [r.links[0], r.links[2]]
    q = quat(yaw[5])
    whole = times(q, quat((0, 0, 0.4)))
    rpy = (math.atan2(2 * (whole[0] * whole[1] + whole[2] * whole[3]), 1 - 2 * (whole[1] ** 2 + whole[2] ** 2)),
           math.asin(2 * (whole[0] * whole[2] - whole[3] * whole[1])),
           math.atan2(2 * (whole[0] * whole[3] + whole[1] * whole[2]), 1 - 2 * (whole[2] ** 2 + whole[3] ** 2)))
    flat.joints = [('yaw', 'universal', 'base', 'arm', yaw[4], rpy, (0, 0, 1), {'axis2': (1, 0, 0)})]
    put('massless.xml', flat.mjcf())
    # SDF only
    put('ball.sdf', Robot(11).chain(['ball', 'revolute'], anchor=(0.05, -0.02, 0.1)).sdf())
    put('ball.xml', Robot(11).chain(['ball', 'revolute'], anchor=(0.05, -0.02, 0.1)).mjcf())
    for kind in ('universal', 'revolute2'):
        r = Robot(12).chain(['revolute'])
        r.link('cross')
        r.joint('u', kind, 'link0', 'cross', axis=(0, 0, 1), axis2=(0.6, 0.8, 0))
        put(kind + '.sdf', r.sdf(relative=True))
        put(kind + '.xml', r.mjcf())
    put('springs.sdf', Robot(13).chain(['revolute', 'prismatic'], stiffness=30, reference=0.2, damping=0.1).sdf())
    put('springs.xml', Robot(13).chain(['revolute', 'prismatic'], stiffness=30, reference=0.2, damping=0.1).mjcf())
    r = Robot(14).chain(['revolute', 'revolute'])
    put('world.world', r.sdf(head='<world name="w"><gravity>0.3 0 -3.7</gravity><physics type="ode"><max_step_size>0.004</max_step_size></physics>\n'
                                  '<include><uri>model://sun</uri></include>\n'))
    put('world.xml', r.mjcf(gravity='0.3 0 -3.7'))
    # frames, a nested model, an included one
    r = Robot(15).chain(['revolute', 'continuous'])
    put('frames.sdf', r.sdf(fix='anchor', tail='  <frame name="anchor" attached_to="ground"/><link name="ground"/>'
                                               '<joint name="g" type="fixed"><parent>world</parent><child>ground</child></joint>\n'))
    put('frames.xml', r.mjcf())
    inner = Robot(16).chain(['revolute', 'revolute'])
    nested = inner.sdf().replace('<sdf version="1.9">\n', '<sdf version="1.9">\n<model name="outer">\n').replace('</sdf>', '</model></sdf>')
    put('nested.sdf', nested)
    put('nested.xml', inner.mjcf().replace('name="base"', 'name="made/base"').replace('name="link', 'name="made/link'))
    put('arm/model.config', '<?xml version="1.0"?>\n<model><name>arm</name><sdf version="1.5">old.sdf</sdf><sdf version="1.9">arm.sdf</sdf></model>\n')
    put('arm/arm.sdf', inner.sdf())
    put('arm/arm.xml', inner.mjcf())
    put('include.sdf', '<sdf version="1.9"><world name="w"><include><uri>model://arm</uri><name>made</name></include>'
                       '<model name="block"><static>true</static><link name="l"><collision name="c"><geometry><box><size>1 1 1</size></box>'
                       '</geometry><pose>5 5 5 0 0 0</pose></collision></link></model></world></sdf>\n')
    put('include.xml', inner.mjcf().replace('name="base"', 'name="made/base"').replace('name="link', 'name="made/link'))


if __name__ == '__main__':
    main(pathlib.Path(sys.argv[1]))
