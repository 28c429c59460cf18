# SPDX-License-Identifier: GPL-3.0-or-later
"""Where libperp and the program are: of the source tree that this package is in, or of the installation."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import typing

from ._errors import Error

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parents[1] if (HERE.parents[1] / 'meson.build').exists() else None
BUILD: typing.Optional[pathlib.Path] = pathlib.Path(os.environ.get('PERP_BUILD') or TREE / 'build') if TREE else None
PREFIX = HERE.parents[min(3, len(HERE.parents) - 1)]  # PREFIX/share/perp/python/perp; a folder of pip may be nearer to the root
SONAME = 'libperp.so.0'
PLACE = HERE / '_place.json'  # of a package that pip has installed: where it has found library, program, home
FOUND: typing.Dict[str, str] = json.loads(PLACE.read_text(encoding='utf-8')) if PLACE.exists() else {}
HOME = TREE or FOUND.get('home')  # PERP_HOME of the program


def library() -> str:
    """Path of libperp: $PERP_LIBRARY, that of the build, the installed one."""
    named = os.environ.get('PERP_LIBRARY')
    if named:
        return named
    if TREE and BUILD:
        if (BUILD / SONAME).exists():
            return str(BUILD / SONAME)
        raise Error(f'there is no {BUILD / SONAME}: {TREE}/perp version builds it')
    if os.path.exists(FOUND.get('library', '')):
        return FOUND['library']
    for place in sorted([*PREFIX.glob('lib*/' + SONAME), *PREFIX.glob('lib*/*/' + SONAME)]):
        return str(place)
    return SONAME  # where the system looks


def program() -> str:
    """Path of the program perp: $PERP_PROGRAM, that of the build, the installed one, that in PATH."""
    named = os.environ.get('PERP_PROGRAM')
    if named:
        return named
    if TREE and BUILD:
        if (BUILD / 'experiments/perp').exists():
            return str(BUILD / 'experiments/perp')
        raise Error(f'there is no {BUILD}/experiments/perp: {TREE}/perp version builds it')
    if os.path.exists(FOUND.get('program', '')):
        return FOUND['program']
    beside = PREFIX / 'bin/perp'
    found = str(beside) if beside.exists() else shutil.which('perp')
    if not found:
        raise Error('the program perp is neither beside this package nor in PATH; PERP_PROGRAM names it')
    return found
