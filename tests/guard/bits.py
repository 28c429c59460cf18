#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a change of the house may not change: every figure, to the last bit, on one machine.

  tests/guard/bits.py run PERP FOLDER [--studies]  writes what the program PERP answers into FOLDER
  tests/guard/bits.py compare BEFORE AFTER         lists what differs; exit status 1 if anything does

`run` asks forty commands for JSON, and with --studies the short form of the five published studies for their table of cells
(ten minutes).  Times, paths and versions are left out; every other number is compared by its digits (%.17g)."""
import concurrent.futures
import csv
import filecmp
import json
import os
import re
import subprocess
import sys
import tempfile

SIMULATIONS = [
    'pendulum --h 1ms --t-end 0.5s',
    'chain:links=8 --h 2ms --t-end 0.5s --stab post',
    'chain:links=8 --formulation acceleration --ode rk4 --kkt kkt-sparse --h 2ms --t-end 0.5s',
    'chain:links=8 --formulation reduced --h 2ms --t-end 0.5s',
    'four-bar --formulation acceleration --ode dopri5 --h 2ms --t-end 0.5s',
    'four-bar --formulation ggl --h 2ms --t-end 0.2s',
    'andrews --formulation generalized-alpha --h 10us --t-end 1ms',
    'four-bar --formulation radau5 --h 2ms --t-end 0.1s',
    'bricard --formulation velocity-nonlinear --h 4ms --t-end 0.5s',
    'stack --h 5ms --t-end 0.3s',
    'stack --lcp dantzig --contact box --h 5ms --t-end 0.3s',
    'stack --lcp pgs:sweeps=30 --contact box --h 5ms --t-end 0.3s',
    'stack --lcp lemke --contact polyhedral --h 5ms --t-end 0.1s',
    'stack --formulation acceleration --h 5ms --t-end 0.1s',
    'stack --formulation impulse --h 5ms --t-end 0.2s',
    'stack --formulation penalty --h 1ms --t-end 0.1s',
    'stack --formulation regularized --h 1ms --t-end 0.1s',
    'stack --formulation si-split --h 5ms --t-end 0.2s',
    'stack --formulation xpbd --h 5ms --t-end 0.2s',
    'stack --formulation avbd --h 5ms --t-end 0.2s',
    'wall --h 5ms --t-end 0.1s',
    'pyramid --h 5ms --t-end 0.1s',
    'dominoes --h 2ms --t-end 0.5s',
    'billiard --h 2ms --t-end 1s',
    'incline --h 5ms --t-end 0.5s',
    'arm --h 5ms --t-end 0.5s',
    'falling --h 5ms --t-end 0.4s',
    'falling --lcp fischer-newton --contact box --h 5ms --t-end 0.4s',
    'falling --lcp staggered --h 5ms --t-end 0.3s',
    'wedge --formulation acceleration --h 2ms --t-end 0.2s',
    'painleve --formulation acceleration --h 2ms --t-end 0.2s',
    'bouncing-ball --formulation velocity-midpoint --h 5ms --t-end 1s',
    'tipping-box --formulation velocity-midpoint --h 4ms --t-end 1s',
    'ring-on-rod --h 4ms --t-end 0.5s',
    'rope --h 2ms --t-end 0.2s',
    'cloth --h 2ms --t-end 0.05s',
    'carousel --h 5ms --t-end 0.5s',
    'tippe-top --h 1ms --t-end 0.3s',
    'billiard --formulation velocity:tol=1e-4 --h 5ms --t-end 0.5s',
    'jam:side=4 --h 5ms --t-end 0.2s',
]
STUDIES = ['chain6-stab', 'contact-canonical', 'formulations', 'lcp-compare', 'work-precision']
CLOCK = re.compile(r'(^|\.)(time|wall|cpu)|_us$|_s$|^(version|commit|build|host|date|when|path|folder)')


def timeless(x):
    if isinstance(x, dict):
        return {k: timeless(v) for k, v in x.items() if not CLOCK.search(k)}
    return [timeless(v) for v in x] if isinstance(x, list) else x


def ask(perp, words):
    """The answer without its clocks; numbers stay the text that the program wrote."""
    p = subprocess.run([perp, 'simulate', *words.split(), '--json'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        told = json.dumps(timeless(json.loads(p.stdout, parse_float=str, parse_int=str)), indent=1)
    except ValueError:
        told = p.stdout.decode() + p.stderr.decode()
    return '%s\nexit status %d\n%s\n' % (words, p.returncode, told)


def cells(perp, study):
    """The table of cells of the short form, without the columns of clocks."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([perp, 'run', study, '--set', 'profile=short', '--set', 'measure.repeats=1', '--no-report',
                        '--progress', 'none', '-o', folder + '/r'], stdout=subprocess.DEVNULL)
        with open(folder + '/r/derived/cells.csv', newline='', encoding='utf-8') as f:
            rows = list(csv.reader(f))
    kept = [i for i, name in enumerate(rows[0]) if not CLOCK.search(name)]
    return '\n'.join(','.join(row[i] for i in kept) for row in rows) + '\n'


def run(perp, folder, studies):
    os.makedirs(folder, exist_ok=True)
    os.environ.update(OPENBLAS_NUM_THREADS='1', LC_ALL='C.UTF-8')
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for i, text in enumerate(pool.map(lambda w: ask(perp, w), SIMULATIONS)):
            with open('%s/%02d.txt' % (folder, i), 'w', encoding='utf-8') as f:
                f.write(text)
    for study in studies:
        with open('%s/%s.csv' % (folder, study), 'w', encoding='utf-8') as f:
            f.write(cells(perp, study))
    return 0


def compare(before, after):
    names = sorted(set(os.listdir(before)) & set(os.listdir(after)))
    unlike = [n for n in names if not filecmp.cmp(before + '/' + n, after + '/' + n, shallow=False)]
    for n in unlike:
        with open(before + '/' + n, encoding='utf-8') as f:
            print(n, f.readline().strip())
    print('%d of %d answers differ' % (len(unlike), len(names)))
    return 1 if unlike or not names else 0


if __name__ == '__main__':
    if len(sys.argv) > 3 and sys.argv[1] == 'run':
        sys.exit(run(sys.argv[2], sys.argv[3], STUDIES if '--studies' in sys.argv else []))
    if len(sys.argv) == 4 and sys.argv[1] == 'compare':
        sys.exit(compare(sys.argv[2], sys.argv[3]))
    print(__doc__)
    sys.exit(2)
