#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The walk of docs/explanation/architecture.md from `perp simulate` to the impulse of one contact: at most ten files, each of
which exists and has the names that the walk says of it, and is entered from one that came before. The stages of a step stand
in the file of the step in that order.

    tests/house/walk.py           TAP"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'python'))
import tap  # noqa: E402
from tap import ok  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = 'docs/explanation/architecture.md'
HEADING = '## One simulation, step by step'
FILES = 10


def read(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as f:
        return f.read()


def section(page):
    return page.split(HEADING, 1)[1].split('\n## ', 1)[0] if HEADING in page else ''


def stations(text):
    """(file, names) of each numbered item: the first word of code is the file, others with ( or _ are names in it."""
    for item in re.findall(r'^\d+\. (.*(?:\n   .*)*)', text, re.M):
        words = re.findall(r'`([^`]+)`', item)
        yield words[0], [w for w in words[1:] if re.fullmatch(r'[a-z]\w*_\w+', w)]


def calls(source, name):
    return re.search(r'\b%s\b' % name, source) is not None


def main():
    text = section(read(PAGE))
    walk = list(stations(text))
    ok(0 < len(walk) <= FILES, 'the walk has at most %d files: %d' % (FILES, len(walk)))
    before = ''
    for path, names in walk:
        there = os.path.isfile(os.path.join(ROOT, path))
        ok(there, '%s exists' % path)
        header = re.sub(r'\.c$', '.h', path)
        source = (read(path) if there else '') + (read(header) if os.path.isfile(os.path.join(ROOT, header)) else '')
        ok(len(names) > 0, '%s: the walk names a function' % path)
        for name in names:
            ok(re.search(r'^(?:\w[\w *]* \**)?%s\(' % name, source, re.M) is not None, '%s defines %s' % (path, name))
        # by its name, or by the descriptor that holds it
        held = re.search(r'\.\w+ = %s\b' % names[0], source) if names else None
        ok(before == '' or held is not None or calls(before, names[0] if names else '-'), '%s is entered from a file before it' % path)
        before += source
    step = 'models/contact/step/velocity_step.c'
    stages = re.findall(r'^\| (\w+) \| ', text, re.M)
    head = re.findall(r'^ \*   (\w+) +\S', read(step).split('*/', 2)[1], re.M)
    ok(len(stages) > 5 and stages == head, 'the stages of the page are those of %s: %s' % (step, ' '.join(stages)))
    tap.done()


main()
