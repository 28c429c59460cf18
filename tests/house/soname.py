#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints the name by which the dynamic linker knows a shared library, and the path of its file; for meson.

    soname.py COMPILER... -- NAME [PACKAGE...]

NAME as in -lNAME; the first PACKAGE that pkg-config knows says where it is. Exit status 1: there is no shared library."""
import os
import re
import subprocess
import sys
import tempfile


def said(command):
    run = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, LC_ALL="C"))
    return run.stdout + run.stderr if run.returncode == 0 else ""


split = sys.argv.index("--")
compiler, name, packages = sys.argv[1:split], sys.argv[split + 1], sys.argv[split + 2:]
flags = next((f.split() for f in (said(["pkg-config", "--libs", p]) for p in packages) if f), ["-l" + name])
with tempfile.TemporaryDirectory() as folder:
    # the linker prints each file that it reads
    trace = said(compiler + ["-shared", "-o", folder + "/probe.so", *flags, "-Wl,--trace"])
for path in trace.split():
    if re.search(r"/lib" + re.escape(name) + r"[^/]*\.so[^/]*$", path):
        soname = re.search(r"SONAME.*\[(.*)\]", said(["readelf", "-d", path]))
        if soname:
            print(soname.group(1))
            print(os.path.join(os.path.dirname(os.path.realpath(path)), soname.group(1)))
            sys.exit(0)
sys.exit(1)
