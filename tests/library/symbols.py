#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""libperp exports the functions of the installed headers of solvers/ and models/, as models/libperp.map lists them, and
nothing else: what is new, or gone, is noticed.  symbols.py SOURCE LIBRARY [--accept] (TAP)

--accept writes the map: a function that is gone breaks programs, and one that is new may stand in a version of its own."""
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'house'))
from declared import functions  # noqa: E402

source, library = pathlib.Path(sys.argv[1]), sys.argv[2]
path = source / 'models/libperp.map'
HEAD = '''/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What libperp exports: the functions of the installed headers (tests/library/symbols.py --accept writes this). */
PERP_0 {
  global:
'''


def declared():
    headers = subprocess.run([sys.executable, source / 'docs/public_headers.py', source], check=True, capture_output=True, text=True)
    paths = [pathlib.Path(line) for line in headers.stdout.split()]
    of_library = [p for p in paths if p.relative_to(source).parts[0] in ('solvers', 'models') or p.name == 'session.h']
    data = [re.findall(r'^extern const .*?\b(perp_\w+)\[\];', p.read_text(), re.M) for p in of_library]
    return {n for p in of_library for n in functions(p)} | {n for names in data for n in names}


def exported():
    lines = subprocess.run(['nm', '-D', '--defined-only', library], check=True, capture_output=True, text=True).stdout.splitlines()
    return [line.split()[-1] for line in lines if line.split()[-2] != 'A']  # A: the name of a version


if '--accept' in sys.argv:
    path.write_text(HEAD + ''.join(f'    {n};\n' for n in sorted(declared())) + '  local:\n    *;\n};\n')
    sys.exit()

listed = re.findall(r'^ {4}(perp_\w+);$', path.read_text(), re.M)
names = exported()
bare = {n.split('@')[0] for n in names}
print('TAP version 13')
count = 0


def ok(passed, what, wrong=()):
    global count
    count += 1
    print(f"{'' if passed else 'not '}ok {count} - {what}")
    for line in sorted(wrong)[:12] if not passed else ():
        print('#', line)


said = subprocess.run(['readelf', '-d', library], check=True, capture_output=True, text=True).stdout
ok('[libperp.so.0]' in said, 'its name at run time is libperp.so.0')
ok(bare == set(listed), f'exports what models/libperp.map lists: {len(listed)} functions',
   {f'listed, not exported: {n}' for n in set(listed) - bare} | {f'exported, not listed: {n}' for n in bare - set(listed)})
ok(len(names) > 150 and all(re.fullmatch(r'perp_\w+@@PERP_\d+', n) for n in names), 'each with a version',
   {n for n in names if '@@PERP_' not in n})
ok(set(listed) == declared(), 'lists the functions of the installed headers',
   {f'declared, not listed: {n}' for n in declared() - set(listed)} | {f'listed, not declared: {n}' for n in set(listed) - declared()})
print(f'1..{count}')
