#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs of docs/reference/library.md, built and run against the library of the build and the installed one.
guide.py SOURCE BUILD PREFIX MESON 'CC ...' (TAP)
guide.py --system PAGE                      against the library that the system has, as a package installs it"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

system = sys.argv[1] == '--system'
source, build, prefix, meson, cc = ['', '', '', '', os.environ.get('CC', 'cc')] if system else sys.argv[1:]
page = pathlib.Path(sys.argv[2] if system else f'{source}/docs/reference/library.md').read_text(encoding='utf-8')
programs = re.findall(r'```c\n(/\* (\w+)\.c: .*?)```\n\n```text\n(.*?)```', page, re.S)
count = 0
failed = False


def ok(passed, what, *more):
    global count, failed
    count += 1
    failed = failed or not passed
    print(f"{'' if passed else 'not '}ok {count} - {what}", flush=True)
    for line in () if passed else '\n'.join(more).splitlines()[:30]:
        print('#', line)
    return passed


def run(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    return done.returncode == 0, done.stdout


def build_and_run(place, folder, flags, env):
    for text, name, expected in programs:
        pathlib.Path(folder, name + '.c').write_text(text)
        good, said = run([*cc.split(), '-std=gnu11', '-Wall', '-Wextra', '-Werror', name + '.c', '-o', name, *flags.split(), '-lm'],
                         cwd=folder)
        if not ok(good, f'{place}: {name}.c builds without a warning', said):
            continue
        needs = run(['readelf', '-d', os.path.join(folder, name)])[1]
        good, said = run([os.path.join(folder, name)], cwd=folder, env=env)
        ok(good and said == expected and '[libperp.so.0]' in needs, f'{place}: {name} says what the page says', said, needs)


print('TAP version 13')
ok([name for _, name, _ in programs] == ['solve', 'simulate', 'own'], 'three programs')
if not shutil.which('pkg-config'):
    print(f'ok {count + 1} - they run # SKIP no pkg-config\n1..{count + 1}')
    sys.exit()
if system:
    with tempfile.TemporaryDirectory() as folder:
        good, flags = run(['pkg-config', '--cflags', '--libs', 'perp'])
        ok(good, 'pkg-config', flags)
        build_and_run('of the system', folder, flags, {k: v for k, v in os.environ.items() if k != 'PERP_HOME'})
    print(f'1..{count}')
    sys.exit(failed)
with tempfile.TemporaryDirectory() as folder:
    stage = os.path.join(folder, 'inst')
    good, said = run([*meson.split(), 'install', '-C', build, '--no-rebuild', '--quiet'], env={**os.environ, 'DESTDIR': stage})
    ok(good, 'meson install', said)
    root = stage + prefix
    found = [str(p.parent) for p in pathlib.Path(root).rglob('perp.pc')]
    libraries = [str(p.parent) for p in pathlib.Path(root).rglob('libperp.so.0')]
    ok(len(found) == 1 and len(libraries) == 1, 'perp.pc and libperp.so.0 are installed', *found, *libraries)
    places = {'of the build': ([f'{build}/meson-uninstalled'], [], build), 'installed': (found, [f'--define-variable=prefix={root}'], libraries[0])}
    for place, (pc, words, library) in places.items():
        env = {**os.environ, 'PKG_CONFIG_PATH': pc[0], 'LD_LIBRARY_PATH': library}
        env.pop('PERP_HOME', None)
        good, flags = run(['pkg-config', *words, '--cflags', '--libs', 'perp'], env=env)
        ok(good, f'{place}: pkg-config', flags)
        build_and_run(place, folder, flags, env)
    # as a user of a Python package that stands beside the installed library
    good, said = run([sys.executable, '-c', 'import perp; print(perp.lcp([[2,1],[1,2]],[-5,-6]), perp.version())'], cwd=folder, env={
        **{k: v for k, v in os.environ.items() if not k.startswith('PERP_')}, 'PYTHONPATH': root + '/share/perp/python'})
    ok(good and said.startswith('solved by auto (dantzig): x = [1.33333, 2.33333]'), 'installed: import perp', said)
    good, said = run([root + '/bin/perp', 'new', 'plugin', 'lcp', '--language', 'python', '--name', 'away'], cwd=folder,
                     env={k: v for k, v in os.environ.items() if k != 'PERP_HOME'})
    ok(good and os.path.exists(folder + '/away/away.py'), 'installed: perp new plugin --language python', said)
print(f'1..{count}')
