#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""names.py BUILD (TAP): no two tests have one name, so that `./perp test NAME` runs one."""
import collections
import json
import pathlib
import sys

tests = json.loads(pathlib.Path(sys.argv[1], 'meson-info', 'intro-tests.json').read_text(encoding='utf-8'))
twice = [name for name, n in collections.Counter(t['name'] for t in tests).items() if n > 1]
print('ok' if not twice and len(tests) > 100 else 'not ok', f'1 - {len(tests)} tests have names of their own')
for name in twice:
    print('# used twice:', name)
print('1..1')
