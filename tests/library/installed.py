#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What meson installs: all that installed.txt lists and nothing else, and a program that works from there while the source tree is
out of sight.  installed.py SOURCE BUILD PREFIX LIBDIR MESON (TAP)

A program looks for its files where it was built and where it is installed.  So in a mount namespace of its own the prefix is what was
staged, and the source tree is empty."""
import fnmatch
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

source, build, prefix, libdir, meson = sys.argv[1:]
sys.path.insert(0, os.path.join(source, 'tests/python'))
from tap import done, ok, skip  # noqa: E402
def run(command, **more):
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    return ran.returncode == 0, ran.stdout


def tracked(folder):
    """Files of a folder of the source tree, relative to it."""
    git = ['git', '-C', source, '-c', f'safe.directory={source}', 'ls-files', '--', folder]
    good, names = run(git) if shutil.which('git') else (False, '')
    if good and names:
        return [os.path.relpath(name, folder) for name in names.splitlines()]
    root = pathlib.Path(source, folder)
    return [str(p.relative_to(root)) for p in root.rglob('*') if p.is_file() and '__pycache__' not in p.parts]


def expected():
    """(files that must be there, files that may be)"""
    must, may = set(), set()
    for line in pathlib.Path(source, 'tests/library/installed.txt').read_text().splitlines():
        if line.startswith('#'):
            continue
        name, _, origin = line.lstrip('?').replace('LIB', libdir).partition('/ = ')
        if origin == 'headers':
            says = subprocess.run([sys.executable, f'{source}/docs/public_headers.py', source], check=True, capture_output=True, text=True).stdout
            must |= {f'{name}/{header_place(os.path.relpath(h, source))}' for h in says.split()}
        elif origin:
            # what builds the program stays behind
            must |= {f'{name}/{f}' for f in tracked(origin) if not f.endswith(('meson.build', '.c', '.h')) or 'templates' in origin}
        else:
            (may if line.startswith('?') else must).add(name)
    return must, may


def unpacked(names):
    """Files that no Debian package takes."""
    lists = [line for f in pathlib.Path(source, 'packaging/debian').glob('*.install') for line in f.read_text().split()]
    usr = ['usr/' + name.replace(libdir + '/', 'lib/x86_64-linux-gnu/', 1) if name.startswith(libdir) else 'usr/' + name for name in names]
    return [name for name in usr if not any(fnmatch.fnmatch(name, line) or fnmatch.fnmatch(name, line + '/*') for line in lists)]


def header_place(path):
    return 'perp.h' if path == 'experiments/plugins/perp.h' else path


print('TAP version 13')
with tempfile.TemporaryDirectory(dir='/tmp') as folder:
    stage = folder + '/inst'
    good, said = run([*meson.split(), 'install', '-C', build, '--no-rebuild', '--quiet'], env={**os.environ, 'DESTDIR': stage})
    ok(good, 'meson install', said)
    root = pathlib.Path(stage + prefix)
    there = {str(p.relative_to(root)) for p in root.rglob('*') if not p.is_dir() or p.is_symlink()}
    must, may = expected()
    ok(must <= there, f'{len(must)} files are installed', *('missing: ' + f for f in sorted(must - there)))
    ok(there <= must | may, 'and no other', *('not in tests/library/installed.txt: ' + f for f in sorted(there - must - may)))
    outside = [str(p) for p in pathlib.Path(stage).rglob('*') if p.is_file() and root not in p.parents]
    ok(not outside, 'nothing outside of the prefix', *outside)

    ok(not unpacked(there), 'each is in a Debian package (packaging/debian/*.install)', *unpacked(there))

    work = folder + '/work'
    os.mkdir(work)
    hide = 'set -e; mount --bind "$1" "$2"; mount -t tmpfs none "$3"; shift 3; cd "$1"; shift; exec "$@"'
    user = [] if os.geteuid() == 0 else ['-r']
    inside = ['unshare', *user, '-m', 'sh', '-c', hide, 'sh', str(root), prefix, source, work]
    env = {k: v for k, v in os.environ.items() if not k.startswith('PERP_')}
    env['OPENBLAS_NUM_THREADS'] = '1'
    if not run([*inside, 'true'])[0]:
        skip(f'mount namespaces are not permitted, or there is no {prefix}', 'the program from there')
        done()
    perp = prefix + '/bin/perp'
    good, said = run([*inside, 'sh', '-c', f'! test -e {source}/meson.build && test -x {perp}'])
    ok(good, 'the source tree is out of sight', said)
    for words, what in ((['list', 'lcp'], 'dantzig'),
                        (['list', 'studies'], 'chain6-stab'),
                        (['run', 'chain6-stab', '--set', 'profile=short', '--only', 'stab == none'], 'report.html'),
                        (['report', 'results/chain6-stab', '-o', 'page.html'], 'page.html'),
                        (['lesson', 'drift', '--answer', '1'], 'drift'),
                        (['simulate', 'andrews', '--t-end', '0.001s'], 'err'),
                        (['new', 'plugin', 'lcp', '--name', 'mine'], 'mine')):
        good, said = run([*inside, perp, *words], env=env)
        ok(good and what in said, f"perp {' '.join(words)}", said)
    ok(os.path.exists(work + '/results/chain6-stab/derived'), 'results are there')
done()
