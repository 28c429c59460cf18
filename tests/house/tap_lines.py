#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""tap_lines.py BUILD: after meson test, fails where a test printed lines that are not TAP.  Meson only warns of them."""
import json
import pathlib
import re
import sys

TAP = re.compile(r'(not )?ok\b|#|1\.\.\d+|TAP version \d+|Bail out!|pragma |\s|$')
found = 0
for record in (pathlib.Path(sys.argv[1]) / 'meson-logs' / 'testlog.json').read_text(encoding='utf-8').splitlines():
    test = json.loads(record)
    lines = test.get('stdout', '').splitlines()
    if not any(re.match(r'1\.\.\d+', line) for line in lines):  # of another protocol, or ended early
        continue
    for line in lines:
        if not TAP.match(line):
            print(f'{test["name"]}: not TAP: {line}', file=sys.stderr)
            found += 1
sys.exit(found > 0)
