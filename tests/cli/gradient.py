#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""perp gradient against closed forms, its verdicts, messages and width."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'python'))
from tap import done, ok

PERP = os.environ['PERP_BIN']
H, G = 1 / 240, 9.81


def run(*words):
    r = subprocess.run([PERP, 'gradient', *words], capture_output=True, text=True)
    return r.returncode, r.stdout, r.stderr


def data(*words):
    code, out, err = run(*words, '--json')
    if code != 0:
        print('#', err.strip())
    return json.loads(out) if code == 0 else {}


def entry(d, of, wrt, key='derivative'):
    column = next(c for c in d['columns'] if c['wrt'] == wrt)
    return column[key][d['of'].index(of)], column['side']


# a ball that slides: v+ = v - mu g h, w+ = w + mu g h / (k R), k = 2/5
d = data('rolling-sphere', '--after', '5', '--wrt', 'v:ball.x,friction,gravity,mass:ball', '--of', 'v:ball', '--check')
value, side = entry(d, 'v:ball.x', 'friction')
ok(abs(value + G * H) < 1e-10 and side == 'both', f'sliding by friction: {value}, {side}')
value, _ = entry(d, 'v:ball.ry', 'friction')
ok(abs(value - 2.5 * G * H / 0.1) < 1e-8, f'turning by friction: {value}')
value, _ = entry(d, 'v:ball.x', 'gravity')
ok(abs(value + 0.2 * H) < 1e-10, f'sliding by gravity: {value}')
value, _ = entry(d, 'v:ball.x', 'mass:ball')
ok(abs(value) < 1e-10, f'sliding by mass: {value}')
value, _ = entry(d, 'v:ball.x', 'friction', 'differences')
ok(abs(value + G * H) < 1e-6, f'differences: {value}')
ok(d['verdict'] == 'smooth', d['verdict'])

# an impact: v+ = -e v
d = data('bouncing-ball:e=0.8', '--after', '107', '--wrt', 'v:ball.z', '--of', 'v:ball.z')
value, _ = entry(d, 'v:ball.z', 'v:ball.z')
ok(abs(value + 0.8) < 1e-9 and d['verdict'] == 'smooth', f'an impact: {value}')

# friction at its bound: sticks below, slides above
d = data('incline:theta=30deg,mu=0.57735026918962573', '--after', '10', '--wrt', 'force:block.x', '--of', 'v:block.x')
value, side = entry(d, 'v:block.x', 'force:block.x')
ok(d['verdict'] == 'kink' and side == 'left' and abs(value) < 1e-9, f'friction at its bound: {d["verdict"]}, {side}, {value}')
ok(any(r['cause'] == 'sticks' and r['acts'] for r in d['rows']), 'rows are named')

# ten steps of a pendulum in joint coordinates
d = data('double-pendulum', '--formulation', 'reduced', '--ode', 'rk4', '--steps', '10', '--wrt', 'v:0,gravity', '--of', 'q:1,v:1',
         '--check')
for c in d['columns']:
    size = max(max(map(abs, c['derivative'])), 1e-3)
    off = max(abs(x - y) for x, y in zip(c['derivative'], c['differences'])) / size
    ok(off < 1e-7 and c['side'] == 'both', f'double pendulum by {c["wrt"]}: {off:.2g} of {size:.2g}')
ok(d['verdicts']['smooth'] == 10, 'ten smooth steps')

code, out, _ = run('stack:boxes=2', '--wrt', 'v:0', '--check')
ok(code == 0 and max(map(len, out.splitlines())) <= 80, 'the table has at most 80 columns')
for words, status, part in [(('rolling-sphere', '--wrt', 'mass:nobody'), 2, 'mass:nobody'),
                            (('rolling-sphere', '--of', 'mass:ball'), 2, 'differentiated'),
                            (('pendulum', '--formulation', 'ggl'), 2, 'these have: acceleration'),
                            (('pendulum', '--formulation', 'acceleration', '--ode', 'implicit-midpoint'), 2, 'explicit'),
                            (('rolling-sphere', '--contact', 'polyhedral'), 2, 'cone'),
                            (('oscillator',), 2, 'no bodies'),
                            (('pendulum', '--steps', '0'), 2, 'steps')]:
    code, out, err = run(*words)
    ok(code == status and part in err and out == '', f'{" ".join(words)}: {code}, {err.strip()[:200]}')
done()
