# SPDX-License-Identifier: GPL-3.0-or-later
"""A header as doxygen reads it: plain comments become its own, formulas stay as they are set.  doxygen_filter.py HEADER."""
import re
import sys


def words(line):
    line = line.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;')
    return re.sub(r'([\\@#%$"])', r'\\\1', line)


def converted(comment, opening, behind):
    """Lines that are set off by blanks are formulas and tables."""
    lines = [re.sub(r'^\s*\* ?', '', line) if i else line for i, line in enumerate(comment.split('\n'))]
    out, set_off = [], False
    for line in lines:
        formula = not behind and (line.startswith('    ') or (set_off and not line.strip()))
        if formula != set_off:
            out.append('@verbatim' if formula else '@endverbatim')
        out.append(line.replace('*/', '') if formula else words(line))
        set_off = formula
    if set_off:
        out.append('@endverbatim')
    return opening + '\n'.join(out) + '*/'


def main():
    with open(sys.argv[1], encoding='utf-8') as f:
        text = f.read()
    out, i, first = [], 0, True
    for m in re.finditer(r'/\*(.*?)\*/', text, re.S):
        before = text[text.rfind('\n', 0, m.start()) + 1:m.start()].strip()
        out.append(text[i:m.start()])
        i = m.end()
        if m[1].startswith((' SPDX', ' ----', ' clang-format')) or before.startswith('#'):
            out.append(m[0])
        elif first and not before:
            out.append(converted(m[1], '/** @file\n', False))
            first = False
        else:
            out.append(converted(m[1], '/**<' if before else '/**', bool(before)))
    sys.stdout.write(''.join(out) + text[i:])


main()
