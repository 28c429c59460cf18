#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The structures of perp/_library.py, member by member, against those of the C compiler.  layout.py 'CC ...'"""
import os
import pathlib
import subprocess
import sys
import tempfile

from perp import _inprocess as inside, _library as c
from tap import done, ok

names = {'Ctx': 'perp_ctx', 'Spec': 'perp_spec', 'Stats': 'perp_stats', 'Columns': 'perp_columns', 'Blocks': 'perp_blocks', 'Lcp': 'perp_lcp',
         'LcpSensitivity': 'perp_lcp_sensitivity', 'LcpPart': 'perp_lcp_part', 'LcpSolutions': 'perp_lcp_solutions',
         'Contact': 'perp_contact', 'BodyState': 'perp_body_state', 'Reaction': 'perp_reaction', 'PairForce': 'perp_pair_force',
         'StepForces': 'perp_step_forces', 'GradientRow': 'perp_gradient_row', 'GradientReport': 'perp_gradient_report',
         'SessionRequest': 'perp_session_request', 'Session': 'perp_session', 'Opt': 'perp_opt',
         'Desc': 'perp_desc', 'LcpDesc': 'perp_lcp_desc', 'OdeDesc': 'perp_ode_desc', 'ContactDesc': 'perp_contact_desc',
         'Island': 'perp_contact_island', 'MetricDesc': 'perp_metric_desc', 'Plugin': 'perp_plugin', 'OdeSys': 'perp_ode_sys'}
parts = ['OdeSys']  # of which Python knows the first members alone
structures = {python: getattr(c, python, None) or getattr(inside, python) for python in names}
lines = []
for python, name in names.items():
    lines.append(f'printf("{name} size %zu\\n", sizeof({name}));')
    for field, *_ in structures[python]._fields_:
        lines.append(f'printf("{name} {field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));')
lines.append('printf("PERP_ABI %d\\nPERP_KIND_lcp %d\\nPERP_KIND_ode %d\\nPERP_KIND_contact %d\\nPERP_KIND_metric %d\\n", PERP_ABI, PERP_KIND_lcp, PERP_KIND_ode, PERP_KIND_contact, PERP_KIND_metric);')
with tempfile.TemporaryDirectory() as folder:
    source, program = pathlib.Path(folder, 'layout.c'), pathlib.Path(folder, 'layout')
    source.write_text('#include "experiments/metrics/metrics.h"\n#include "experiments/session/session.h"\n#include "models/contact/laws/contact.h"\n#include "solvers/lcp/pivoting/sensitivity.h"\n#include "solvers/lcp/pivoting/solution_set.h"\n#include <stdio.h>\nint main(void)\n{\n' + '\n'.join(lines) + '\nreturn 0;\n}\n')
    subprocess.run([*sys.argv[1].split(), '-std=gnu11', '-I', os.environ['PERP_SOURCE'], source, '-o', program], check=True)
    told = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split('\n')
said = {}
for python, name in names.items():
    structure = structures[python]
    said[name] = [f'{name} size {c.ctypes.sizeof(structure)}'] + [
        f'{name} {f} {getattr(structure, f).offset} {getattr(structure, f).size}' for f, *_ in structure._fields_]
    there = [line for line in told if line.startswith(name + ' ')]
    if python in parts:
        said[name], there = said[name][1:], there[1:]
    ok(said[name] == there, f'{name}: {len(there) - 1} members at their places', *(set(said[name]) ^ set(there)))
ok({f'PERP_ABI {c.ABI}', f'PERP_KIND_lcp {c.KIND_LCP}', f'PERP_KIND_ode {c.KIND_ODE}', f'PERP_KIND_contact {c.KIND_CONTACT}',
    f'PERP_KIND_metric {c.KIND_METRIC}'} <= set(told), 'the interface version and the kind', told)
done()
