#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python blocks of docs/tutorials/python.md and of all other pages, run as they stand: what they print is what the page says.
And docs/reference/python.md is that of the docstrings, which has all public names."""
import contextlib
import importlib.util
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import perp
from tap import done, ok, skip

root = pathlib.Path(os.environ['PERP_SOURCE'])
made = subprocess.run([sys.executable, root / 'docs/make_python.py', root], capture_output=True, text=True)
reference = (root / 'docs/reference/python.md').read_text(encoding='utf-8')
ok(made.returncode == 0 and made.stdout == reference, 'docs/reference/python.md is that of the docstrings: docs/make_python.py . --write',
   made.stderr)
named = set(re.findall(r'^### `perp\.(\w+)', reference, re.M))
ok(set(perp.__all__) - named <= {'plot'}, 'it has all public names', set(perp.__all__) - named)

missing = [m for m in ('numpy', 'pandas', 'matplotlib') if importlib.util.find_spec(m) is None]
if missing:
    skip(f'no {", ".join(missing)}', 'the tutorial runs')
    done()
os.environ['MPLBACKEND'] = 'Agg'
pages = {page: re.findall(r'```python\n(.*?)```\n(?:\n```text\n(.*?)```)?', page.read_text(encoding='utf-8'), re.S)
         for page in sorted((root / 'docs').rglob('*.md'))}
ok(len(pages[root / 'docs/tutorials/python.md']) >= 10, 'the tutorial has programs')
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for page, blocks in pages.items():
        names = {}
        for code, expected in blocks:
            said = io.StringIO()
            what = f'{page.name}: {code.strip().splitlines()[0]}'
            try:
                with contextlib.redirect_stdout(said):
                    exec(compile(code, page.stem, 'exec'), names)
            except Exception as why:
                if 'script of' in str(why):  # a build without pages
                    skip(str(why), what)
                    continue
                ok(False, what, repr(why))
                continue
            # the last digits of rounding errors are those of one machine
            same = [re.sub(r'-?\d\.\d+e-1\d', 'tiny', text) for text in (said.getvalue(), expected)]
            ok(same[0] == same[1], f'{what}: prints what the page says', said.getvalue())
    os.chdir('/')
done()
