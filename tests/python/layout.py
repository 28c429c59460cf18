#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The structures of perp/_library.py, member by member, against those of the C compiler.  layout.py 'CC ...'"""
import os
import pathlib
import subprocess
import sys
import tempfile

from perp import _library as c
from tap import done, ok

names = {'Ctx': 'perp_ctx', 'Spec': 'perp_spec', 'Stats': 'perp_stats', 'Columns': 'perp_columns', 'Lcp': 'perp_lcp'}
lines = []
for python, name in names.items():
    lines.append(f'printf("{name} size %zu\\n", sizeof({name}));')
    for field, *_ in getattr(c, python)._fields_:
        lines.append(f'printf("{name} {field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));')
lines.append('printf("PERP_ABI %d\\nPERP_KIND_lcp %d\\n", PERP_ABI, PERP_KIND_lcp);')
with tempfile.TemporaryDirectory() as folder:
    source, program = pathlib.Path(folder, 'layout.c'), pathlib.Path(folder, 'layout')
    source.write_text('#include "solvers/lcp/lcp.h"\n#include <stdio.h>\nint main(void)\n{\n' + '\n'.join(lines) + '\nreturn 0;\n}\n')
    subprocess.run([*sys.argv[1].split(), '-std=gnu11', '-I', os.environ['PERP_SOURCE'], source, '-o', program], check=True)
    told = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split('\n')
said = {}
for python, name in names.items():
    structure = getattr(c, python)
    said[name] = [f'{name} size {c.ctypes.sizeof(structure)}'] + [
        f'{name} {f} {getattr(structure, f).offset} {getattr(structure, f).size}' for f, *_ in structure._fields_]
    there = [line for line in told if line.startswith(name + ' ')]
    ok(said[name] == there, f'{name}: {len(there) - 1} members at their places', *(set(said[name]) ^ set(there)))
ok(f'PERP_ABI {c.ABI}' in told and f'PERP_KIND_lcp {c.KIND_LCP}' in told, 'the interface version and the kind', told)
done()
