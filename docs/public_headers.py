# SPDX-License-Identifier: GPL-3.0-or-later
"""The installed headers, one a line: what perp.h includes, and what meson.build files install.  public_headers.py SOURCE."""
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
waiting = ['experiments/plugins/perp.h', 'experiments/session/session.h']
for build in sorted(source.glob('[sm]o*/**/meson.build')):
    for names in re.findall(r"^install_headers\((.*?), subdir:", build.read_text(), re.M):
        waiting += [str((build.parent / n).relative_to(source)) for n in re.findall(r"'([^']+)'", names)]
known = []
while waiting:
    name = waiting.pop()
    if name not in known:
        known.append(name)
        waiting += re.findall(r'^\s*#\s*include\s+"([^"]+)"', (source / name).read_text(), re.M)
print('\n'.join(str(source / n) for n in sorted(known) if n.endswith('.h')))
