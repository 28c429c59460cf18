#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""schema.py PERP SOURCE OUT: report.json of studies of both kinds is what docs/reference/report.schema.json says, and the page
carries the same; what differs from it in one member would be seen."""
import base64
import copy
import json
import pathlib
import re
import subprocess
import sys

perp, source, out = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]) / 'schema'
schema = json.loads((source / '../../docs/reference/report.schema.json').read_text(encoding='utf-8'))
types = {'string': str, 'integer': int, 'number': (int, float), 'boolean': bool, 'object': dict, 'array': list, 'null': type(None)}
number = 0


def ok(good, what):
    global number
    number += 1
    print(f'{"" if good else "not "}ok {number} - {what}')


def is_type(value, name):
    return isinstance(value, types[name]) and not (isinstance(value, bool) and name in ('integer', 'number'))


def faults(value, rule, at='report'):
    """Where a value is not what a rule says: the part of JSON Schema that the file uses."""
    if '$ref' in rule:
        return faults(value, schema['$defs'][rule['$ref'].split('/')[-1]], at)
    if 'anyOf' in rule:
        return [] if any(not faults(value, r, at) for r in rule['anyOf']) else [f'{at} is none of the forms']
    if 'const' in rule or 'enum' in rule:
        return [] if value in rule.get('enum', [rule.get('const')]) else [f'{at} is {value!r}']
    names = rule['type'] if isinstance(rule['type'], list) else [rule['type']]
    if not any(is_type(value, n) for n in names):
        return [f'{at} is no {" or ".join(names)}']
    if isinstance(value, list) and 'items' in rule:
        return [f for k, v in enumerate(value) for f in faults(v, rule['items'], f'{at}[{k}]')]
    if not isinstance(value, dict):
        return []
    known, other = rule.get('properties', {}), rule.get('additionalProperties', True)
    found = [f'{at}.{k} is missing' for k in rule.get('required', []) if k not in value]
    for k, v in value.items():
        if k in known or isinstance(other, dict):
            found += faults(v, known.get(k, other), f'{at}.{k}')
        elif not other:
            found.append(f'{at}.{k} is not in the schema')
    return found


def column(c):
    """A column, decoded as docs/reference/report.md says."""
    import array
    if 'same' in c:
        return [c['same']] * c['n']
    raw = base64.b64decode(c.get('of') or c['float'])
    if 'float' in c:
        return array.array('f', raw).tolist()
    return [c['values'][int.from_bytes(raw[i:i + c['bytes']], 'little')] for i in range(0, len(raw), c['bytes'])]


seen = set()
for study in ('motion', 'contact', 'lcp', 'findings', 'scaling'):
    folder = out / study
    done = subprocess.run([perp, 'run', source / f'{study}.yaml', '-o', folder, '--fresh', '-q'], capture_output=True, text=True, check=False)
    if done.returncode:
        print(f'Bail out! {done.stderr[-500:]}')
        sys.exit(1)
    text = (folder / 'report.json').read_text(encoding='utf-8')
    report = json.loads(text)
    bad = faults(report, schema)
    ok(not bad, f'{study}: report.json is as documented {bad[:3]}')
    page = folder / 'report.html'
    carried = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(encoding='utf-8'), re.S) if page.exists() else None
    ok(carried is None or json.loads(carried[1]) == report, f'{study}: the page carries the same{"" if carried else " # SKIP built without pages"}')
    cells = len(report['cells']['id']) // 16
    lengths = {len(column(c)) for c in [report['cells']['status'], *report['options'].values(), *(m['values'] for m in report['metrics'])]}
    ok(lengths == {cells} and sum(report['counts'].values()) == cells, f'{study}: each column has an entry for each of {cells} runs')
    rows = (folder / 'derived/cells.csv').read_text(encoding='utf-8').split('\n')
    ok(sorted(column(report['cells']['status'])) == sorted(r.split(',')[rows[0].split(',').index('status')] for r in rows[1:] if r), f'{study}: statuses are those of cells.csv')
    seen |= set(report)
ok(seen == set(schema['properties']), f'every member of the schema was seen: {set(schema["properties"]) - seen or ""}')
# each member with a wrong type, and one too many, is a fault
blind = [k for k in report if not faults({**report, k: {'odd': [None]}}, schema)]
extra = copy.deepcopy(report)
extra['cells']['odd'] = 1
ok(not blind and len(faults(extra, schema)) == 1, f'faults would be seen {blind}')
print(f'1..{number}')
