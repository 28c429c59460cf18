#!/usr/bin/env python3
"""targets.py BUILD [OPTION ...] [TEST ...]: the targets of ninja that these tests of meson test need."""
import json
import os
import subprocess
import sys

build = sys.argv[1]
listed = subprocess.run(["meson", "test", "-C", build, "--list", *sys.argv[2:]], capture_output=True, text=True).stdout
chosen = {line for line in listed.splitlines() if " / " in line}


def read(name):
    with open(os.path.join(build, "meson-info", name)) as f:
        return json.load(f)


def as_listed(test):
    project = test["suite"][0].split(":")[0]
    suites = "+".join(s.split(":")[1] for s in test["suite"])
    return f"{project}:{suites} / {test['name']}"


targets = read("intro-targets.json")
files = {t["id"]: t["filename"][0] for t in targets}
tests = [t for t in read("intro-tests.json") if as_listed(t) in chosen]
needed = {files[d] for t in tests for d in t["depends"]}
# these suites install what is built
if any(suite in t["suite"] for t in tests for suite in ("perp:cli", "perp:library", "perp:python")):
    needed |= {t["filename"][0] for t in targets if t["installed"]}
# the program always, to say what it is
needed.add(os.path.join(os.path.abspath(build), "experiments/perp"))
print("\n".join(os.path.relpath(f, build) for f in sorted(needed)))
