#!/usr/bin/env python3
"""Tests by their names or a part of them, and what has to be built for them.

  targets.py BUILD [OPTION ...] [NAME ...]        prints the targets of ninja that these tests need
  targets.py --run BUILD [OPTION ...] [NAME ...]  runs the tests, which have been built

OPTION is one of `meson test`. A NAME that is no test's name stands for all whose names contain it: the quick ones, or the slow
ones where all are slow."""
import difflib
import json
import os
import subprocess
import sys

# options of `meson test` whose value is a word of its own
VALUES = ('--suite', '--no-suite', '--setup', '--wrapper', '--wrap', '--gdb-path', '--repeat', '--test-args', '--num-processes',
          '--logbase', '--maxfail', '-t', '--timeout-multiplier')

arguments = sys.argv[1:]
run = arguments[0] == '--run'
build, arguments = arguments[run], arguments[run + 1:]
# a changed meson.build may bring other tests
again = subprocess.run(['ninja', '-C', build, 'build.ninja'], capture_output=True, text=True)
if again.returncode != 0:
    lines = again.stdout.splitlines()
    sys.exit('\n'.join([line for line in lines if 'ERROR' in line] or lines))


def read(name):
    with open(os.path.join(build, 'meson-info', name)) as f:
        return json.load(f)


tests = read('intro-tests.json')
slow = {t['name'] for t in tests if 'perp:slow' in t['suite']}


def named(part):
    found = [t['name'] for t in tests if t['name'] == part] or [t['name'] for t in tests if part in t['name']]
    if not found:
        near = difflib.get_close_matches(part, [t['name'] for t in tests], 3, 0.5)
        sys.exit(f"perp: error: no test has '{part}' in its name"
                 + (f"; similar names: {', '.join(near)}" if near else '') + ' (all: ./perp test --list)')
    return [name for name in found if name not in slow] or found


names, options = [], []
for before, word in zip([''] + arguments, arguments):
    if word.startswith('-') or before in VALUES:
        options.append(word)
    else:
        names += named(word)
suites = [word for before, word in zip(options, options[1:]) if before == '--suite']
suites += [o.split('=')[1] for o in options if o.startswith('--suite=')]
if suites and 'slow' not in suites and not any(o.split('=')[0] == '--setup' for o in options):
    options += ['--no-suite', 'slow']  # meson runs them where their other suite is named
if slow & set(names) and not any(o.split('=')[0] == '--setup' for o in options):
    options += ['--setup', 'full']
command = ['meson', 'test', '-C', build, *options, *dict.fromkeys(names)]
if run:
    sys.stdout.flush()
    os.execvp('meson', command[:4] + ['--no-rebuild', '--print-errorlogs'] + command[4:])


def as_listed(test):
    project = test['suite'][0].split(':')[0]
    suites = '+'.join(s.split(':')[1] for s in test['suite'])
    return f"{project}:{suites} / {test['name']}"


listed = subprocess.run(command + ['--list'], capture_output=True, text=True).stdout
chosen = {line for line in listed.splitlines() if ' / ' in line}
targets = read('intro-targets.json')
files = {t['id']: t['filename'][0] for t in targets}
tests = [t for t in tests if as_listed(t) in chosen]
needed = {files[d] for t in tests for d in t['depends']}
# these suites install what is built
if any(suite in t['suite'] for t in tests for suite in ('perp:cli', 'perp:library', 'perp:python')):
    needed |= {t['filename'][0] for t in targets if t['installed']}
# the program always, to say what it is
needed.add(os.path.join(os.path.abspath(build), 'experiments/perp'))
print('\n'.join(os.path.relpath(f, build) for f in sorted(needed)))
