#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands of docs/how-to: blocks that begin with ```sh run as they stand there, those of a page in one shell and folder.

    PERP_BIN=PROGRAM PERP_SOURCE=DIR tests/cli/howto.py          TAP"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'python'))
import tap  # noqa: E402
from tap import ok  # noqa: E402

ROOT = pathlib.Path(os.environ['PERP_SOURCE'])
PROGRAM = os.path.abspath(os.environ['PERP_BIN'])
# what a page says that its commands print
PRINTED = {
    'gears.md': [r'err\.q\.max +\d\.\d+e-1[456]'],
    'joint-forces.md': [r'arm\.angle .*4\.9\d* *$', r'^t \[s\],.*\[Nm\]'],
    'position-control.md': [r'pose\.drift\.max +0\.0244', r'pose\.drift\.max +0\.000245', r'pose\.drift\.max +0  m', r'pose\.drift\.max +1\.\d+e-08'],
    'step-size.md': [r'err\.tip\.max +0\.0134', r'err\.tip\.max +[45]\.\d+e-08', r'steps +1[34]\d$', r'event\.err +3\.\d+e-08'],
    'choose-solver.md': [r'status +ok'],
}


def main():
    for page in sorted((ROOT / 'docs/how-to').glob('*.md')):
        blocks = re.findall(r'^```sh\n(.*?)^```$', page.read_text(encoding='utf-8'), re.M | re.S)
        if not blocks:
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f'{folder}/bin')
            os.symlink(PROGRAM, f'{folder}/bin/perp')
            env = {**os.environ, 'PATH': f'{folder}/bin:{os.environ["PATH"]}', 'PERP_HOME': str(ROOT)}
            run = subprocess.run(['sh', '-c', 'set -eu\n' + ''.join(blocks)], cwd=folder, env=env, text=True, capture_output=True)
        ok(run.returncode == 0, f'{page.name}: its {len(blocks)} blocks run', *run.stderr.splitlines()[-20:])
        for words in PRINTED.pop(page.name, []):
            ok(re.search(words, run.stdout, re.M), f'{page.name}: prints {words}', *run.stdout.splitlines()[-40:])
    ok(not PRINTED, 'every page that prints something is there', *PRINTED)
    print(f'1..{tap.count}')
    return tap.failed > 0


if __name__ == '__main__':
    sys.exit(main())
