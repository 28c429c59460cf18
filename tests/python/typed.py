#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The package under mypy --strict, and a program that uses it as its users do."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

from tap import done, ok, skip

PROGRAM = '''import perp

sim = perp.Simulation("pendulum", h=1e-3)
sim.step(10)
saved: bytes = sim.state
time: float = sim.t + sim.energy
answer: perp.Solution = perp.lcp([[2, 1], [1, 2]], [-5, -6])
text: str = answer.status
%s
'''
package = pathlib.Path(os.environ['PERP_SOURCE'], 'python/perp')
ok((package / 'py.typed').exists(), 'py.typed')
if importlib.util.find_spec('mypy') is None:
    skip('no mypy', 'mypy --strict')
    done()
with tempfile.TemporaryDirectory() as folder:
    def check(*what):
        done = subprocess.run([sys.executable, '-m', 'mypy', '--strict', '--cache-dir', folder, *what], capture_output=True, text=True,
                              cwd=folder, env={**os.environ, 'MYPYPATH': str(package.parent)})
        return done.returncode, done.stdout + done.stderr

    status, said = check(str(package))
    ok(status == 0, 'mypy --strict on the package', said)
    for line, expected in (('', 0), ('wrong: int = sim.state', 1), ('sim.stepp(3)', 1)):
        pathlib.Path(folder, 'use.py').write_text(PROGRAM % line)
        status, said = check('use.py')
        ok(status == expected, f'a program that uses it{": " + line + " is an error" if line else ""}', said)
done()
