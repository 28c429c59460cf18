# SPDX-License-Identifier: GPL-3.0-or-later
"""python3 -m perp install | uninstall: make `import perp` work in this Python, from everywhere.

A file perp.pth names the folder of this package.  It is put among the packages of the user, or of the virtual
environment; nothing is copied, so that what is built anew is what is imported.
"""
from __future__ import annotations

import os
import pathlib
import site
import subprocess
import sys
import sysconfig
import typing

PACKAGE = pathlib.Path(__file__).resolve().parent.parent
TRY = 'import perp; print(perp.lcp([[2, 1], [1, 2]], [-5, -6]))'


def place() -> pathlib.Path:
    """Where this Python looks for packages that are not the system's."""
    folder = site.getusersitepackages() if site.ENABLE_USER_SITE else sysconfig.get_path('purelib')
    return pathlib.Path(folder, 'perp.pth')


def main(words: typing.List[str]) -> int:
    if words not in (['install'], ['uninstall']):
        print('usage: perp python install | uninstall   (of python3, or of the one that PERP_PYTHON names)', file=sys.stderr)
        return 2
    path = place()
    try:
        if words == ['uninstall']:
            path.unlink(missing_ok=True)
            print(f'{sys.executable}: import perp is no longer known ({path} is gone)')
            return 0
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{PACKAGE}\n', encoding='utf-8')
    except OSError as why:
        print(f'perp: error: cannot write {path}: {why.strerror}; instead: export PYTHONPATH={PACKAGE}', file=sys.stderr)
        return 1
    print(f'{sys.executable}: import perp works ({path}; perp python uninstall takes it back)\n'
          f"python3 -c '{TRY}'", flush=True)
    env = {k: v for k, v in os.environ.items() if k not in ('PYTHONPATH', 'PERP_LIBRARY', 'PERP_PROGRAM')}
    return subprocess.run([sys.executable, '-c', TRY], env=env, cwd='/').returncode


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
