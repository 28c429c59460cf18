#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every header that is installed compiles alone, where it is installed, as C and as C++, and its functions have the
names of C there.  headers.py SOURCE BUILD MESON 'CC ...' ['CXX ...'] (TAP)."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from declared import functions

source, build, meson, cc, *cxx = sys.argv[1:]
SKIP = '' if cxx and cxx[0] else ' # SKIP no C++ compiler'


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def install(root):
    """What meson's install_headers and experiments/plugins/install_headers.py put under ROOT/include/perp."""
    names = subprocess.run([*meson.split(), 'introspect', '--installed', build], check=True, capture_output=True, text=True).stdout
    for of, to in json.loads(names).items():
        inside = re.search(r'/include/(perp/.*\.h)$', to)
        if inside:
            (root / 'include' / inside[1]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(of, root / 'include' / inside[1])
    subprocess.run([sys.executable, os.path.join(source, 'experiments/plugins/install_headers.py'), source, 'include'], check=True,
                   env={**os.environ, 'MESON_INSTALL_DESTDIR_PREFIX': str(root)})
    return root / 'include/perp'


failed = count = 0


def ok(passed, name, output=''):
    global failed, count
    count += 1
    failed += not passed
    print(f"{'' if passed else 'not '}ok {count} - {name}")
    for line in '' if passed else output.splitlines()[:12]:
        print('#', line)


with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder)
    include = install(root)
    headers = sorted(str(h.relative_to(include)) for h in include.rglob('*.h'))
    print('TAP version 13')
    flags = ['-I', str(include), '-Wall', '-Wextra', '-Werror']
    declared = 0
    for header in headers:
        (root / 'alone.c').write_text(f'#include "{header}"\n#include "{header}"\n')
        out = run([*cc.split(), '-std=gnu11', *flags, '-fsyntax-only', str(root / 'alone.c')])
        ok(out.returncode == 0, f'{header} alone, as C', out.stdout)
        if SKIP:
            print(f'ok {(count := count + 1)} - {header} as C++{SKIP}')
            continue
        names = functions(include / header)
        declared += len(names)
        (root / 'alone.cc').write_text(f'#include "{header}"\n#include "{header}"\nvoid *all[] = {{ nullptr, ' +
                                       ''.join(f'(void *){n}, ' for n in names) + '};\n')
        out = run([*cxx[0].split(), '-std=c++17', *flags, '-c', str(root / 'alone.cc'), '-o', str(root / 'alone.o')])
        symbols = run(['nm', '-u', str(root / 'alone.o')]).stdout.split() if out.returncode == 0 else []
        missing = [n for n in names if n not in symbols]
        ok(out.returncode == 0 and not missing, f'{header} alone, as C++, {len(names)} functions with the names of C',
           out.stdout + ''.join(f'not a name of C: {n}\n' for n in missing))
    ok(len(headers) > 15 and (SKIP or declared > 100), f'{len(headers)} headers, {declared} functions')
    print(f'1..{count}')
