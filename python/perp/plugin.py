# SPDX-License-Identifier: GPL-3.0-or-later
"""Methods in Python that stand beside those of perp.

    from perp.plugin import Answer, Int, Real, lcp

    @lcp("my-solver", summary="...", reference="...", equation="...", declares=["box", "iterative"],
         options=[Real("omega", 1, 0, 2, "relaxation", open="both")],
         serves="...", ties="...", cost="...", counts="...")
    def solve(p, x, opt):
        ...
        return Answer(x, "converged", iterations=k)

Integrators (ode), contact laws (contact) and metrics (metric) are declared alike.  What a file declares stands in studies: perp runs
the file in a Python of its own, one for each cell, and asks it over a socket.  A function that is declared here, in a notebook say,
serves perp.Simulation(scene, lcp=solve) in this process.  numpy is needed.
`perp new plugin lcp --language python` writes a file to begin with; docs/how-to/plugins.md says what a solver owes.
"""
from __future__ import annotations

import dataclasses
import math
import typing

import numpy as np
import numpy.typing

from ._errors import Error

if typing.TYPE_CHECKING:
    from . import _library

Vector = numpy.typing.NDArray[np.float64]
Option = typing.Dict[str, typing.Any]
Declared = typing.Dict[str, typing.Any]
Function = typing.TypeVar('Function', bound=typing.Callable[..., typing.Any])

METHODS: typing.List[Declared] = []  # of the file that is loaded, in its order


# ---- options ------------------------------------------------------------------------------------------------

def Real(key: str, default: float, least: float = -math.inf, most: float = math.inf, help: str = '', unit: str = '',
         open: str = '') -> Option:
    """A number; open: "min", "max" or "both" where a limit is no value.  unit: SI, as "s"."""
    return {'type': 'real', 'key': key, 'unit': unit, 'help': help, 'default': default, 'min': least, 'max': most,
            'open_min': open in ('min', 'both'), 'open_max': open in ('max', 'both')}


def Int(key: str, default: int, least: int, most: int, help: str = '') -> Option:
    """A whole number."""
    return {'type': 'int', 'key': key, 'unit': '', 'help': help, 'default': default, 'min': least, 'max': most}


def Bool(key: str, default: bool, help: str = '') -> Option:
    """True or false."""
    return {'type': 'bool', 'key': key, 'unit': '', 'help': help, 'default': int(default), 'min': 0, 'max': 1}


def Enum(key: str, default: str, choices: typing.Sequence[str], help: str = '') -> Option:
    """One of some names."""
    return {'type': 'enum', 'key': key, 'unit': '', 'help': help, 'default': list(choices).index(default), 'min': 0,
            'max': len(choices) - 1, 'choices': list(choices)}


def Text(key: str, default: str, help: str = '') -> Option:
    """Up to 127 letters."""
    return {'type': 'text', 'key': key, 'unit': '', 'help': help, 'default': 0, 'min': 0, 'max': 0, 'text': default}


READ: typing.Dict[str, typing.Callable[[str], typing.Any]] = {
    'real': float, 'int': int, 'bool': lambda text: text in ('true', 'yes', 'on', '1'), 'enum': str, 'text': str}


# ---- the kind lcp --------------------------------------------------------------------------------------------

@dataclasses.dataclass
class Answer:
    """What a solver hands back: its last iterate x, why it stopped (converged, exact, max-iter, stalled, ray, singular,
    infeasible, unsuited, ...: the names of core.h), and what it took.  work: multiplications with additions.
    certificate: with ray and infeasible, the vector that shows it."""
    x: Vector
    reason: str
    iterations: int = 0
    factorizations: int = 0
    matvecs: int = 0
    fallbacks: int = 0
    work: float = 0.0
    certificate: typing.Optional[Vector] = None


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
    A: Vector
    b: Vector
    lo: Vector
    hi: Vector
    mu: Vector
    fric_of: typing.Any
    cone: typing.Any
    unit: Vector
    contact_of: typing.Any
    tol: float
    tol_data: float
    work: float
    brief: bool = False

    def bounds(self, x: Vector) -> typing.Tuple[Vector, Vector]:
        """(lo, hi) of all rows; those of friction rows from the normal multipliers in x."""
        rows = self.fric_of >= 0
        lo, hi = self.lo.copy(), self.hi.copy()
        limit = self.mu[rows] * np.maximum(x[self.fric_of[rows]], 0)
        lo[rows], hi[rows] = -limit, limit
        return lo, hi

    def clamp(self, x: Vector) -> Vector:
        """x within its bounds."""
        lo, hi = self.bounds(x)
        return np.clip(x, lo, hi)

    def spent(self, work: float) -> bool:
        """Is that all that may be spent?"""
        return 0 < self.work <= work

    def merit(self, x: Vector, w: typing.Optional[Vector] = None) -> float:
        """perp_lcp_close: at most tol where perp calls x solved.  w = A x + b, worked out where it is not given."""
        from . import _library as c
        if not hasattr(self, '_view'):
            self._view, self._kept = view(self)
            self._scale = np.zeros(self.n)
            self._scratch = np.zeros(12 * self.n + 2)  # PERP_LCP_SCRATCH
            c.library().perp_lcp_scales(self._view, pointer(self._scale), None)
        w = self.A @ x + self.b if w is None else w
        x, w = np.ascontiguousarray(x, float), np.ascontiguousarray(w, float)
        merit = c.library().perp_lcp_merit(self._view, pointer(self._scale), pointer(x), pointer(w))
        return float(c.library().perp_lcp_close(self._view, merit, pointer(x), pointer(w), pointer(self._scratch)))


def pointer(values: Vector) -> typing.Any:
    from . import _library as c
    return values.ctypes.data_as(c.c_double_p)


def view(p: Problem) -> typing.Tuple['_library.Lcp', typing.List[typing.Any]]:
    """p as the structure of lcp.h, and what has to live as long."""
    from . import _library as c
    q = c.Lcp(n=p.n, lda=max(p.n, 1), tol=p.tol, tol_data=p.tol_data, brief=p.brief)
    kept: typing.List[typing.Any] = []
    made: typing.Dict[str, typing.Tuple[typing.Any, typing.Any]] = {'A': c.matrix(p.A, p.n, 'A')}
    parts: typing.Tuple[typing.Tuple[str, typing.Any, str], ...] = (
        ('b', p.b, 'd'), ('lo', p.lo, 'd'), ('hi', p.hi, 'd'), ('mu', p.mu, 'd'), ('unit', p.unit, 'd'),
        ('fric_of', p.fric_of, 'i'), ('cone', p.cone, 'b'))
    for name, values, kind in parts:
        made[name] = c.vector(values, p.n, name, kind)
    for name, (at, keep) in made.items():
        setattr(q, name, at)
        kept.append(keep)
    return q, kept


def _declare(kind: str, function: Function, words: Declared) -> Function:
    made = {'kind': kind, 'call': function, **words}
    for other in [m for m in METHODS if (m['kind'], m['name']) == (kind, words['name'])]:
        if getattr(other['call'], '__module__', '') != '__main__':
            raise Error(f'{words["name"]} is declared twice')
        METHODS.remove(other)  # a cell of a notebook that runs again
    METHODS.append(made)
    function.perp_method = made  # type: ignore[attr-defined]
    return function


def lcp(name: str, *, summary: str, reference: str, equation: typing.Optional[str] = None, declares: typing.Sequence[str] = (),
        options: typing.Sequence[Option] = (), serves: str, ties: str, cost: str,
        counts: str) -> typing.Callable[[Function], Function]:
    """Declares the function below it as an LCP solver: solve(p, x, opt) -> Answer, with p a Problem, x (n) a finite
    guess that may be written to, and opt with an attribute for each option.

    declares: capabilities, promises that the contract tests hold it to: box, free, friction, cone, nonsymmetric,
    semidefinite, pivoting, iterative, warm-start, ...  perp asks it nothing beyond them.
    serves, ties, cost, counts: a sentence each, as for solvers in C (docs/how-to/plugins.md).
    """
    words: Declared = {'name': name, 'summary': summary, 'reference': reference, 'equation': equation,
                       'declares': list(declares), 'options': list(options), 'serves': serves, 'ties': ties, 'cost': cost,
                       'counts': counts}
    return lambda solve: _declare('lcp', solve, words)


# ---- the kind ode --------------------------------------------------------------------------------------------

class Refused(Exception):
    """No derivative exists at a state: the driver of perp takes a shorter step, or stops.  Let it pass."""

    def __init__(self, answer: int) -> None:
        super().__init__('no derivative exists here')
        self.answer = answer


class System:
    """The equations q' = N(q) v, v' = a(t, q, v) that an integrator is given.  nq, nv: their numbers.

    deriv(t, q, v)     (q' (nq), v' (nv)); an integrator whose step is refused there lets the exception pass
    retract(q, dq)     q [+] dq (nq): dq (nv) a displacement, and of a body in space a rotation vector in its axes
    project(q)         q (nq) with unit quaternions: at the end of a step that adds numbers of q
    """

    def __init__(self, nq: int, nv: int, retracts: bool, projects: bool) -> None:
        self.nq, self.nv, self._retracts, self._projects = nq, nv, retracts, projects

    def deriv(self, t: float, q: Vector, v: Vector, regular: bool = False) -> typing.Tuple[Vector, Vector]:
        """The derivative at (t, q, v).  regular: at the state where the step starts, as it is."""
        answer, qdot, a = self._deriv(float(t), _numbers(q, self.nq, 'q'), _numbers(v, self.nv, 'v'), regular)
        if answer not in (0, 1):
            raise Refused(answer)
        return qdot, a

    def retract(self, q: Vector, dq: Vector) -> Vector:
        """q [+] dq."""
        q, dq = _numbers(q, self.nq, 'q'), _numbers(dq, self.nv if self._retracts else self.nq, 'dq')
        return self._retract(q, dq) if self._retracts else q + dq

    def project(self, q: Vector) -> Vector:
        """q with unit quaternions."""
        q = _numbers(q, self.nq, 'q')
        return self._project(q) if self._projects else q.copy()

    # of the process that has the system, or of this one
    def _deriv(self, t: float, q: Vector, v: Vector, regular: bool) -> typing.Tuple[int, Vector, Vector]:
        raise NotImplementedError

    def _retract(self, q: Vector, dq: Vector) -> Vector:
        raise NotImplementedError

    def _project(self, q: Vector) -> Vector:
        raise NotImplementedError


def _numbers(values: typing.Any, n: int, what: str) -> Vector:
    x = np.ascontiguousarray(values, float)
    if x.shape != (n,):
        raise ValueError(f'{what} must have {n} numbers: its shape is {x.shape}')
    return x


def stepped(answer: typing.Any, system: System, error: bool) -> typing.List[Vector]:
    """What a step returned: q (nq), v (nv) and, where it is wanted, the estimate (nq + nv)."""
    wanted = [('q', system.nq), ('v', system.nv), ('err', system.nq + system.nv)][:3 if error else 2]
    if not isinstance(answer, tuple) or len(answer) < len(wanted):
        raise TypeError(f'a step must return ({", ".join(name for name, _ in wanted)})')
    return [_numbers(values, n, name) for values, (name, n) in zip(answer, wanted)]


def ode(name: str, *, order: int, stages: int, summary: str, reference: str, equation: typing.Optional[str] = None,
        options: typing.Sequence[Option] = (), error_order: int = 0) -> typing.Callable[[Function], Function]:
    """Declares the function below it as an integrator: step(sys, t, h, q, v, opt) -> (q1, v1), one step of
    length h [s] from (t, q, v), with sys a System.  It keeps nothing from one step to the next.

    order: of a fixed step; stages: derivatives a step.  error_order > 0: it returns (q1, v1, err) with err (nq + nv) an
    estimate O(h^(error_order + 1)) of the local error, and serves `tol` with that; others do by step doubling.
    """
    words: Declared = {'name': name, 'summary': summary, 'reference': reference, 'equation': equation, 'options': list(options),
                       'order': order, 'stages': stages, 'error_order': error_order}
    return lambda step: _declare('ode', step, words)


# ---- the kind contact ----------------------------------------------------------------------------------------

@dataclasses.dataclass
class Island:
    """The contact problem of bodies that touch each other: relative velocities u = A x + b at nc contacts with r rows each,
    (n) or (n, t1) or (n, t1, t2), and further rows behind them for joints, limits and motors.

    nc, r, n = r nc + further rows; A (n, n); b (n) m/s; mu (nc)
    lo, hi (n)  bounds of the impulses: of normal rows 0 or more; of friction rows the law says; of further rows as they are
    """
    nc: int
    r: int
    n: int
    A: Vector
    b: Vector
    mu: Vector
    lo: Vector
    hi: Vector


def contact(name: str, *, friction: bool, summary: str, reference: str, equation: typing.Optional[str] = None,
            options: typing.Sequence[Option] = ()) -> typing.Callable[[Function], Function]:
    """Declares the function below it as a contact law: solve(island, x, opt) -> Answer, whose x (n) are the
    impulses [N s], with island an Island and x the impulses of the step before.

    friction: it wants rows (n, t1, t2) of a contact, in the plane (n, t1); else (n).
    Its own word counts: what it calls converged or exact is counted as solved.
    """
    words: Declared = {'name': name, 'summary': summary, 'reference': reference, 'equation': equation, 'options': list(options),
                       'friction': friction}
    return lambda solve: _declare('contact', solve, words)


# ---- the kind metric -----------------------------------------------------------------------------------------

@dataclasses.dataclass
class Run:
    """What a metric reads, of a run with n accepted states.

    t (n) s; q (n, nq), v (n, nv): the states, as those of perp.Simulation; empty where motion=False
    figures     the metrics of perp by name, in SI; nan: not defined for this run
    """
    t: Vector
    q: Vector
    v: Vector
    figures: typing.Dict[str, float]


def metric(name: str, *, unit: str = '', better: str = '', summary: str, reference: str, equation: typing.Optional[str] = None,
           motion: bool = True) -> typing.Callable[[Function], Function]:
    """Declares the function below it as a metric: value(run) -> a number, nan where it is not defined; run is a Run.

    unit: SI; better: "less", "more" or "".  motion=False: it reads the figures alone, and no states are kept for it.
    """
    if better not in ('less', 'more', ''):
        raise Error(f'better must be "less", "more" or "": got {better!r}')
    words: Declared = {'name': name, 'summary': summary, 'reference': reference, 'equation': equation, 'options': [],
                       'unit': unit, 'better': better, 'motion': motion}
    return lambda value: _declare('metric', value, words)


def measured(value: typing.Any) -> float:
    """What a metric returned."""
    number = float(value)
    if math.isinf(number):
        raise ValueError('a metric must return a number, or nan where it is not defined: got inf')
    return number
