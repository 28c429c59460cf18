# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes reference.md from the descriptors: every method, scene and metric with its equation, reference and options.  make_reference.py PERP OUTPUT."""
import json
import os
import subprocess
import sys

perp, output = sys.argv[1], sys.argv[2]
environment = {k: v for k, v in os.environ.items() if k != 'PERP_PLUGIN_PATH'}
kinds = [('formulation', 'Formulations: equations of motion and their integration'), ('ode', 'Integrators'),
         ('kkt', 'KKT solvers: constrained dynamics'), ('lcp', 'Contact solvers: complementarity problems'),
         ('stab', 'Stabilization'), ('contact', 'Contact and friction models'), ('engine', 'Third-party engines'), ('joints', 'Joints'), ('forces', 'Forces'), ('scenes', 'Scenes'), ('metrics', 'Metrics')]


def escape(text):
    return str(text).replace('|', '\\|').replace('<', '&lt;')


page = ['# Reference', '', 'Generated from the descriptors of the plug-ins; `perp info NAME` prints the same.']
for kind, title in kinds:
    parts = json.loads(subprocess.run([perp, 'list', kind, '--json'], check=True, capture_output=True, text=True, env=environment).stdout)
    page += ['', f'## {title}']
    for part in parts:
        page += ['', f"### {part['name']}", '', escape(part['summary']) + '.']
        if part.get('equation'):
            page += ['', f"    {part['equation']}"]
        facts = []
        if part.get('order'):
            facts.append(f"order {part['order']}")
        if part['capabilities']:
            facts.append(', '.join(part['capabilities']))
        facts.append('source: ' + escape(part['reference']))
        page += ['', '; '.join(facts) + '.']
        if part['options']:
            page += ['', '| option | unit | default | range | |', '|---|---|---|---|---|']
            page += [f"| `{o['name']}` | {escape(o['unit'])} | {escape(o['default'])} | {escape(o['range'])} | {escape(o['help'])} |"
                     for o in part['options']]
with open(output, 'w') as f:
    f.write('\n'.join(page) + '\n')
