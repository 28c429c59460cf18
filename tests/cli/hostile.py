#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Input of somebody who means harm, or of a broken machine: each ends soon, within little memory, with a message that names
the cause and the exit status for it, and no text of others reaches the terminal with its control characters."""
import concurrent.futures
import contextlib
import glob
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'python'))
from tap import done, ok

PERP, PLUGINS = os.environ['PERP_BIN'], os.environ['PERP_BAD_PLUGINS']
SOURCE = os.environ.get('PERP_SOURCE', os.getcwd())
SANITIZED = b'__asan_init' in open(PERP, 'rb').read()
SECONDS, MEMORY = (120, None) if SANITIZED else (20, 1500 << 20)
waiting = []
pool = concurrent.futures.ThreadPoolExecutor(3)


def write(name, text):
    if os.path.dirname(name):
        os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, 'wb') as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    return name


def limits():
    if MEMORY:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run(*words, env=None, stdin=subprocess.DEVNULL):
    """(status, what it prints), None where it does not end."""
    with subprocess.Popen([PERP, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=stdin, preexec_fn=limits,
                          env={**os.environ, **(env or {})}, start_new_session=True) as p:
        try:
            return [p.communicate(timeout=SECONDS)[0], p.returncode][::-1]
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            return None, b'(it does not end)'


def shown(text):
    """The first character that may not be shown; None: there is none."""
    s = text.decode('utf-8', 'surrogateescape')
    return next((c for c in s if (ord(c) < 32 and c not in '\n\t') or 0x7f <= ord(c) < 0xa0 or 0x202a <= ord(c) <= 0x202e
                 or 0x2066 <= ord(c) <= 0x2069 or 0xd800 <= ord(c) < 0xe000), None)


def refuses(status, text, what, *words, **more):
    """The command ends with this status and says the text, soon; checked in order later."""
    waiting.append((status, text, what, words, pool.submit(run, *words, **more)))


def settle():
    for status, text, what, words, future in waiting:
        got, said = future.result()
        wrong = shown(said)
        ok(got == status and text.encode() in said and wrong is None, what,
           f"perp {' '.join(words)}: {got} (wants {status}, '{text}'){'' if wrong is None else f', character {wrong!r}'}\n"
           + said.decode(errors='replace'))
    waiting.clear()


PLANE = """schema: perp-scene/1
scene: { summary: "a body", dim: 2, gravity: 9.81, t_end: 0.1 s, h: 1 ms }
bodies:
  - { name: ball, mass: 1, inertia: 1, x: [0, 0] }
"""
SPACE = """schema: perp-scene/1
scene: { summary: "a body", gravity: 9.81, t_end: 0.01 s, h: 1 ms }
bodies:
  - { name: ball, mass: 1, inertia: [1, 1, 1], x: [0, 0, 0] }
"""
STUDY = """schema: perp-study/1
study: { name: s, title: T, question: Q? }
scene: pendulum
t_end: 0.02 s
grid:
  h: [4 ms, 2 ms]
metrics: { primary: err.q.max }
"""
LCP = """schema: perp-study/1
study: { name: s, title: T, question: Q? }
kind: lcp
problems: { files: [ "%s" ] }
grid: { lcp: [%s] }
limits: { timeout: 15 s, memory: 128 MB }
"""
PROBLEM = os.path.join(SOURCE, 'tests/fuzz/corpus/boxed.lcp')
numbers = iter(range(1000000))


def scene(what, text, old, new, base=SPACE, status=3):
    assert old in base, old
    refuses(status, text, what, 'check', write(f'scene{next(numbers)}.yaml', base.replace(old, new)))


def long_things():
    scene('a sum of 50 000 numbers', 'more than 4000', 'mass: 1', 'mass: ' + '1' + '+1' * 50000)
    scene('50 000 parentheses', 'nested too deeply', 'mass: 1', 'mass: "' + '(' * 50000 + '1' + ')' * 50000 + '"')
    scene('50 000 signs', 'nested too deeply', 'mass: 1', 'mass: "' + '-' * 50000 + '1"')
    write('or.yaml', STUDY + 'exclude: [ { where: "' + ' or '.join(['h < 0 s'] * 100000) + '", reason: x } ]\n')
    refuses(3, 'more than 4000', '100 000 conditions joined by or', 'check', 'or.yaml')
    refuses(3, 'nested too deeply', '100 000 nested lists', 'check', write('nest.yaml', '[' * 100000))
    refuses(3, 'nested too deeply', '100 000 nested maps', 'check', write('maps.yaml', '{a: ' * 100000))
    refuses(3, '', '100 000 nested bodies of MJCF', 'check', write('nest.xml', '<mujoco><worldbody>' + '<body>' * 100000))
    refuses(3, 'more than 1000 attributes', '200 000 attributes of an element', 'check',
            write('attributes.xml', '<mujoco ' + ' '.join(f'b{i}="1"' for i in range(200000)) + '/>'))
    refuses(3, 'more than 1000000 elements', '4 000 000 elements', 'check', write('elements.xml', '<mujoco>' + '<a/>' * 4000000 + '</mujoco>'))
    refuses(3, '', '1 000 000 nested lists of JSON', 'lcp', 'solve', write('nest.json', '{"A":' + '[' * 1000000))
    refuses(3, "unknown section 'a0'", '50 000 keys of a map', 'check',
            write('keys.yaml', PLANE + ''.join(f'a{i}: 1\n' for i in range(50000))))
    refuses(3, 'more than 10000 values', '50 000 values of let', 'check',
            write('let.yaml', PLANE + 'let:\n' + ''.join(f'  a{i}: 1\n' for i in range(50000))))
    scene('9 million bodies of two nested repeats', '9006001 repetitions', '{ name: ball,',
          '{ repeat: { i: 0..3000, k: 0..3000 }, name: "b{i}_{k}",')
    refuses(3, 'rows', 'a height field of 100 000 x 100 000', 'check', write(
        'field.xml', '<mujoco><asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset><worldbody>'
        '<geom type="hfield" hfield="h"/></worldbody></mujoco>'))
    refuses(0, 'lost: composite', 'a composite of 10 000 000 000 bodies', 'check', write(
        'grid.xml', '<mujoco><worldbody><body><freejoint/><geom size="1"/><composite type="grid" count="100000 100000 1" '
        'spacing="1"><geom size="1"/></composite></body></worldbody></mujoco>'))


def special_files():
    for name in ('f.yaml', 'f.lcp', 'f.xml', 'f.so', 'f.py', 'f.bvh', 'f.csv'):
        os.mkfifo(name)
    os.symlink('/dev/zero', 'zero.yaml')
    os.symlink('/dev/zero', 'zero.lcp')
    no = 'it is not a regular file'
    for words in (['check', 'f.yaml'], ['simulate', 'f.yaml'], ['run', 'f.yaml'], ['check', 'zero.yaml'], ['run', 'zero.yaml'],
                  ['simulate', 'zero.yaml'], ['lcp', 'solve', 'f.lcp'], ['lcp', 'info', 'f.lcp'], ['lcp', 'solve', 'zero.lcp'],
                  ['lcp', 'check', PROBLEM, 'f.csv'], ['check', 'f.xml'], ['import', 'f.xml'], ['check', 'f.bvh']):
        refuses(3, no, 'neither a pipe nor a device is read: ' + ' '.join(words), *words)
    for name in ('f.so', 'f.py'):
        refuses(2, no, 'nor loaded: ' + name, 'list', '--plugin', './' + name)
    refuses(3, no, 'nor a table of what is known', 'simulate', write(
        'truth.yaml', PLANE + 'truth:\n  - { kind: states, file: f.csv }\n'))
    refuses(3, 'is not a regular file', 'nor a problem of a study', 'check', write('glob.yaml', LCP % ('f.lcp', 'dantzig')))
    refuses(2, 'more than the limit', 'a device at standard input has an end', 'lcp', 'solve', '-', stdin=open('/dev/zero', 'rb'))
    for i in range(101):
        write(f'd{i}/p.lcp', 'garbage')
    refuses(3, 'more than 10000', 'a pattern of more than 10 000 files', 'check', write('many.yaml', LCP % ('d*/../d*/p.lcp', 'dantzig')))
    refuses(3, 'the file is empty', 'a file without a byte', 'lcp', 'solve', write('empty.lcp', ''))
    # a regular file whose reading fails at once
    mem = '/proc/self/mem'
    for name in ('io.yaml', 'io.lcp', 'io.csv', 'io.urdf'):
        os.symlink(mem, name)
    for words in (['check', 'io.yaml'], ['lcp', 'solve', 'io.lcp'], ['check', 'io.urdf'],
                  ['simulate', write('truth2.yaml', PLANE + 'truth:\n  - { kind: states, file: io.csv }\n')]):
        refuses(3, 'Input/output error', 'a read error is no end of a file: ' + ' '.join(words), *words)


def received_folder():
    settle()
    write('st.yaml', STUDY)
    first = run('run', 'st.yaml', '-o', 'res')
    ok(first[0] == 0, 'a study to be received', first[1])
    no = 'it is not a regular file'
    for k, (victim, commands, text) in enumerate((
            ('plan.jsonl', (['status'], ['report'], ['answer'], ['compare']), no),
            ('study.yaml', (['status'], ['show', 'x']), no), ('journal/x.jsonl', (['status'], ['report'], ['answer']), no),
            ('derived/cells.csv', (['report'],), 'a pipe that nobody reads'))):
        folder = f'res{k}'
        shutil.copytree('res', folder)
        with contextlib.suppress(FileNotFoundError):
            os.remove(f'{folder}/{victim}')
        os.mkfifo(f'{folder}/{victim}')
        for command, *more in commands:
            status = 5 if victim.startswith('derived') else 3
            refuses(status, text, f'{victim} of a folder is a pipe: {command}', command, folder, *(['res'] if command == 'compare' else more))
    # the journal, the plan and the machine of somebody, with commands for a terminal
    shutil.copytree('res', 'red')
    escape = '\\u001b]0;x\\u0007\\u009b31m\\u202e'
    for name in glob.glob('red/journal/*'):
        text = open(name, encoding='utf-8').read()
        write(name, text.replace('"status": "ok"', f'"status": "crash", "reason": "{escape}", "cause": "c{escape}\u009b\u202e"')
              .replace('"stderr": "', f'"stderr": "{escape}'))
    for name in glob.glob('red/env/*'):
        text = open(name, encoding='utf-8').read()
        write(name, text.replace('"host": "', f'"host": "{escape}').replace('"cpu": "', f'"cpu": "{escape}'))
    for words in (['status', 'red'], ['answer', 'red'], ['compare', 'res', 'red'], ['report', 'red']):
        refuses(6 if words[0] == 'compare' else 0, '', 'texts of a received folder are shown: ' + words[0], *words)
    ids = [line.split('"cell": "')[1][:8] for name in glob.glob('red/journal/*') for line in open(name, encoding='utf-8')
           if '"event": "cell"' in line]
    refuses(0, 'c?', 'and its causes', 'show', 'red', ids[0])


def escapes():
    for text in (r'"a\e[31mb"', r'"a\u009b31m"', r'"a\u202eb"', r'"a\rb"', '"a\u202eb"', '"a\u009bb"'):
        scene(f'a name with a control character: {ascii(text)}', 'control character', 'name: ball', 'name: ' + text)
    refuses(3, 'control character', 'a title with one', 'check', write('title.yaml', STUDY.replace('title: T', r'title: "\e[2J"')))
    refuses(3, 'control character', 'a body of MJCF with one', 'check', write(
        'name.xml', '<mujoco><worldbody><body name="a&#x9b;31m"><freejoint/><geom size="1"/></body></worldbody></mujoco>'))
    refuses(3, 'control character', 'a column with one', 'simulate', write(
        'known.yaml', PLANE + 'truth:\n  - { kind: states, file: known.csv }\n'))
    write('known.csv', 't [s], b\x1b[31m [m]\n0, 0\n')
    os.mkdir('in')
    odd = write('in/p\x1b[31m.lcp', open(PROBLEM, 'rb').read())
    refuses(3, 'control character', 'a file of problems with one', 'check', write('odd.yaml', LCP % ('in/*.lcp', 'dantzig')))
    refuses(3, 'cannot read', 'a file that is not there', 'lcp', 'solve', odd + 'x')
    refuses(0, 'a?31m?[31m', 'texts of a problem', 'lcp', 'info', write(
        'texts.json', b'{"family":"a\xc2\x9b31m\\u001b[31m","provenance":"x\\u009b","n":1,"A":[[1]],"b":[-1]}'))
    refuses(3, 'control character', 'a plug-in with one', 'list', 'lcp', '--plugin', PLUGINS + '/escape.so')


def ranges():
    scene('a step of 0', 'h must be positive', 'h: 1 ms', 'h: 0')
    scene('too many steps', 'more than 1e12', 'h: 1 ms', 'h: 1e-300')
    scene('a quaternion of length 0', 'no orientation', 'x: [0', 'quat: [0, 0, 0, 0], x: [0')
    scene('one of a shape', 'no orientation', 'x: [0', 'shape: { kind: sphere, radius: 1, quat: [0, 0, 0, 0] }, x: [0')
    scene('a ball of negative radius', 'negative size', 'inertia: [1, 1, 1]', 'solid: { kind: sphere, radius: -1 }')
    scene('a box of two negative edges', 'negative size', 'mass: 1, inertia: [1, 1, 1]', 'density: 1, solid: { kind: box, half: [-1, -1, 1] }')
    for old, new in (('mass: 1,', 'mass: 1e308,'), ('mass: 1,', 'mass: 1e-310,'), ('mass: 1,', 'mass: inf,'), ('x: [0', 'w: [1e160, 0, 0], x: [0'),
                     ('gravity: 9.81', 'gravity: 1e308'), ('[1, 1, 1]', '[1e-310, 1e-310, 1e-310]')):
        scene('outside of its range: ' + new, '1e100', old, new)
    for option in ('mass=1e308', 'mass=1e-310', 'gravity=1e308'):
        refuses(2, '1e100', 'of a scene of perp, too: ' + option, 'simulate', 'pendulum:' + option)
    refuses(2, 'appears twice', 'an option given twice', 'simulate', 'chain:links=3,links=4')
    refuses(2, 'appears twice', 'one of a solver', 'simulate', 'stack', '--lcp', 'pgs:max_iter=3, max_iter=4')
    refuses(0, '', 'the same key of an inner text is another one', 'simulate', 'stack:boxes=2', '--t-end', '0.01', '--lcp',
            'staggered:normal=(pgs:max_iter=30),friction=(pgs:max_iter=40)')
    head = '%%MatrixMarket matrix coordinate real general\n'
    write('ns_b.mtx', '%%MatrixMarket matrix array real general\n2 1\n1\n1\n')
    refuses(3, 'must be square', 'a matrix that is not square', 'lcp', 'solve', write('ns.mtx', head + '2 3 2\n1 1 1\n2 2 1\n'))
    refuses(3, 'has no entry', '[A b] without b', 'lcp', 'solve', write('nb.mtx', head + '2 3 2\n1 1 1\n2 2 1\n'))
    refuses(3, 'not valid UTF-8', 'JSON that is no UTF-8', 'lcp', 'solve', write('bad.json', b'{"family":"a\xff","n":1,"A":[[1]],"b":[-1]}'))
    tiny = run('lcp', 'solve', write('tiny.json', '{"n":2,"A":[[1e-310,0],[0,1e-310]],"b":[-1,-1]}'))
    ok(tiny[0] == 10 and b'1e-310' in tiny[1], 'a matrix of denormal numbers is named as the cause', tiny)
    refuses(3, 'above the upper', 'crossed limits of a URDF joint', 'check', write(
        'cross.urdf', '<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" '
        'iyz="0" izz="1"/></inertial></link><joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>'
        '<limit lower="1" upper="-1" effort="1" velocity="1"/></joint></robot>'))
    for body, joint in (('mass="nan"', ''), ('mass="1"', 'stiffness="nan"'), ('mass="1"', 'armature="-1"'), ('mass="-1"', '')):
        refuses(3, 'error', f'MJCF: {body} {joint}', 'check', write(
            f'm{next(numbers)}.xml', f'<mujoco><worldbody><body><joint type="hinge" {joint}/><geom size="0.1" {body}/></body></worldbody></mujoco>'))
    refuses(3, 'division by 0', 'a division by 0 in where', 'check', write('div.yaml', STUDY + 'exclude: [ { where: "h / 0 < 1", reason: x } ]\n'))
    refuses(3, 'divides by 0', 'one for a part of the grid', 'check',
            write('div2.yaml', STUDY + 'exclude: [ { where: "h / (h - 4 ms) > 9", reason: x } ]\n'))


def left():
    """Processes that the plug-in has started and that are still there."""
    there = open('left').read().split() if os.path.exists('left') else []
    alive = []
    for pid in there:
        with contextlib.suppress(OSError):
            if open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[0] != 'Z':
                alive.append(pid)
                os.kill(int(pid), signal.SIGKILL)
    with contextlib.suppress(FileNotFoundError):
        os.remove('left')
    return len(there), len(alive)


def foreign_code():
    settle()
    solver = ['--plugin', PLUGINS + '/hostile.so']
    write('own.yaml', LCP % (PROBLEM, 'hostile'))
    for how in ('exit', '_exit', 'memory'):
        if how == 'memory' and SANITIZED:
            continue
        got, said = run('run', 'own.yaml', '-o', 'own-' + how, *solver, env={'HOSTILE': how})
        ok(got == 3 and b'while it is loaded' in said and not os.path.exists('own-' + how), f'a plug-in that does harm while it is loaded: {how}',
           f'{got}: {said}')
    for what, how, words in (('loaded', 'leave', ['list']), ('a simulation', 'stay', ['simulate', 'stack:boxes=2', '--lcp', 'hostile', '--t-end', '0.01']),
                             ('a run', 'stay', ['run', 'own.yaml', '-o', 'own-stay']), ('a problem', 'stay', ['lcp', 'solve', PROBLEM, '--lcp', 'hostile'])):
        got, said = run(*words, *solver, env={'HOSTILE': how})
        time.sleep(0.05)
        started, alive = left()
        ok(got is not None and alive == 0 and (started > 0 or how == 'leave'), f'what is started in another session ends with it: {what}',
           f'{got}: {started} started, {alive} there: {said}')
    if SANITIZED:
        return
    got, said = run('list', '--plugin', write('greedy.py', 'block = bytearray(8 << 30)\n'))
    skip = ' # SKIP no numpy' if b'has no numpy' in said else ''
    ok(got == 3 and (skip or b'MemoryError' in said), 'a Python file that takes 8 GiB while it is loaded' + skip, f'{got}: {said}')
    begun = time.monotonic()
    got, said = run('run', 'own.yaml', '-o', 'own-family', *solver, env={'HOSTILE': 'family'})
    started, alive = left()
    journal = ''.join(open(name).read() for name in glob.glob('own-family/journal/*'))
    ok('"oom"' in journal and 'processes that it started' in journal and alive == 0 and time.monotonic() - begun < 8,
       'the memory limit is that of a run and all that it starts', f'{got}: {started} started, {alive} there: {said} {journal}')


def disk():
    settle()
    write('st.yaml', STUDY)
    if not SANITIZED:
        refuses(1, 'to the disk: Input/output error', 'a journal that does not reach the disk', 'run', 'st.yaml', '-o', 'unsafe',
                env={'LD_PRELOAD': PLUGINS + '/nosync.so'})
    settle()
    with subprocess.Popen([PERP, 'simulate', 'chain:links=10', '--series', 's.csv', '--t-end', '0.5'], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))) as p:
        said = p.communicate(timeout=SECONDS)[0]
    ok(p.returncode == 1 and b'cannot write' in said and b'File too large' in said, 'a file that may not grow is an error of writing',
       f'{p.returncode}: {said}')


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ.update(HOME=folder, XDG_STATE_HOME=folder + '/state', PERP_HOME=SOURCE)
    for part in (long_things, special_files, escapes, ranges, received_folder, foreign_code, disk):
        begun = time.monotonic()
        part()
        settle()
        print(f'# {part.__name__}: {time.monotonic() - begun:.1f} s', flush=True)
    os.chdir('/')
done()
