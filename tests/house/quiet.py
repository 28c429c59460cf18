#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""quiet.py SOURCE: no call of LAPACKE in perp that allocates.  Such a call prints to standard output when memory ends."""
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
checks = 0
for folder in ('solvers', 'models', 'experiments'):
    calls = [f'{path.relative_to(source)}:{text[:m.start()].count(chr(10)) + 1}: {m[0]}' for path in sorted((source / folder).rglob('*.c'))
             for text in [path.read_text(encoding='utf-8')]
             for m in re.finditer(r'\bLAPACKE_\w+(?<!_work)(?=\()', text)]
    checks += 1
    for call in calls:
        print(f'# {call}: use the form _work, with memory of the caller')
    print(f'{"not " if calls else ""}ok {checks} - {folder}: LAPACKE works in memory of the caller')
print(f'1..{checks}')
