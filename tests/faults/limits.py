#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""limits.py PERP (TAP): too little address space, full devices, killed writers and what they leave behind."""
import glob
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../python'))
from tap import done, ok

perp = os.path.abspath(sys.argv[1])
made = tempfile.TemporaryDirectory(prefix='perp-limits-')
home = made.name
env = dict(os.environ, TMPDIR=home)


def run(arguments, space=None, limit=60):
    """(exit status or 'hang', stdout, stderr)"""
    def bound():
        if space:
            resource.setrlimit(resource.RLIMIT_AS, (space << 20, space << 20))
    try:
        p = subprocess.run([perp] + arguments, cwd=home, env=env, preexec_fn=bound, timeout=limit, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return p.returncode, p.stdout, p.stderr
    except subprocess.TimeoutExpired:
        return 'hang', '', ''


chain = ['simulate', 'chain:links=40', '--kkt', 'schur-dense', '--h', '1ms', '--t-end', '5ms']
for space in (80, 120, 180, 260):
    status, out, err = run(chain, space)
    said = 'out of memory' in err + out or 'shared libraries' in err
    ok(status == 0 or (status in (5, 127) and said), f'{space} MiB of address space: the run ends, or an error says what is missing', status, err)
status, out, err = run(['version'], 120)
ok(status == 0 or status == 127, '120 MiB are enough to print the version', status, err)

for what in (['simulate', 'pendulum', '--t-end', '50ms', '--series', '/dev/full'], ['export-scene', 'pendulum', '-o', '/dev/full'], ['import', '--help']):
    with open('/dev/full', 'w') as full:
        p = subprocess.run([perp] + what, cwd=home, env=env, stdout=full if what[0] == 'import' else subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ok(p.returncode not in (0,) and 'No space left on device' in p.stderr, f'{" ".join(what)} to a full device: an error names the cause', p.returncode, p.stderr)

# Writers killed while they write: what is being written has no name.
def writes(pid):
    """Has it a file in the folder open?"""
    for fd in glob.glob(f'/proc/{pid}/fd/*'):
        try:
            if os.readlink(fd).startswith(home + '/'):
                return True
        except OSError:
            pass
    return False


left = killed = 0
for k in range(4):
    p = subprocess.Popen([perp, 'lcp', 'generate', 'spd', '-n', '1500', '-o', f'{home}/s.lcp'], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while p.poll() is None and not writes(p.pid):
        time.sleep(0.001)
    p.send_signal(signal.SIGKILL)
    killed += p.wait() == -signal.SIGKILL
    left += len(glob.glob(f'{home}/.perp-*.tmp'))
ok(killed > 0 and left == 0, 'writers killed while they write leave no file behind', killed, left)

# Folders in TMPDIR of processes that were killed: an old one without a lock goes, others stay.
for name, age in (('perp-abCD12', 7200), ('perp-abCD13', 60), ('perp-other-x', 7200)):
    os.mkdir(f'{home}/{name}')
    open(f'{home}/{name}/f', 'w').close()
    os.utime(f'{home}/{name}', (time.time() - age,) * 2)
os.mkdir(f'{home}/perp-abCD14')
import fcntl
held = os.open(f'{home}/perp-abCD14', os.O_RDONLY)
fcntl.flock(held, fcntl.LOCK_EX)
os.utime(f'{home}/perp-abCD14', (time.time() - 7200,) * 2)
status, out, err = run(['view', 'pendulum', '--t-end', '20ms', '-o', 'v.html', '--no-open'])
ok(status in (0, 5), 'perp view makes a folder of its own', status, err)
there = [os.path.isdir(f'{home}/{n}') for n in ('perp-abCD12', 'perp-abCD13', 'perp-other-x', 'perp-abCD14')]
if status == 0:
    ok(there == [False, True, True, True], 'an old folder that nobody holds is removed, a young one, another name and one in use stay', there)
    ok(len(glob.glob(f'{home}/perp-??????')) == 2, 'and it removes its own', glob.glob(f'{home}/perp-*'))
done()
