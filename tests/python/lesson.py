#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""perp.lesson: texts, a run, the exercises, and the notebook with the same exercises, executed where nbclient is."""
import contextlib
import io
import json
import os
import pathlib
import tempfile

import perp
from tap import done, ok, perp as program, skip

one = perp.lesson('post')
ok(one.title and one.minutes > 0 and len(one.predict['choices']) > 1 and one.exercises[0]['ask'], 'the texts of a lesson', one)
ok('answer' not in one.predict and 'solution' not in one.exercises[0], 'but not its answers')
try:
    perp.lesson('pots')
    ok(False, 'an unknown lesson is refused')
except perp.Error as why:
    ok('post' in str(why), 'an unknown lesson is refused', why)
hand = perp.lesson('lcp')
text = hand.run(2)
ok('dantzig' in text and hand.table is None and hand.answer(), 'a lesson of pivots runs', text[:200])
with contextlib.redirect_stdout(io.StringIO()) as said:
    ok_six, not_yet = hand.check(6), not hand.check(0.6667)
ok(ok_six and not_yet and 'right: 6' in said.getvalue(), 'perp judges the answer, and says why', said.getvalue())
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    program('new', 'lesson', 'mine')
    one = perp.lesson('./mine')
    path = one.notebook('mine.ipynb')
    book = json.loads(path.read_text(encoding='utf-8'))
    code = [cell['source'] for cell in book['cells'] if cell['cell_type'] == 'code']
    ok(len(code) == 4 + len(one.exercises) and any(one.exercises[0]['ask'] in c['source'] for c in book['cells']), 'the notebook has them', code)
    # as a student: a prediction, a wrong and a right answer
    book['cells'] = [dict(c, source=c['source'].replace('prediction = 0', 'prediction = 1').replace('answer = None  # a number', 'answer = 1e9')) for c in book['cells']]
    try:
        import nbclient
        import nbformat
        import ipykernel  # noqa: F401
    except ImportError as why:
        there = {}
        exec('\n'.join(c['source'] for c in book['cells'] if c['cell_type'] == 'code'), there)
        ok(len(there['lesson'].table) > 1, 'its code runs')
        skip(f'no {why.name} (python3-nbclient, python3-ipykernel)', 'the notebook runs in a kernel')
        os.chdir('/')
        done()
    nb = nbformat.reads(json.dumps(book), as_version=4)
    nbformat.validate(nb)
    nbclient.NotebookClient(nb, timeout=120, kernel_name='python3', resources={'metadata': {'path': folder}}).execute()
    said = ''.join(o.get('text', '') for cell in nb.cells for o in cell.get('outputs', []))
    ok('RUN ' in said and 'not yet: ' in said, 'the notebook runs in a kernel', said[:400])
    os.chdir('/')
done()
