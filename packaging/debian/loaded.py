#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages of the libraries that perp loads while it runs, as substitution variables: loaded.py BUILD PACKAGE

perp:Loaded has those that every perp is built with, perp:Optional the others."""
import pathlib
import re
import subprocess
import sys

NEEDED = {'ASSIMP', 'XML2'}
build, package = pathlib.Path(sys.argv[1]), sys.argv[2]
[header] = build.rglob('library_files.h')
packages = {True: set(), False: set()}
for library, path in re.findall(r'PERP_LIBRARY_(\w+)_PLACE "(.*)"', header.read_text()):
    owner = subprocess.run(['dpkg-query', '-S', path], check=True, capture_output=True, text=True).stdout
    packages[library in NEEDED].add(owner.split(':')[0])
with open(f'debian/{package}.substvars', 'a') as out:
    print(f"perp:Loaded={', '.join(sorted(packages[True]))}", file=out)
    print(f"perp:Optional={', '.join(sorted(packages[False]))}", file=out)
