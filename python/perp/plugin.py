# SPDX-License-Identifier: GPL-3.0-or-later
"""Solvers in Python that stand beside those of perp.

    from perp.plugin import Answer, Int, Real, lcp

    @lcp("my-solver", summary="...", reference="...", equation="...", declares=["box", "iterative"],
         options=[Real("omega", 1, 0, 2, "relaxation", open="both")],
         serves="...", ties="...", cost="...", counts="...")
    def solve(p, x, opt):
        ...
        return Answer(x, "converged", iterations=k)

perp runs the file in a Python of its own, one for each cell of a study, and asks it over a socket.  numpy is needed.
`perp new plugin lcp --language python` writes one to begin with; docs/how-to/plugins.md says what a solver owes.
"""
import dataclasses
import math

import numpy as np

from ._errors import Error

SOLVERS = []  # of the file that is loaded, in its order


# ---- options ------------------------------------------------------------------------------------------------

def Real(key, default, least=-math.inf, most=math.inf, help='', unit='', open=''):
    """A number; open: "min", "max" or "both" where a limit is no value.  unit: SI, as "s"."""
    return {'type': 'real', 'key': key, 'unit': unit, 'help': help, 'default': default, 'min': least, 'max': most,
            'open_min': open in ('min', 'both'), 'open_max': open in ('max', 'both')}


def Int(key, default, least, most, help=''):
    """A whole number."""
    return {'type': 'int', 'key': key, 'unit': '', 'help': help, 'default': default, 'min': least, 'max': most}


def Bool(key, default, help=''):
    return {'type': 'bool', 'key': key, 'unit': '', 'help': help, 'default': int(default), 'min': 0, 'max': 1}


def Enum(key, default, choices, help=''):
    """One of some names."""
    return {'type': 'enum', 'key': key, 'unit': '', 'help': help, 'default': list(choices).index(default), 'min': 0,
            'max': len(choices) - 1, 'choices': list(choices)}


def Text(key, default, help=''):
    """Up to 127 letters."""
    return {'type': 'text', 'key': key, 'unit': '', 'help': help, 'default': 0, 'min': 0, 'max': 0, 'text': default}


READ = {'real': float, 'int': int, 'bool': lambda text: text in ('true', 'yes', 'on', '1'), 'enum': str, 'text': str}


# ---- the kind lcp --------------------------------------------------------------------------------------------

@dataclasses.dataclass
class Answer:
    """What a solver hands back: its last iterate x, why it stopped (converged, exact, max-iter, stalled, ray, singular,
    infeasible, unsuited, ...: the names of core.h), and what it took.  work: multiplications with additions.
    certificate: with ray and infeasible, the vector that shows it."""
    x: np.ndarray
    reason: str
    iterations: int = 0
    factorizations: int = 0
    matvecs: int = 0
    fallbacks: int = 0
    work: float = 0.0
    certificate: np.ndarray = None


@dataclasses.dataclass
class Problem:
    """Find x with w = A x + b, lo <= x <= hi, complementary (lcp.h).  A copy: what is written there changes nothing.

    n; A (n, n); b, lo, hi, mu (n); fric_of (n), -1: no friction row; cone (n), 1 on the first of two rows of a circular
    cone; unit (n): factors that bring w to one unit; contact_of (n) or None
    tol, tol_data   what counts as solved: stop where merit(x, w) <= tol
    work            what may be spent, 0: no limit
    brief           a problem of a time step, which merit judges by its rule
    """
    n: int
    A: np.ndarray
    b: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    mu: np.ndarray
    fric_of: np.ndarray
    cone: np.ndarray
    unit: np.ndarray
    contact_of: np.ndarray
    tol: float
    tol_data: float
    work: float
    brief: bool = False

    def bounds(self, x):
        """(lo, hi) of all rows; those of friction rows from the normal multipliers in x."""
        rows = self.fric_of >= 0
        lo, hi = self.lo.copy(), self.hi.copy()
        limit = self.mu[rows] * np.maximum(x[self.fric_of[rows]], 0)
        lo[rows], hi[rows] = -limit, limit
        return lo, hi

    def clamp(self, x):
        """x within its bounds."""
        lo, hi = self.bounds(x)
        return np.clip(x, lo, hi)

    def spent(self, work):
        """Is that all that may be spent?"""
        return 0 < self.work <= work

    def merit(self, x, w=None):
        """perp_lcp_close: at most tol where perp calls x solved.  w = A x + b, worked out where it is not given."""
        from . import _library as c
        if not hasattr(self, '_view'):
            self._view, self._kept = view(self)
            self._scale = np.zeros(self.n)
            self._scratch = np.zeros(11 * self.n + 2)  # PERP_LCP_SCRATCH
            c.library().perp_lcp_scales(self._view, pointer(self._scale), None)
        w = self.A @ x + self.b if w is None else w
        x, w = np.ascontiguousarray(x, float), np.ascontiguousarray(w, float)
        merit = c.library().perp_lcp_merit(self._view, pointer(self._scale), pointer(x), pointer(w))
        return c.library().perp_lcp_close(self._view, merit, pointer(x), pointer(w), pointer(self._scratch))


def pointer(values):
    from . import _library as c
    return values.ctypes.data_as(c.c_double_p)


def view(p):
    """p as the structure of lcp.h, and what has to live as long."""
    from . import _library as c
    q, kept = c.Lcp(n=p.n, lda=max(p.n, 1), tol=p.tol, tol_data=p.tol_data, brief=p.brief), []
    made = {'A': c.matrix(p.A, p.n, 'A')}
    for name, values, kind in (('b', p.b, 'd'), ('lo', p.lo, 'd'), ('hi', p.hi, 'd'), ('mu', p.mu, 'd'), ('unit', p.unit, 'd'),
                               ('fric_of', p.fric_of, 'i'), ('cone', p.cone, 'b')):
        made[name] = c.vector(values, p.n, name, kind)
    for name, (at, keep) in made.items():
        setattr(q, name, at)
        kept.append(keep)
    return q, kept


def lcp(name, *, summary, reference, equation=None, declares=(), options=(), serves, ties, cost, counts):
    """Declares the function below it as an LCP solver: solve(p, x, opt) -> Answer, with p a Problem, x (n) a finite
    guess that may be written to, and opt with an attribute for each option.

    declares: capabilities, promises that the contract tests hold it to: box, free, friction, cone, nonsymmetric,
    semidefinite, pivoting, iterative, warm-start, ...  perp asks it nothing beyond them.
    serves, ties, cost, counts: a sentence each, as for solvers in C (docs/how-to/plugins.md).
    """
    def take(solve):
        SOLVERS.append({'name': name, 'summary': summary, 'reference': reference, 'equation': equation,
                        'declares': list(declares), 'options': list(options), 'serves': serves, 'ties': ties,
                        'cost': cost, 'counts': counts, 'solve': solve})
        return solve
    if any(s['name'] == name for s in SOLVERS):
        raise Error(f'{name} is declared twice')
    return take
