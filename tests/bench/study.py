#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a study of many short cells costs beyond its cells.

    bench_study PERP [--sizes 1000,10000,50000] [--keep DIR] [-j N]

Generates a study of each size (pendulums from N/125 heights, five integrators, five stabilizations, five steps, 0.1 s each),
runs it, makes the report, compares it with itself, and prints for each: CPU time a cell beyond the steps of the march, and
beyond all that happens inside of a cell (truth, metrics), memory, sizes, figures, how long the page takes in a browser; the
exponents of a least squares fit over the sizes; and how far the time left was off after a tenth of the run.  Nothing is tested: times are those of the machine."""
import argparse
import csv
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

STUDY = """schema: perp-study/1
study: {{ name: many }}
formulation: acceleration
grid:
  scene: ["pendulum:amplitude=[{heights}]"]
  ode: [rk4, midpoint, euler, gsl:rk2, gsl:rk4]
  stab: [none, "baumgarte:alpha=[5, 10, 20, 40]"]
  h: [1 ms, 2 ms, 4 ms, 5 ms, 10 ms]
t_end: 0.1 s
measure: {{ repeats: 0 }}
metrics: {{ primary: err.q.max, record: [err.q.max, drift.pos.max, steps] }}
"""


def call(words, dir, stderr=subprocess.DEVNULL):
    """CPU seconds of a command and its children, and MB of the largest of them."""
    child = subprocess.Popen(words, cwd=dir, stdout=subprocess.DEVNULL, stderr=stderr)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"bench_study: {' '.join(words)} ended with status {child.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def columns(path, *names):
    with open(path, newline="") as f:
        rows = list(csv.DictReader(f))
    return [sum(float(row[name] or 0) for row in rows) for name in names]


def time_left(path):
    """Time left as it was said after a tenth of the run, over what it was; 1 is right."""
    lines = [json.loads(line) for line in open(path) if line.startswith("{")]
    lines = [line for line in lines if line["phase"] == "cells"]
    end = lines[-1]["elapsed_s"] if lines else 0
    for line in lines:
        if line["elapsed_s"] >= 0.1 * end and isinstance(line["left_s"], (int, float)):
            left = end - line["elapsed_s"]
            return line["left_s"] / left if left > 0 else math.nan
    return math.nan


def browser(report):
    """Milliseconds until the page is ready and until a filter shows its cells; NaN without Chromium, node or the script."""
    here = os.path.dirname(os.path.abspath(__file__))
    try:
        said = subprocess.run(["node", os.path.join(here, "page.mjs"), report], capture_output=True, text=True, check=True)
        times = json.loads(said.stdout)
        return times["ready"], times["filter"]
    except (OSError, subprocess.CalledProcessError, ValueError):
        return math.nan, math.nan


def exponent(sizes, values):
    x, y = [math.log(s) for s in sizes], [math.log(max(v, 1e-9)) for v in values]
    mx, my = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mx) * (b - my) for a, b in zip(x, y)) / sum((a - mx) ** 2 for a in x)


def measure(perp, size, dir, jobs):
    heights = max(1, size // 125)
    study = os.path.join(dir, f"many{size}.yaml")
    with open(study, "w") as f:
        f.write(STUDY.format(heights=", ".join(f"{0.1 + 2.5 * i / heights:.7g}" for i in range(heights))))
    out = os.path.join(dir, f"many{size}")
    said = os.path.join(dir, f"many{size}.json")
    with open(said, "w") as f:
        run, run_mb = call([perp, "run", study, "-o", out, "--no-report", "--progress", "json", "-j", str(jobs)], dir, f)
    steps, inside = columns(f"{out}/derived/timing.csv", "time.cpu.median", "cpu_s")
    report, report_mb = call([perp, "report", out], dir)
    ready, filtered = browser(f"{out}/report.html")
    compare, compare_mb = call([perp, "compare", "--as-recorded", out, out], dir)
    cells = 125 * heights
    return {
        "cells": cells,
        "beyond the steps [ms/cell]": 1e3 * (run - steps) / cells,
        "beyond the cells [ms/cell]": 1e3 * (run - inside) / cells,
        "steps [ms/cell]": 1e3 * steps / cells,
        "run [s CPU]": run,
        "run [MB]": run_mb,
        "report [s CPU]": report,
        "report [MB]": report_mb,
        "page [MB]": os.path.getsize(f"{out}/report.html") / 1e6,
        "page ready [ms]": ready,
        "page filtered [ms]": filtered,
        "figures": len([f for f in os.listdir(f"{out}/figs") if f.endswith(".svg")]),
        "compare [s CPU]": compare,
        "compare [MB]": compare_mb,
        "time left, said/true": time_left(said),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("perp")
    parser.add_argument("--sizes", default="1000,10000,50000")
    parser.add_argument("--keep", help="work in this folder, and leave it")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    o = parser.parse_args()
    sizes = [int(s) for s in o.sizes.split(",")]
    dir = o.keep or tempfile.mkdtemp(prefix="bench-study-")
    os.makedirs(dir, exist_ok=True)
    perp = os.path.abspath(o.perp)
    try:
        table = [measure(perp, size, dir, o.jobs) for size in sizes]
    finally:
        if not o.keep:
            shutil.rmtree(dir)
    print(f"{'':30}" + "".join(f"{row['cells']:>12}" for row in table) + f"{'exponent':>12}")
    for key in list(table[0])[1:]:
        values = [row[key] for row in table]
        fit = exponent([row["cells"] for row in table], values) if len(table) > 1 and "said" not in key else math.nan
        print(f"{key:30}" + "".join(f"{v:12.4g}" for v in values) + (f"{fit:12.2f}" if math.isfinite(fit) else ""))


main()
