# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs every header that perp.h includes, directly or not: what an outside plug-in needs, no more and no less."""
import os
import pathlib
import re
import shutil
import sys

source = pathlib.Path(sys.argv[1])
target = pathlib.Path(os.environ['MESON_INSTALL_DESTDIR_PREFIX']) / sys.argv[2] / 'perp'
waiting = ['experiments/plugins/perp.h']
known = set(waiting)
while waiting:
    name = waiting.pop()
    to = target / ('perp.h' if name.endswith('/perp.h') else name)
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source / name, to)
    for included in re.findall(r'^\s*#\s*include\s+"([^"]+)"', (source / name).read_text(), re.M):
        if included not in known:
            known.add(included)
            waiting.append(included)
