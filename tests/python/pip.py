#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""pip install ./python, without a network: a copy that finds library and program, and says so where there is none."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from tap import done, ok, skip

root = pathlib.Path(os.environ['PERP_SOURCE'])
version = re.search(r"version: '([^']+)'", (root / 'meson.build').read_text(encoding='utf-8'))[1]
ok(f'version = "{version}"' in (root / 'python/pyproject.toml').read_text(encoding='utf-8'), 'its version is that of perp')
if subprocess.run([sys.executable, '-m', 'pip', '--version'], capture_output=True, check=False, cwd='/').returncode != 0:
    skip('no pip (python3-pip)', 'pip install ./python')
    done()


def call(words, folder, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(('PYTHON', 'PERP_', 'PIP_'))}
    env.update(PIP_NO_INDEX='1', PIP_DISABLE_PIP_VERSION_CHECK='1', PIP_NO_CACHE_DIR='1', HOME=folder, PYTHONDONTWRITEBYTECODE='1', **more)
    made = subprocess.run([sys.executable, *words], capture_output=True, text=True, env=env, cwd=folder)
    return made.returncode, made.stdout + made.stderr


with tempfile.TemporaryDirectory() as folder:
    there = {k: os.environ[k] for k in ('PERP_LIBRARY', 'PERP_PROGRAM')}
    to = os.path.join(folder, 'packages')
    status, said = call(['-m', 'pip', 'install', '--quiet', '--target', to, str(root / 'python')], folder, **there)
    ok(status == 0, 'pip install ./python without a network', said)
    code = ('import perp; print(perp.__file__); print(perp.lcp([[2, 1], [1, 2]], [-5, -6])); sim = perp.Simulation("pendulum"); '
            'sim.step(9); print(sim); print(perp.simulate("pendulum", t_end=0.1).status)')
    status, said = call(['-c', code], folder, PYTHONPATH=to)
    ok(status == 0 and said.startswith(to) and 'x = [1.33333, 2.33333]' in said and 'after 9 steps' in said and said.endswith('ok\n'),
       'it finds library and program by itself', said)
    ok(os.path.exists(os.path.join(to, 'perp/py.typed')), 'it is typed')
    status, said = call(['-m', 'pip', 'install', '--quiet', '--target', to + '2', str(root / 'python')], folder, PERP_LIBRARY='/no/libperp.so.0')
    ok(status != 0 and 'Build it (./perp version)' in said, 'no library: what to do', said)
    left = [p for p in (root / 'python').iterdir() if p.name in ('build', 'dist') or p.name.endswith('.egg-info')]
    ok(not left, 'nothing is left in the source tree', *left)
done()
