#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the dynamic linker does at the start of a command: how many shared objects, which of them, how often it starts. Not how long
that takes, which depends on the machine. Libraries of optional parts and of readers come when they are needed, and do come then."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
from tap import done, ok, skip

PERP = os.environ["PERP_BIN"]
OBJECTS = 32  # 25 on Debian 12, and those of a sanitizer
LATE = r"lib(hdf5\w*|siconos_numerics|sundials_\w+|assimp|xml2|icuuc|curl|crypto)\.so"


def loaded(folder, *command, input=None):
    """Shared objects that a command initializes, programs that it starts in its process, its run."""
    trace = os.path.join(folder, "trace")
    env = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    run = subprocess.run([PERP, *command], capture_output=True, text=True, input=input,
                         env=dict(env, LD_DEBUG="files", LD_DEBUG_OUTPUT=trace))
    text = ""
    for name in os.listdir(folder):
        if name.startswith("trace"):
            path = os.path.join(folder, name)
            text += open(path, errors="replace").read()
            os.remove(path)
    objects = set(re.findall(r"calling init: (\S+)", text))
    return objects, len(re.findall(r"initialize program:", text)), run


with tempfile.TemporaryDirectory() as folder:
    problem = os.path.join(folder, "small.lcp")
    subprocess.run([PERP, "lcp", "generate", "spd", "--n", "8", "-o", problem], check=True)
    if not loaded(folder, "--version")[0]:
        print("1..0 # SKIP the dynamic linker does not tell what it loads")
        sys.exit(0)
    for command in (["lcp", "solve", problem], ["list", "lcp"], ["--version"], ["version", "--json"],
                    ["simulate", "pendulum", "--t-end", "0.01"]):
        objects, starts, run = loaded(folder, *command)
        late = sorted(o for o in objects if re.search(LATE, o))
        if not ok(run.returncode == 0 and 0 < len(objects) <= OBJECTS and not late,
                  "%s: %d shared objects, at most %d" % (" ".join(command[:2]), len(objects), OBJECTS)):
            print("# status %d, %s" % (run.returncode, " ".join(late)))
        ok(starts == 1, "%s: the program starts once (%d)" % (" ".join(command[:2]), starts))

    for what, command, needs, without in (
            ("Siconos is loaded by its own solver", ("lcp", "solve", problem, "--lcp", "siconos:lemke"), "siconos_numerics", "sundials"),
            ("SUNDIALS by its own integrator, and no more of it than that",
             ("simulate", "pendulum", "--ode", "sundials:arkode", "--t-end", "0.01"), "sundials_arkode", "sundials_ida")):
        objects, _, run = loaded(folder, *command)
        if "was built without it" in run.stderr:
            skip("it is not built", what)
            continue
        ok(run.returncode == 0 and any(needs in o for o in objects) and not any(without in o for o in objects), what)
    robot = os.path.join(folder, "box.urdf")
    with open(robot, "w") as f:
        f.write('<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
                '</inertial></link></robot>')
    # it is read in a process of its own, which loads libxml2 and writes no files
    objects, _, run = loaded(folder, "import", "--floating", robot)
    ok(run.returncode == 0 and "name: \"a\"" in run.stdout and not any(re.search(LATE, o) for o in objects),
       "a robot is read, %d shared objects" % len(objects))
# a processor that is newer than OpenBLAS gets kernels without AVX2
doctor = lambda core: subprocess.run([PERP, "doctor"], capture_output=True, text=True, env=dict(os.environ, OPENBLAS_CORETYPE=core)).stdout
if re.search(r"^flags.*\bavx2\b", open("/proc/cpuinfo").read(), re.M):
    ok("note  OpenBLAS uses the kernels of Prescott, without AVX2" in doctor("Prescott"), "old kernels are noted by perp doctor")
    ok("ok    OpenBLAS uses the kernels of Haswell" in doctor("Haswell"), "... and those that fit are not")
else:
    skip("this processor has no AVX2", "old kernels are noted by perp doctor")
done()
