# SPDX-License-Identifier: GPL-3.0-or-later
"""perp from Python: numerical solvers for constrained rigid-body dynamics, side by side.

    perp.lcp(A, b)                      one complementarity problem, solved and judged
    perp.simulate("stack:boxes=20")     one scene with one choice of parts
    perp.run("chain6-stab")             a study; perp.load(folder) gives its table
    perp.list("lcp"), perp.info(name)   what there is
    perp.plugin                         solvers of one's own, which stand in studies

Needs the standard library and libperp; numpy where arrays are handed out, pandas for data frames, both only where they
are installed.  docs/how-to/python.md tells the rest.
"""
from ._errors import Error
from ._lcp import Solution, lcp
from ._program import Simulation, info, list_ as list, run, simulate, version
from ._tables import Table, load

__all__ = ['Error', 'Simulation', 'Solution', 'Table', 'info', 'lcp', 'list', 'load', 'run', 'simulate', 'version']
