#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/reference/equations.md: where the source cites each numbered equation of the texts that perp is after.

  tests/house/equations.py          writes the page
  tests/house/equations.py --check  is the page what would be written?

The equations, and those that are not built with the reason, stand in equations.txt.  The source cites in one form,
in comments and in strings, and only what is written in it counts:

  Vondrak 2005, eq. 6.8, 6.19-6.20 and 6.33        STAR 2012, section 4.3.3, eq. 82a

or, in a file that says "eq. numbers of STAR 2012" once, eq. 82a alone.  An error is: a number that is not in the list, one
that is neither cited nor said not to be built, one that is both, a citation in another form, and an equation in a comment
of C that text follows in the next line, as clang-format would run both together."""
import bisect
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, 'docs/reference/equations.md')
LIST = 'tests/house/equations.txt'
ITEM = r'\d+(?:\.\d+)?[a-c]?'
ITEMS = rf'{ITEM}(?:-{ITEM})?(?:(?:, | and ){ITEM}(?:-{ITEM})?)*'
errors = []


def key(number):
    """(chapter, number) of "6.48" or "82a": letters are parts of one equation"""
    return tuple(int(n) for n in re.sub('[a-c]$', '', number).split('.'))


def text(number):
    return '.'.join(map(str, number))


def numbers(items):
    for item in re.split(', | and ', items):
        first, _, last = item.partition('-')
        a, b = key(first), key(last or first)
        if len(a) != len(b) or a[:-1] != b[:-1] or a > b:
            raise ValueError(item)
        yield from (a[:-1] + (n,) for n in range(a[-1], b[-1] + 1))


def read_list():
    """{ source: [title, [(number, subject, reason or '')]] }"""
    sources, of = {}, None
    with open(os.path.join(ROOT, LIST), encoding='utf-8') as f:
        for line in (line.strip() for line in f):
            if line.startswith('['):
                of, title = re.match(r'\[(.*)\] (.*)', line).groups()
                sources[of] = [title, []]
            elif line and not line.startswith('#'):
                items, subject = re.match(rf'({ITEMS}) (.*)', line).groups()
                subject, _, reason = subject.partition(' | not built: ')
                sources[of][1] += [(n, subject, reason) for n in numbers(items)]
    return sources


def flat(source):
    """The text with marks of comments, ends of lines and seams of strings as blanks, and the place of each character."""
    out, place, i = [], [], 0
    for m in re.finditer(r'[ \t]*"[ \t]*\\?\n\s*"[ \t]*|\s*\n\s*(?:\*(?!/) ?)?|[ \t]+', source):
        out.append(source[i:m.start()] + ' ')
        place += range(i, m.start() + 1)
        i = m.end()
    return ''.join(out) + source[i:], place + list(range(i, len(source)))


def cited(sources):
    """{ (source, number): [(file, line)] }"""
    where = {}
    names = '|'.join(map(re.escape, sources))
    # the name at hand holds over a few words: "Vondrak 2005, eq. 6.8, of impulses 6.29" is another form
    full = re.compile(rf'({names})(?:, sections? [\d., and-]*\d)?,? eq\. ({ITEMS})')
    files = subprocess.run(['git', 'ls-files', '--cached', '--others', '--exclude-standard', 'solvers', 'models',
                            'experiments'], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout.decode().split()
    mine = [n for n in files if n.endswith(('.c', '.h', '.def')) or n.startswith('experiments/scenes/shipped/')]
    for name in sorted(n for n in mine if os.path.exists(os.path.join(ROOT, n))):
        with open(os.path.join(ROOT, name), encoding='utf-8') as f:
            source = f.read()
        if name.endswith('.yaml'):
            source = re.sub('^# ?', lambda m: ' ' * len(m[0]), source, flags=re.M)
        words, place = flat(source)
        lines = [m.start() for m in re.finditer('\n', source)]
        m = re.search(rf'eq\. numbers of ({names})', words)
        default = m and m[1]
        seen = set()
        for m in list(full.finditer(words)) + list(re.finditer(rf'(?<![a-z])(eq\.) ({ITEMS})', words)):
            if m.start(2) in seen:
                continue
            seen.add(m.start(2))
            line = bisect.bisect_left(lines, place[m.start(2)]) + 1
            of = default if m[1] == 'eq.' else m[1]
            try:
                found = list(numbers(m[2]))
            except ValueError as e:
                errors.append(f'{name}:{line}: {e} is no range of equations')
                continue
            for n in found:
                if of is None:
                    errors.append(f'{name}:{line}: eq. {text(n)} of what?')
                    break
                if all(n != listed for listed, _, _ in sources[of][1]):
                    errors.append(f'{name}:{line}: {of} has no eq. {text(n)} in {LIST}')
                places = where.setdefault((of, n), [])
                if (name, line) not in places:
                    places.append((name, line))
        for m in re.finditer(r'\beqs\.|\beq\. \(|(?:Vondr\S+|STAR|Cline|Barenbrug)(?: \d{4})?,? equations? \d', words):
            errors.append(f'{name}:{bisect.bisect_left(lines, place[m.start()]) + 1}: "{m[0]}": the form is NAME YEAR, eq. N')
    return where


def alone(source):
    """Lines of equations in comments that text follows at once."""
    lines = source.split('\n')
    return [n for n, (line, after) in enumerate(zip(lines, lines[1:]), 1)
            if '=' in line and re.match(r' \*  {4,}\S', line) and re.match(r' \* \S', after)]


def set_apart():
    if alone(' *      x = 1\n * text\n *      y = 2\n *\n * text\n *      z = 3\n *      w\n *      v = 4 */') != [1]:
        errors.append('an equation that text follows at once is not found, or another one is')
    files = subprocess.run(['git', 'ls-files', '*.c', '*.h'], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout.decode().split()
    for name in (n for n in files if os.path.exists(os.path.join(ROOT, n))):
        with open(os.path.join(ROOT, name), encoding='utf-8') as f:
            errors.extend(f'{name}:{n}: an empty line of the comment has to follow the equation' for n in alone(f.read()))


def page(sources, where):
    out = ['# Equations', '',
           'Which numbered equation of the texts that perp is after is where. Made by `tests/house/equations.py` from what the',
           'source cites and from the list `tests/house/equations.txt`; `.ci/run` checks it. The subjects are in our words.']
    for of, (title, equations) in sources.items():
        out += ['', f'## {of}', '', title + '.']
        if not equations:
            continue
        out += ['', '| eq. | subject | where |', '|---|---|---|']
        for n, subject, reason in equations:
            places = where.get((of, n), [])
            if bool(reason) == bool(places):
                errors.append(f'{of}, eq. {text(n)} ({subject}): ' +
                              (f'cited at {places[0][0]}:{places[0][1]}, and said not to be built' if reason else 'cited nowhere'))
            out.append(f'| {text(n)} | {subject} | ' + (f'not built: {reason}' if reason else ', '.join(
                f'[{name}:{line}](../../{name}#L{line})' for name, line in places)) + ' |')
    return '\n'.join(out) + '\n'


def main():
    sources = read_list()
    made = page(sources, cited(sources))
    set_apart()
    if sys.argv[1:] == ['--check']:
        with open(PAGE, encoding='utf-8') as f:
            if f.read() != made:
                errors.append('docs/reference/equations.md is not what the source cites: run tests/house/equations.py')
    elif not sys.argv[1:]:
        with open(PAGE, 'w', encoding='utf-8') as f:
            f.write(made)
    else:
        sys.exit(__doc__)
    for e in errors:
        print(e)
    sys.exit(bool(errors))


main()
