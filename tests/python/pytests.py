#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tests of python/tests, each as a line of TAP.  pytests.py [FILE ...]"""
import os
import pathlib
import re
import subprocess
import sys

from tap import done, ok, skip

try:
    import pytest  # noqa: F401
except ImportError:
    skip('no pytest (python3-pytest)', 'the tests of python/tests')
    done()
tests = pathlib.Path(os.environ['PERP_SOURCE'], 'python/tests')
files = [str(tests / name) for name in sys.argv[1:]] or [str(tests)]
ran = subprocess.run([sys.executable, '-m', 'pytest', '-v', '-p', 'no:cacheprovider', '--tb=short', '--color=no', '-W', 'ignore', *files],
                     capture_output=True, text=True, cwd=tests.parents[1])
lines = re.findall(r'^(\S+::.*?) (PASSED|FAILED|ERROR|SKIPPED)(.*)$', ran.stdout, re.M)
for name, verdict, why in lines:
    if verdict == 'SKIPPED':
        skip(re.sub(r'\s+\[.*?%\]$', '', why).strip() or 'an optional part is missing', name.split('/')[-1])
    else:
        ok(verdict == 'PASSED', name.split('/')[-1], ran.stdout[-4000:] if verdict != 'PASSED' else '')
ok(ran.returncode in (0, 5) and (lines or ran.returncode == 5), 'pytest ran', ran.stdout[-3000:], ran.stderr[-1000:])
done()
