#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""markup.py SOURCE: formats of perp_tex have its own conversions alone: others would stand in the document as they are."""
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
known = ''.join(re.findall(r"case '(.)':", (source / 'experiments/pages/latex.c').read_text(encoding='utf-8')))


def wrong(text):
    """[conversion] that perp_tex does not know"""
    calls = re.findall(r'\bperp_tex\(\s*\w[^",;]*,\s*((?:"(?:[^"\\]|\\.)*"\s*(?:PRI\w+\s*)?)+)', text)
    return [c for call in calls for c in re.findall(rf'%(?![{known}%])[^"\s]{{0,4}}', re.sub(r'"\s*"', '', call.replace('%%', '')))]


bad = [f'{path.relative_to(source)}: {c}' for path in sorted((source / 'experiments').rglob('*.c')) for c in wrong(path.read_text(encoding='utf-8'))]
for line in bad:
    print(f'# {line}')
print(f'{"not " if bad else ""}ok 1 - all conversions of markup are among %{known}')
print(f'{"" if wrong("perp_tex(out, " + chr(34) + "from %.2g" + chr(34) + ", x);") else "not "}ok 2 - another one would be found')
print('1..2')
