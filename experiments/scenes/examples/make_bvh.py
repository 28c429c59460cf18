#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Motions of a figure of 18 segments from formulas, as BVH files.

    make_bvh.py walk|wave|cartwheel|bow|wade|stand [--fat] [--frames N] [--rate HZ] > FILE.bvh

Legs have four segments each, arms three, the trunk three, and there is a head (the division of Vondrak 2005, section 9.2.1).
Segments are as long as fractions of the stature say (1.741 m; Winter, Biomechanics and Motor Control of Human Movement, figure 4.1:
thigh 0.245 H, shank 0.246 H, foot 0.152 H, upper arm 0.186 H, forearm 0.146 H, hand 0.108 H); lengths of the file are centimetres."""
import argparse
import math
import sys

H = 174.1
# name, parent, offset (x left, y up, z forward) as a fraction of H; the last number of a leaf: where its bone ends
JOINTS = [
    ("Hips", None, (0, 0, 0)),
    ("Spine", "Hips", (0, 0.06, 0)),
    ("Chest", "Spine", (0, 0.11, 0)),
    ("Head", "Chest", (0, 0.165, 0)),
    ("LeftUpperArm", "Chest", (0.11, 0.12, 0)),
    ("LeftForeArm", "LeftUpperArm", (0, -0.186, 0)),
    ("LeftHand", "LeftForeArm", (0, -0.146, 0)),
    ("RightUpperArm", "Chest", (-0.11, 0.12, 0)),
    ("RightForeArm", "RightUpperArm", (0, -0.186, 0)),
    ("RightHand", "RightForeArm", (0, -0.146, 0)),
    ("LeftThigh", "Hips", (0.052, -0.02, 0)),
    ("LeftShank", "LeftThigh", (0, -0.245, 0)),
    ("LeftFoot", "LeftShank", (0, -0.246, 0)),
    ("LeftToes", "LeftFoot", (0, -0.02, 0.09)),
    ("RightThigh", "Hips", (-0.052, -0.02, 0)),
    ("RightShank", "RightThigh", (0, -0.245, 0)),
    ("RightFoot", "RightShank", (0, -0.246, 0)),
    ("RightToes", "RightFoot", (0, -0.02, 0.09)),
]
ENDS = {"Head": (0, 0.13, 0), "LeftHand": (0, -0.07, 0), "RightHand": (0, -0.07, 0),
        "LeftFoot": (0, -0.02, -0.05), "RightFoot": (0, -0.02, -0.05),  # heels
        "LeftToes": (0, 0, 0.04), "RightToes": (0, 0, 0.04)}


# a fat figure (Vondrak 2005, section 9.2.5): limbs are much shorter, the trunk is longer and wider
FAT = {"Spine": (1, 1.2, 1), "Chest": (1, 1.2, 1), "LeftUpperArm": (1.5, 1, 1), "RightUpperArm": (1.5, 1, 1),
       "LeftThigh": (1.6, 1, 1), "RightThigh": (1.6, 1, 1), "Head": (1, 0.8, 1)}
LIMBS = (0.7, 0.7, 0.7)


def turned(degrees, y, z):
    """(up, forward) turned about the axis to the left."""
    a = math.radians(degrees)
    return y * math.cos(a) - z * math.sin(a), y * math.sin(a) + z * math.cos(a)


def stand_height(angles):
    """Of the hips, so that the lowest heel or ball of a foot is on the floor: a smooth minimum, within 4 mm."""
    below = []
    for side in ("Left", "Right"):
        sums, up = 0.0, -0.02
        for name, length in (("Thigh", 0.245), ("Shank", 0.246)):
            sums += angles.get(side + name, (0, 0, 0))[0]
            up += turned(sums, -length, 0)[0]
        sums += angles.get(side + "Foot", (0, 0, 0))[0]
        below += [up + turned(sums, -0.02, z)[0] for z in (-0.05, 0.09)]
    return math.log(sum(math.exp(-800 * y) for y in below) / 2) / 800


STAND = stand_height({})  # of H


def stand(t):
    """At rest, arms hanging."""
    return {}, (0, STAND, 0)


def walk(t):
    """A walk of one stride a second: angles are a sine or two, the knee that of the leg in swing.  Degrees (x, y, z): about the axis to the
    left, up, forward."""
    p = 2 * math.pi * t
    angles = {"Spine": (2, 4 * math.sin(p), 0), "Chest": (2, -8 * math.sin(p), 0), "Head": (-3, 4 * math.sin(p), 0),
              "Hips": (3, -4 * math.sin(p), 2 * math.cos(p))}
    for side, q in (("Left", p), ("Right", p + math.pi)):
        angles[side + "Thigh"] = (-10 - 22 * math.sin(q), 0, 0)
        angles[side + "Shank"] = (32 + 28 * math.cos(q - 0.2), 0, 0)
        angles[side + "Foot"] = (-8 - 10 * math.sin(q - 1.2), 0, 0)
        angles[side + "Toes"] = (-8 + 8 * math.sin(q + 0.6), 0, 0)
        angles[side + "UpperArm"] = (18 * math.sin(q), 0, 5 if side == "Left" else -5)
        angles[side + "ForeArm"] = (-22 + 10 * math.sin(q), 0, 0)
    return angles, (0.02 * math.sin(p), STAND - 0.01 + 0.012 * math.cos(2 * p), 0.75 * t)


def ease(s):
    """From 0 to 1 for s from 0 to 1, five derivatives 0 at both ends."""
    s = min(max(s, 0), 1)
    return s ** 6 * (462 + s * (-1980 + s * (3465 + s * (-3080 + s * (1386 - 252 * s)))))


def wave(t):
    """Standing, the right arm lifted and waving twice a second, by the elbow."""
    p = 4 * math.pi * t
    lift = ease(t)
    return {"RightUpperArm": (0, -90 * lift, -110 * lift),
            "RightForeArm": (-10 - (30 + 25 * math.sin(p)) * lift, 0, 0), "LeftForeArm": (-10, 0, 0),
            "RightHand": (-15 * math.sin(p - 0.7) * lift, 0, 0),
            "Chest": (0, 0, 3 * lift), "Head": (0, -6 * lift, 2 * math.sin(p / 2) * lift)}, (0, STAND, 0)


def cartwheel(t):
    """Once around to the left in 1.8 s, arms and legs spread, over the floor."""
    s = t / 1.8
    turn, spread = ease(s), ease(2 * s) if s < 0.5 else ease(2 - 2 * s)
    angles = {"Hips": (0, 0, -360 * turn)}
    for side, sign in (("Left", 1), ("Right", -1)):
        angles[side + "UpperArm"] = (0, 0, sign * (20 + 140 * spread))
        angles[side + "Thigh"] = (0, 0, sign * 40 * spread)
    return angles, (3.0 * turn * 0.55, STAND + 0.2 * spread, 0)


def bow(t):
    """A bow of two seconds, from the posture as drawn, the hips at the origin; legs stay."""
    lean = ease(2 * min(t, 2 - t) / 1.6)
    return {"Spine": (20 * lean, 0, 0), "Chest": (20 * lean, 0, 0), "Head": (15 * lean, 0, 0)}, (0, 0, 0)


def wade(t):
    """A walk that begins with the posture as drawn, the hips at the origin, and grows within a second."""
    grown = ease(t)
    angles, (x, y, _) = walk(t)
    return {name: tuple(grown * a for a in turn) for name, turn in angles.items()}, (grown * x, grown * (y - STAND), 0.6 * t * grown)


def channels(name):
    return "CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation" if name == "Hips" \
        else "CHANNELS 3 Zrotation Xrotation Yrotation"


def length(name, offset, fat):
    factors = FAT.get(name, LIMBS) if fat else (1, 1, 1)
    return " ".join(f"{H * x * f:.4f}" for x, f in zip(offset, factors))


def tree(name, offset, depth, order, out, fat):
    pad = "  " * depth
    out.append(f"{pad}{'ROOT' if depth == 0 else 'JOINT'} {name}\n{pad}{{")
    out.append(f"{pad}  OFFSET " + length(name, offset, fat))
    out.append(f"{pad}  {channels(name)}")
    order.append(name)
    for child, parent, place in JOINTS:
        if parent == name:
            tree(child, place, depth + 1, order, out, fat)
    if name in ENDS:
        out.append(f"{pad}  End Site\n{pad}  {{\n{pad}    OFFSET " + length(name if name == "Head" else None, ENDS[name], fat) + f"\n{pad}  }}")
    out.append(f"{pad}}}")


def main():
    motions = {"walk": walk, "wave": wave, "cartwheel": cartwheel, "bow": bow, "wade": wade, "stand": stand}
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("motion", choices=sorted(motions))
    parser.add_argument("--frames", type=int, default=61)
    parser.add_argument("--rate", type=float, default=30.0, help="frames a second")
    parser.add_argument("--fat", action="store_true", help="the skeleton of a fat figure; the motion does not fit it: perp motion retarget")
    args = parser.parse_args()
    out, order = ["HIERARCHY"], []
    tree("Hips", (0, 0, 0), 0, order, out, args.fat)
    out += ["MOTION", f"Frames: {args.frames}", f"Frame Time: {1 / args.rate!r}"]
    for k in range(args.frames):
        angles, root = motions[args.motion](k / args.rate)
        row = [H * x for x in root]
        for name in order:
            x, y, z = angles.get(name, (0, 0, 0))
            row += [z, x, y]
        out.append(" ".join("0" if abs(v) < 5e-7 else f"{v:.6g}" for v in row))
    sys.stdout.write("\n".join(out) + "\n")


main()
