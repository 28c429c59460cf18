#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints the files that meson installs from a build folder: installed.py BUILD"""
import json
import os
import subprocess
import sys

build = sys.argv[1]
targets = json.loads(subprocess.run(['meson', 'introspect', build, '--targets'], check=True, capture_output=True, text=True).stdout)
for target in targets:
    if target['installed']:
        print(*(os.path.relpath(name, build) for name in target['filename']))
