#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""perp python install makes `import perp` work from anywhere, with neither variables nor a network, and uninstall takes it
back; in every Python there is, in a virtual environment, and where that is not possible says so."""
import os
import shutil
import subprocess
import sys
import tempfile

from tap import done, ok, skip

ASK = 'import perp; print(perp.lcp([[2,1],[1,2]],[-5,-6]))'
ANSWER = 'solved by auto (dantzig): x = [1.33333, 2.33333]'
program = os.environ['PERP_BIN']


def call(command, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(('PERP_', 'PYTHON'))}
    if not os.environ['PERP_LIBRARY'].startswith(os.environ['PERP_SOURCE'] + '/build/'):
        env['PERP_LIBRARY'], env['PERP_PROGRAM'] = os.environ['PERP_LIBRARY'], program  # a build beside the usual one
    done = subprocess.run(command, capture_output=True, text=True, env={**env, **more}, cwd='/')
    return done.returncode, done.stdout + done.stderr


def check(python, home, what):
    with_home = {'HOME': home, 'PERP_PYTHON': python}
    status, said = call([python, '-c', ASK], **with_home)
    ok(status == 1 and 'ModuleNotFoundError' in said, f'{what}: unknown before', said)
    status, said = call([program, 'python', 'install'], **with_home)
    ok(status == 0 and ANSWER in said and 'perp.pth' in said, f'{what}: perp python install', said)
    status, said = call([python, '-c', ASK], **with_home)
    ok(status == 0 and said.startswith(ANSWER), f'{what}: import perp', said)
    status, said = call([program, 'python', 'uninstall'], **with_home)
    ok(status == 0 and call([python, '-c', ASK], **with_home)[0] == 1, f'{what}: perp python uninstall', said)


with tempfile.TemporaryDirectory() as folder:
    mine = os.path.realpath(sys.executable)
    pythons = {mine: 'the Python with numpy'}
    for name in ('python3', '/usr/bin/python3'):
        found = shutil.which(name)
        real = subprocess.run([found, '-c', 'import sys; print(sys.executable)'], capture_output=True, text=True).stdout.strip() if found else ''
        if real:
            pythons.setdefault(os.path.realpath(real), name)
    for i, (python, what) in enumerate(pythons.items()):
        check(python, os.path.join(folder, f'home{i}'), what)
    venv = os.path.join(folder, 'venv')
    if subprocess.run([mine, '-m', 'venv', '--without-pip', venv], capture_output=True).returncode == 0:
        check(venv + '/bin/python3', folder, 'a virtual environment')
    else:
        skip('no venv', 'a virtual environment')
    status, said = call([program, 'python', 'install'], HOME='/proc/nowhere', PERP_PYTHON=mine)
    ok(status == 1 and 'export PYTHONPATH=' in said and 'Traceback' not in said, 'where nothing can be written: what to do', said)
    status, said = call([program, 'python', 'instal'])
    ok(status == 2 and 'install' in said, 'another word is refused', said)
    status, said = call([program, 'python', 'install'], PERP_PYTHON='no-such-python')
    ok(status == 1 and 'set PERP_PYTHON to another Python' in said, 'no Python: one line', said)
done()
