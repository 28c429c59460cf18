#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The arrows between folders, against the table of docs/explanation/architecture.md.

  tests/house/arrows.py BUILD          checks; lists what is wrong
  tests/house/arrows.py BUILD --table  prints the arrows that there are

An arrow from one file to another is an #include, or a symbol that the object file of the one needs and that of the
other has (nm).  Checked: a folder uses only those that its row names; folders and files are in no circle; no
name of a static function in two files.  BUILD: a build of the tree."""
import collections
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LAYERS = ('solvers/', 'models/', 'experiments/')


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=ROOT).stdout.decode()


def sources():
    names = output('git', 'ls-files', '--cached', '--others', '--exclude-standard', *LAYERS).split()
    return [n for n in names if n.endswith(('.c', '.h')) and '/templates/' not in n and
            os.path.exists(os.path.join(ROOT, n))]


def includes(names):
    for name in names:
        with open(os.path.join(ROOT, name), encoding='utf-8') as f:
            for other in re.findall(r'^#include "([^"]+)"', f.read(), re.M):
                if other in names and other != name:
                    yield name, other, 'include'


def symbols(names, build, twice):
    owner, needs, bodies, objects = {}, {}, {}, {}
    for c in json.loads(output('ninja', '-C', build, '-t', 'compdb')):
        name = os.path.relpath(os.path.join(build, c['file']), ROOT)
        if c['output'].endswith('.o') and name in names and name not in needs:
            needs[name] = set()
            objects[os.path.join(build, c['output'])] = name
    for line in output('nm', '-A', *objects).split('\n'):
        path, _, rest = line.partition(':')
        part = rest.split()
        if len(part) == 2 and part[0] in 'Uw':
            needs[objects[path]].add(part[1])
        elif len(part) == 3 and part[1].isupper() and part[1] not in 'UV':
            owner[part[2]] = objects[path]
        elif len(part) == 3 and part[1] == 't' and '.' not in part[2] and not part[2].startswith('perp_'):
            bodies.setdefault(part[2], []).append(objects[path])
    twice.update({k: v for k, v in bodies.items() if len(v) > 1})
    for name, those in needs.items():
        for symbol in sorted(those):
            if owner.get(symbol, name) != name:
                yield name, owner[symbol], symbol


def circles(arrows):
    """Strongly connected components of more than one node (Tarjan)."""
    index, low, stack, inside, found = {}, {}, [], set(), []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        inside.add(v)
        for w in sorted(arrows.get(v, ())):
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in inside:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            part = []
            while not part or part[-1] != v:
                part.append(stack.pop())
                inside.discard(part[-1])
            if len(part) > 1:
                found.append(sorted(part))
    sys.setrecursionlimit(10000)
    for v in sorted(arrows):
        if v not in index:
            visit(v)
    return found


def table():
    """Folder -> those that it may use, from the rows `| folder | what it is | uses |`."""
    rows = {}
    with open(os.path.join(ROOT, 'docs/explanation/architecture.md'), encoding='utf-8') as f:
        for folder, uses in re.findall(r'^\| `([a-z_/]+)` \|[^|]*\|([^|]*)\|$', f.read(), re.M):
            rows[folder] = set(re.findall(r'`([a-z_/]+)`', uses))
    return rows


def main():
    build, wrong = os.path.abspath(sys.argv[1]), []
    names = set(sources())
    twice = {}  # a name of functions in several files
    files, folders, why = collections.defaultdict(set), collections.defaultdict(set), {}
    for a, b, what in list(includes(names)) + list(symbols(names, build, twice)):
        files[a].add(b)
        x, y = os.path.dirname(a), os.path.dirname(b)
        if x != y:
            folders[x].add(y)
            why.setdefault((x, y), '%s: %s of %s' % (a, what, b))
    if '--table' in sys.argv:
        for x in sorted(set(map(os.path.dirname, names))):
            print('| `%s` | | %s |' % (x, ', '.join('`%s`' % y for y in sorted(folders[x]))))
        return 0
    rows, count = table(), collections.Counter(map(os.path.dirname, names))
    for x in sorted(count):
        if x not in rows:
            wrong.append('%s is not in the table of docs/explanation/architecture.md' % x)
        for y in sorted(folders[x] - rows.get(x, set())):
            wrong.append('%s -> %s is not in the table (%s)' % (x, y, why[x, y]))
        for y in sorted(rows.get(x, set()) - folders[x]):
            wrong.append('%s -> %s is in the table, and nothing needs it' % (x, y))
    wrong += ['the table has %s, which is no folder' % x for x in sorted(set(rows) - set(count))]
    wrong += ['%s is a function in %s' % (k, ' and '.join(v)) for k, v in sorted(twice.items())]
    for kind, arrows in (('folders', folders), ('files', files)):
        for part in circles(arrows):
            wrong.append('a circle of %d %s:\n    %s' % (len(part), kind, '\n    '.join(
                '%s -> %s' % (a, b) for a in part for b in sorted(arrows[a] & set(part)))))
    print('\n'.join(wrong) if wrong else '%d files in %d folders, %d arrows between folders, no circle' % (
        len(names), len(count), sum(map(len, folders.values()))))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
