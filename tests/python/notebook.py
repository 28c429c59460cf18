#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""python/notebooks, without a screen.  first-study on a small part of its study: with nbclient and the kernel of this Python where they
are, and as plain code, what it draws is compared with the tables.  The others as they are, once; they check their figures themselves."""
import contextlib
import csv
import io
import json
import os
import pathlib
import re
import sys
import tempfile

from tap import done, ok, perp, skip

folder_of_all = pathlib.Path(os.environ['PERP_SOURCE'], 'python/notebooks')
for path in sorted(folder_of_all.glob('*.ipynb')):
    cells = json.loads(path.read_text(encoding='utf-8'))['cells']
    ok(all(not cell.get('outputs') and cell.get('execution_count') is None for cell in cells), f'{path.name}: committed without outputs')
source = pathlib.Path(os.environ['PERP_SOURCE'], 'python/notebooks/first-study.ipynb')
notebook = json.loads(source.read_text(encoding='utf-8'))
code = [''.join(cell['source']) for cell in notebook['cells'] if cell['cell_type'] == 'code']
try:
    import matplotlib
except ImportError:
    skip('no matplotlib (python3-matplotlib)', 'the notebook runs')
    done()
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    status, out, err = perp('run', 'chain6-stab', '-o', 'small', '-q', '--no-report', '--set', 'measure.repeats=1', '--set',
                            'grid.h=[4 ms, 2 ms]', '--only',
                            'scene == "chain:links=6" and stab in (none, "post:velocity=true") and ode in (symplectic-euler, rk4)')
    ok(status == 0, 'a part of the study', err)
    os.environ['PERP_RESULTS'] = os.path.join(folder, 'small')

    # ---- as plain code: what is drawn
    matplotlib.use('Agg')
    import matplotlib.pyplot as plt
    there = {}
    with contextlib.redirect_stdout(io.StringIO()) as said:
        for text in code:
            exec(compile(text, str(source), 'exec'), there)
    ok('12 of them ok' in said.getvalue(), 'it says what it has loaded', said.getvalue())
    with open('small/derived/cells.csv', newline='', encoding='utf-8') as f:
        cells = {c['cell']: c for c in csv.DictReader(f) if c['status'] == 'ok'}
    with open('small/derived/timing.csv', newline='', encoding='utf-8') as f:
        cpu = {c['cell']: float(c['time.cpu.median']) for c in csv.DictReader(f) if c['cell'] in cells}
    lines = {line.get_label(): sorted(zip(*map(list, line.get_data()))) for line in plt.gcf().axes[0].get_lines()}
    ok(sorted(lines) == sorted({c['stab'] for c in cells.values()}) and len(lines) == 2, 'a line for each stabilization', lines)
    for stab, points in lines.items():
        mine = {(1e3 * cpu[k], float(c['err.tip.max'])) for k, c in cells.items() if c['stab'] == stab}
        best = sorted(p for p in mine if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in mine))
        ok(len(best) > 0 and len(best) == len(points) and all(abs(a - b) <= 1e-9 * b for p, q in zip(points, best)
                                                              for a, b in zip(p, q)), f'{stab}: its best choices', points, best)
    plt.close('all')

    # ---- as notebooks
    try:
        import nbclient
        import nbformat
        import ipykernel  # noqa: F401
    except ImportError as why:
        nbclient = None
        skip(f'no {why.name} (python3-nbclient, python3-ipykernel)', 'the notebooks run in a kernel')

    def execute(path):
        """Run it in a kernel; the pictures that it shows."""
        nb = nbformat.reads(path.read_text(encoding='utf-8'), as_version=4)
        nbclient.NotebookClient(nb, timeout=200, kernel_name='python3', resources={'metadata': {'path': folder}}).execute()
        return sum('image/png' in o.get('data', {}) for cell in nb.cells for o in cell.get('outputs', []))

    if nbclient:
        ok(execute(source) == 1, 'first-study runs in a kernel and shows a picture')
    missing = []
    try:
        import pandas  # noqa: F401
    except ImportError as why:
        missing.append(why.name)
    for path in sorted(set(folder_of_all.glob('*.ipynb')) - {source}):
        if missing:
            skip(f'no {missing[0]} (python3-pandas)', f'{path.name} runs')
            continue
        try:
            if nbclient:
                pictures = execute(path)
            else:
                names, pictures = {}, 1
                sys.path.insert(0, folder)
                for cell in json.loads(path.read_text(encoding='utf-8'))['cells']:
                    text = ''.join(cell['source'])
                    written = re.match(r'%%writefile (\S+)\n', text)
                    if written:
                        pathlib.Path(written[1]).write_text(text[written.end():] + '\n')
                    elif cell['cell_type'] == 'code':
                        with contextlib.redirect_stdout(io.StringIO()):
                            exec(compile(text, str(path), 'exec'), names)
            ok(pictures > 0, f'{path.name} runs and draws')
        except Exception as why:
            ok(False, f'{path.name} runs', str(why)[-1500:])
    os.chdir('/')
done()
