# SPDX-License-Identifier: GPL-3.0-or-later
"""perp from Python: numerical solvers for constrained rigid-body dynamics, side by side.

    perp.lcp(A, b), perp.LCP(A)         a complementarity problem, or a sequence of them, solved and judged
    perp.Simulation("stack:boxes=20")   a scene that is stepped here, with forces and controllers in Python
    perp.simulate("stack:boxes=20")     one run of the program, compared with the reference solution
    perp.study({...}).run(jobs=2)       a study; perp.load(folder) gives the table of an older one
    perp.plot, perp.view                figures and pages
    perp.list("lcp"), perp.info(name)   what there is
    perp.lesson("drift")                a lesson: its run, its exercises, a notebook of it
    perp.plugin                         methods of one's own

Needs the standard library and libperp; numpy where arrays are handed out, pandas for data frames, matplotlib for figures, each
only where it is installed.  docs/tutorials/python.md begins at the beginning, docs/reference/python.md has all functions.
"""
from . import plot
from ._basis import Sensitivity, Solutions
from ._errors import Error
from ._gradient import Gradient, Kink
from ._lcp import LCP, Factored, Solution, lcp
from ._lesson import Lesson, lesson
from ._program import Result, info, list_ as list, simulate, version
from ._scene import Scene
from ._simulation import Contacts, Forces, Simulation
from ._study import Study, run, study
from ._tables import Table, load
from ._view import Page, view

__all__ = ['LCP', 'Contacts', 'Error', 'Factored', 'Forces', 'Gradient', 'Kink', 'Lesson', 'Page', 'Result', 'Scene', 'Sensitivity',
           'Simulation', 'Solution', 'Solutions', 'Study', 'Table', 'info', 'lcp', 'lesson', 'list', 'load', 'plot', 'run', 'simulate', 'study', 'version',
           'view']
