#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""listed.py SOURCE: fails where a C file of perp is in no list of sources, which else is an error of the linker.

Runs when meson configures, also after a change of a list of plug-ins."""
import pathlib
import sys

root = pathlib.Path(sys.argv[1])
missing = []
for folder in ('solvers', 'models', 'experiments'):
    for file in sorted((root / folder).rglob('*.c')):
        here = file.parent
        if 'templates' in file.relative_to(root).parts:  # what `perp new` copies
            continue
        while here != root:
            build = here / 'meson.build'
            text = build.read_text(encoding='utf-8') if build.is_file() else ''
            name = file.relative_to(here).as_posix()
            if f"'{name}'" in text or f"'{name[:-2]}'" in text:
                break
            here = here.parent
        else:
            folder_of = file.parent.relative_to(root)
            missing.append(f"{file.relative_to(root)} is not compiled: add '{file.name}' to the list in {folder_of}/meson.build")
if missing:
    sys.exit('\n'.join(missing))
