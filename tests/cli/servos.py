#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run says of the damping that implicit servo springs have, against the decay of its own series, and
servos that carry weight, from scene files."""
import csv
import math
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'python'))
from tap import done, ok

PERP = os.environ['PERP_BIN']



def run(folder, scene, options):
    path, out = os.path.join(folder, 'scene.yaml'), os.path.join(folder, 'out.csv')
    with open(path, 'w', encoding='utf-8') as f:
        f.write(scene)
    r = subprocess.run([PERP, 'simulate', path, '--series', out, *options.split()], capture_output=True, text=True)
    if r.returncode != 0:
        return r.stdout + r.stderr, []
    with open(out, newline='', encoding='utf-8') as f:
        rows = [{k.split('[')[0].strip(): float(v) if v else math.nan for k, v in row.items()} for row in csv.DictReader(f)]
    return re.sub(r'\s+', ' ', r.stdout + r.stderr), rows


# Two blocks on a rail, the second held to the first by a servo spring: the reduced mass 2 3 / 5 = 1.2 kg.
BLOCKS = '''schema: perp-scene/1
scene: {{ summary: blocks, dim: 2, t_end: 3 s, h: {h} ms }}
bodies:
  - {{ name: one, mass: 2 kg, inertia: 1, x: [0, 0] }}
  - {{ name: two, mass: 3 kg, inertia: 1, x: [1, 0] }}
joints:
  - {{ name: rail, kind: slider, a: world, b: one, axis: [1, 0] }}
  - {{ name: gap, kind: slider, a: one, b: two, axis: [1, 0] }}
drives:
  - {{ joint: gap, target: 0.3, stiffness: {k}{damping} }}
'''
TOLD = re.compile(r"servo of joint 1 'gap' is implicit, which adds ([\d.e-]+) to its damping ratio of ([\d.e-]+) "
                  r"\(h omega / 2 at ([\d.e-]+) rad/s\)")


def told(folder):
    for h, k in ((5, 120), (20, 120), (1, 3000)):
        omega = math.sqrt(k / 1.2)
        for form in ('velocity', 'reduced', 'impulse', 'velocity-implicit', 'si-split'):
            text, rows = run(folder, BLOCKS.format(h=h, k=k, damping=''), f'--formulation {form} --sample {h}ms')
            found = TOLD.search(text)
            if not found:
                ok(False, f'{form}, h {h} ms: the damping is told', text[-600:])
                continue
            ratio = float(found[1])
            ok(abs(float(found[3]) / omega - 1) < 0.01, f'{form}, h {h} ms: {omega:.4g} rad/s', found[0])
            # decay of the series: the energy of the spring and of the relative motion falls as exp(-2 ratio omega t)
            amplitude = [math.hypot(r['q3'] - r['q0'] - 1.3, (r['v3'] - r['v0']) / omega) for r in rows]
            n = len(rows) // 2
            decay = -math.log(amplitude[n] / amplitude[0]) / rows[n]['t']
            ok(abs(decay / omega / ratio - 1) < 0.15 * (1 + h * omega / 1000), f'{form}, h {h} ms: damping ratio {ratio}, by the series {decay / omega:.4f}',
                  decay / omega / ratio)
        for form in ('velocity:servo=symplectic', 'velocity-midpoint', 'velocity:tol=1e-5', 'generalized-alpha', 'acceleration --ode rk4'):
            text, rows = run(folder, BLOCKS.format(h=h, k=k, damping=''), f'--formulation {form}')
            ok(rows and 'is implicit, which adds' not in text, f'{form}, h {h} ms: no such word', text[-400:])
    text, rows = run(folder, BLOCKS.format(h=1, k=120, damping=', damping: 20'), '')
    ok(rows and 'is implicit, which adds' not in text, 'a damper beside which it is nothing: no such word', text[-400:])
    text, rows = run(folder, BLOCKS.format(h=5, k=120, damping=''), '--formulation velocity:substeps=5')
    found = TOLD.search(text)
    ok(found and abs(float(found[1]) / 0.005 - 1) < 0.1, 'sub-steps count: h omega / 2 of theirs', text[-400:])


ARM = '''schema: perp-scene/1
scene: {{ summary: arm, dim: 2, t_end: 4 s, h: 1 ms, driven: true }}
bodies:
  - {{ name: arm, mass: 2 kg, inertia: 0.04, x: [0.25, 0] }}
joints:
  - {{ name: shoulder, kind: hinge, a: world, b: arm, at: [0, 0] }}
{drives}
'''


def weight(folder):
    servo = 'drives: [{{ joint: shoulder, target: 0, stiffness: 20, damping: 6{more} }}]'
    by = {'a servo': servo.format(more=', gravity_compensation: true'),
          'pd': 'control: { by: pd, frequency: 1 Hz, gravity_compensation: true }',
          'implicit-pd': 'control: { by: implicit-pd, frequency: 1 Hz, gravity_compensation: true }'}
    for what, drives in by.items():
        text, rows = run(folder, ARM.format(drives=drives), '')
        ok(rows and abs(rows[-1]['q2']) < 1e-9, f'{what} with gravity compensation holds the arm', text[-400:])
    text, rows = run(folder, ARM.format(drives=servo.format(more='')), '')
    phi = 0
    for _ in range(100):
        phi = -2 * 9.81 * 0.25 * math.cos(phi) / 20
    ok(rows and abs(rows[-1]['q2'] - phi) < 1e-6, 'without it the arm sags to k phi = -m g l cos(phi)', rows[-1:] or text[-400:])
    loop = ARM.format(drives=servo.format(more=', gravity_compensation: true')).replace(
        'drives:', '  - { name: rope, kind: distance, a: world, b: arm, anchor_a: [0.35, 1], anchor_b: [0.1, 0], length: 1 }\ndrives:')
    text, rows = run(folder, loop, '')
    ok(not rows and 'closes a loop' in text and 'shoulder' in text, 'a loop is refused by the name of its joint', text[-400:])
    text, rows = run(folder, ARM.format(drives=servo.format(more=', lower: -1')), '--formulation generalized-alpha')
    ok(not rows and "'shoulder' has limits" in text and 'velocity-midpoint' in text, 'limits are refused with a remedy', text[-400:])


with tempfile.TemporaryDirectory() as place:
    told(place)
    weight(place)
done()
