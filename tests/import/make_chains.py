#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the models of tests/import/models whose bodies hang on three to five slides and hinges: mjcf/chains.xml with 20
bodies, and robots/chains.urdf, whose links in between weigh nothing, with its twin robots/chains.xml.

    tests/import/make_chains.py tests/import/models
"""
import math
import random
import sys

ORDERS = ["SSH", "SHS", "HSS", "HHH", "HHS", "HSH", "SHH", "SHSS", "SSHH", "HHHH", "HSHS", "HHSS", "SHHS", "SSSH",
          "SSSHH", "HSSHS", "HHHHH", "HHSHH", "SHHHS", "HSHSH"]


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def length(v):
    return math.sqrt(sum(x * x for x in v))


def unit(rng):
    v = [rng.gauss(0, 1) for _ in range(3)]
    return [round(x / length(v), 3) for x in v]


def least(axes, com):
    """The least part of a motion of the body, in m and rad, that those before it do not have."""
    basis, worst = [], 1
    for slides, axis, at in axes:
        n = [x / length(axis) for x in axis]
        v = n + [0, 0, 0] if slides else cross(n, [c - p for c, p in zip(com, at)]) + n
        before = length(v)
        for _ in range(2):
            for b in basis:
                part = sum(x * y for x, y in zip(v, b))
                v = [x - part * y for x, y in zip(v, b)]
        worst = min(worst, length(v) / before)
        basis.append([x / length(v) for x in v])
    return worst


def chain(rng, order, one_point):
    com = [rng.uniform(-0.2, 0.2) for _ in range(3)]
    while True:
        point = [round(c + rng.uniform(-0.4, 0.4), 3) for c in com]
        axes = [(kind == "S", unit(rng),
                 point if one_point else [round(c + rng.uniform(-0.4, 0.4), 3) for c in com]) for kind in order]
        if least(axes, com) > 0.5:
            return [round(c, 3) for c in com], axes


def text(v):
    return " ".join("%.17g" % x for x in v)


def mjcf(rng):
    out = ['<mujoco model="chains">',
           "  <!-- made by make_chains.py: bodies on three to five slides and hinges, without contacts -->",
           '  <compiler autolimits="true" angle="radian"/>',
           '  <option timestep=".001"><flag contact="disable"/></option>', "  <worldbody>"]
    actuators, qpos, qvel = [], [], []
    for i, order in enumerate(ORDERS):
        com, axes = chain(rng, order, i % 3 == 1 and order.count("H") < 4)
        out.append('    <body name="b%d" pos="%d %d 1" euler="%.3f %.3f 0">' % (i, i % 5, i // 5, rng.uniform(-1, 1),
                                                                                rng.uniform(-1, 1)))
        for k, (slides, axis, at) in enumerate(axes):
            more = ' armature="%.3f"' % rng.uniform(0.05, 0.3) if (i + k) % 2 == 0 else ""
            more += ' damping="%.3f"' % rng.uniform(0.1, 1) if (i + k) % 3 == 0 else ""
            more += ' stiffness="%.3f" springref="%.3f"' % (rng.uniform(2, 20), rng.uniform(-0.2, 0.2))
            out.append('      <joint name="j%d%d" type="%s" axis="%s" pos="%s"%s/>'
                       % (i, k, "slide" if slides else "hinge", text(axis), text(at), more))
            if (i + k) % 4 == 0:
                actuators.append('    <position joint="j%d%d" kp="%.3f"/>' % (i, k, rng.uniform(1, 10)))
            qpos.append("%.3f" % rng.uniform(-0.15, 0.15))
            qvel.append("%.3f" % rng.uniform(-0.5, 0.5))
        out.append('      <inertial pos="%s" mass="%.3f" diaginertia="%.3f %.3f %.3f"/>'
                   % (text(com), rng.uniform(0.5, 2), *(rng.uniform(0.03, 0.05) for _ in range(3))))
        if i % 6 == 5:  # something hangs on it
            out.append('      <body pos=".3 0 0"><joint name="c%d" axis="0 1 .2" damping=".1"/>'
                       '<geom type="box" size=".1 .03 .05" pos=".1 0 0"/></body>' % i)
            qpos.append("0.3")
            qvel.append("1")
        out.append("    </body>")
    out += ["  </worldbody>", "  <actuator>", *actuators, "  </actuator>",
            '  <keyframe><key name="go" qpos="%s" qvel="%s"/></keyframe>' % (" ".join(qpos), " ".join(qvel)),
            "</mujoco>"]
    return "\n".join(out) + "\n"


def robot(rng):
    """Orders of links without mass, and one body with as many joints."""
    urdf = ['<?xml version="1.0"?>', "<!-- made by make_chains.py -->", '<robot name="chains">', '  <link name="base"/>']
    twin = ['<mujoco model="chains"><compiler angle="radian" inertiafromgeom="false"/><option gravity="0 0 -9.81"/>',
            "<!-- made by make_chains.py -->", "<worldbody>"]
    for i, order in enumerate(["SSH", "HHH", "HSH", "SHHS", "HHHHH"]):
        com, axes = chain(rng, order, False)
        place = [1.5 * i, 0, 0]
        last, before = "base", [0, 0, 0]
        twin.append('<body name="body%d" pos="%s">' % (i, text(place)))
        for k, (slides, axis, at) in enumerate(axes):
            child = "body%d" % i if k + 1 == len(axes) else "link%d%d" % (i, k)
            here = [p + a for p, a in zip(place, at)]
            urdf.append('  <joint name="j%d%d" type="%s"><parent link="%s"/><child link="%s"/><origin xyz="%s"/>'
                        '<axis xyz="%s"/>%s<dynamics damping="%.3f"/></joint>'
                        % (i, k, "prismatic" if slides else "continuous", last, child,
                           text([p - b for p, b in zip(here, before)]), text(axis),
                           '<limit lower="-100" upper="100" effort="1" velocity="1"/>' if slides else "", 0.1 * k))
            twin.append('<joint name="j%d%d" type="%s" axis="%s" pos="%s" damping="%.3f"/>'
                        % (i, k, "slide" if slides else "hinge", text(axis), text(at), 0.1 * k))
            if k + 1 < len(axes):
                urdf.append('  <link name="%s"/>' % child)
            last, before = child, here
        mass = rng.uniform(0.5, 2)
        moments = [rng.uniform(0.03, 0.05) for _ in range(3)]
        own = [c - a for c, a in zip(com, axes[-1][2])]
        urdf.append('  <link name="body%d"><inertial><origin xyz="%s"/><mass value="%.17g"/><inertia ixx="%.17g" '
                    'iyy="%.17g" izz="%.17g" ixy="0" ixz="0" iyz="0"/></inertial></link>' % (i, text(own), mass, *moments))
        twin.append('<inertial pos="%s" mass="%.17g" diaginertia="%s"/></body>' % (text(com), mass, text(moments)))
    return "\n".join(urdf + ["</robot>"]) + "\n", "\n".join(twin + ["</worldbody>", "</mujoco>"]) + "\n"


def main(folder):
    with open(folder + "/mjcf/chains.xml", "w", encoding="utf-8") as f:
        f.write(mjcf(random.Random(1994)))
    urdf, twin = robot(random.Random(8))
    with open(folder + "/robots/chains.urdf", "w", encoding="utf-8") as f:
        f.write(urdf)
    with open(folder + "/robots/chains.xml", "w", encoding="utf-8") as f:
        f.write(twin)


if __name__ == "__main__":
    main(sys.argv[1])
