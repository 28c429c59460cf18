#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""An engine by a program of a few lines, and by the adapter of perp: the same rows, the same figures.

    tests/engines/compare.py ENGINE PROGRAM        TAP ($PERP_BIN is perp)

PROGRAM (minimal.cpp with ENGINE.cpp) uses the engine by its defaults and knows nothing of perp.  So an entry of
docs/explanation/complaints.md that shows a problem is one of the engine, not of the adapter.  Two figures agree if
they differ by less than a third, if both are below the bound of the row, or if both are above ten times it: what falls over
does so in a way that rounding decides."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'python'))
import tap  # noqa: E402

# row of the program -> scene, metric, bound of the table
ROWS = {
    'fall': ('projectile:linear=0', 'err.tip.max', 0.01),
    'tips': ('launched-box', 'err.turn.max', 0.01),
    'straight': ('launched-box:speed=1.56,heading=-0.695', 'err.place.max', 0.012),
    'azimuth': ('incline:azimuth=45deg,tilt=gravity', 'accel.rel.err', 0.01),
    'slope': ('incline:theta=20deg,mu=0.5', 'pose.drift.max', 1e-3),
    'hundred': ('mass-ratio:ratio=100', 'pose.drift.max', 0.01),
    'thousand': ('mass-ratio:ratio=1000', 'pose.drift.max', 0.01),
    'five': ('stack:boxes=5', 'pose.drift.max', 0.01),
    'cube': ('box-on-box:edge=0.5,below=1,height=0,e=0,settle=0.5', 'pose.drift.max', 5e-6),
    'tower': ('tower', 'pose.drift.max', 1e-5),
    'welded-tower': ('welded-blocks', 'pose.drift.max', 5e-3),
    'welded-beam': ('welded-blocks:way=sideways,load=1', 'pose.drift.max', 5e-3),
    'bounce': ('bouncing-ball:e=1', 'apex.rel.err', 0.01),
    'box-bounce': ('box-on-box', 'impact.rel.err', 0.05),
    'fast-ball': ('fast-ball', 'pen.max', 1e-3),
    'spin': ('free-body:preset=box149', 'momentum.ang.max', 0.01),
    'chain': ('chain:links=20', 'drift.pos.max', 1e-3),
    'pendulum': ('pendulum:body=rod,length=0.1414,amplitude=45deg', 'energy.rel.max', 0.01),
    'limit': ('at-limit', 'pose.drift.max', 1e-4),
    'flight': ('tumbling-box', 'momentum.lin.max', 1e-4),
    'pinch': ('pinch', 'pose.drift.max', 1e-5),
}
PLANAR = ('box2d', 'chipmunk')
# options of the engine in a row
OPTIONS = {('mujoco', 'pinch'): 'mujoco:timeconst=0.004'}
# entries that rounding decides: no figure can be compared
ROUNDING = {('mujoco', 'cube'): 'the contacts that MuJoCo finds between two boxes change with rounding'}


def figure(engine, scene, metric, options=None):
    if engine in PLANAR:
        scene += (',' if ':' in scene else ':') + 'dim=2'
    status, out, err = tap.perp('simulate', scene, '--engine', options or engine, '--json')
    if not out.startswith('{'):
        return None, f'exit status {status}: {err}'
    return json.loads(out)['metrics'].get(metric), ''


def main():
    engine, program = sys.argv[1:]
    lines = subprocess.run([program], capture_output=True, text=True, check=True, timeout=300).stdout.splitlines()
    lines = [line for line in lines if line.split()[0] in ROWS]  # Chipmunk prints its version
    for row, own in ((line.split()[0], float(line.split()[1])) for line in lines):
        scene, metric, bound = ROWS[row]
        if row == 'pendulum' and engine not in PLANAR:
            scene += ',dim=3'
        there, why = figure(engine, scene, metric, OPTIONS.get((engine, row), engine))
        if row == 'tower' and there is not None:
            there = abs(there - figure(engine, 'tower:order=shuffled', metric)[0])
        if 'does not support' in why:
            tap.skip(why.strip().splitlines()[0], f'{engine}, {row}')
            continue
        if (engine, row) in ROUNDING:
            tap.skip(ROUNDING[engine, row], f'{engine}, {row}: {own:.3g} and {there:.3g}')
            continue
        same = there is not None and (max(own, there) <= bound or min(own, there) >= 10 * bound or
                                    abs(own - there) <= max(own, there) / 3)
        tap.ok(same, f'{engine}, {row}: {own:.3g}, by the adapter {"-" if there is None else format(there, ".3g")}', why)
    tap.done()


if __name__ == '__main__':
    main()
