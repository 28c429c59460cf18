#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""README.md against the program: its example prints what stands there, its commands exist, it is short.

    tests/report/readme.py PERP            TAP
    tests/report/readme.py PERP --write    the lines of the example anew: of each line that is shown, the first word stays

A line of the example is one of the output: the same words, and numbers within a tenth or below 1e-6.  Lines may be left out."""
import os
import re
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'python'))
import tap  # noqa: E402
from tap import ok  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, 'README.md')
MARKS = ('<!-- example -->\n```\n', '```\n<!-- /example -->')
NUMBER = r'[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?'
LONGEST = 120  # lines


def perp(program, words):
    run = subprocess.run([program, *shlex.split(words)], stdout=subprocess.PIPE, text=True, env={**os.environ, 'PERP_HOME': ROOT})
    return run.stdout.splitlines()


def agrees(shown, line):
    if re.sub(NUMBER, '0', shown).split() != re.sub(NUMBER, '0', line).split():
        return False
    pairs = zip(map(float, re.findall(NUMBER, shown)), map(float, re.findall(NUMBER, line)))
    return all(max(abs(a), abs(b)) < 1e-6 or abs(a - b) <= 0.1 * max(abs(a), abs(b)) for a, b in pairs)


def example(text):
    """[(command, [shown line])]"""
    parts = re.split(r'^\$ \./perp ', text.partition(MARKS[0])[2].partition(MARKS[1])[0], flags=re.M)[1:]
    return [(part.split('\n')[0], [line for line in part.split('\n')[1:] if line]) for part in parts]


def written(program, text):
    made = []
    for words, lines in example(text):
        out, new = perp(program, words), []
        for line in lines:
            first = line.split()[0]
            new.append(next(o for o in out if re.sub(NUMBER, '0', o).split()[:1] == [re.sub(NUMBER, '0', first)]))
        made.append('\n'.join([f'$ ./perp {words}', *new]) + '\n')
    before, _, rest = text.partition(MARKS[0])
    return before + MARKS[0] + '\n'.join(made) + MARKS[1] + rest.partition(MARKS[1])[2]


def main():
    program = os.path.abspath(sys.argv[1])
    with open(PAGE, encoding='utf-8') as f:
        text = f.read()
    if sys.argv[2:] == ['--write']:
        with open(PAGE, 'w', encoding='utf-8') as f:
            f.write(written(program, text))
        return 0
    lines = text.count('\n')
    ok(lines <= LONGEST, f'{lines} lines, {LONGEST} at most')
    shown = example(text)
    ok(len(shown) >= 2 and all(those for _, those in shown), f'an example of {len(shown)} commands')
    for words, those in shown:
        out = perp(program, words)
        lost = [line for line in those if not any(agrees(line, o) for o in out)]
        ok(not lost, f'perp {words} prints what is shown', *lost, 'tests/report/readme.py PERP --write writes it anew')
        worse = re.sub(r'\d', '7', those[-1]) + ' more'
        ok(not any(agrees(worse, o) for o in out), 'another line would be found')
    studies = perp(program, 'list studies --json')
    for words in re.findall(r'^    (?:.*\| )?\./perp ([^|#\n]*)', text, re.M):
        name, *rest = words.split()
        if name == 'run':
            ok(any(f'"{rest[0]}"' in line for line in studies), f'perp {words.strip()}: a study')
        elif name not in ('test', 'setup'):
            ok(len(perp(program, f'{name} --help')) > 3, f'perp {words.strip()}: a command')
    print(f'1..{tap.count}')
    return tap.failed > 0


if __name__ == '__main__':
    sys.exit(main())
