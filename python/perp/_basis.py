# SPDX-License-Identifier: GPL-3.0-or-later
"""How solutions of a complementarity problem depend on its data, and all of them."""
from __future__ import annotations

import ctypes
import dataclasses
import typing

from . import _library as c

VERDICTS = 'regular', 'degenerate', 'singular', 'none'
SMOOTH = 'smooth', 'sides', 'up', 'down', 'not', 'open'


@dataclasses.dataclass
class Sensitivity:
    """Derivatives of a solution on its basis.  Arrays of numpy, or lists of rows where there is none; nan: there is none.

    verdict      regular: differentiable; degenerate: derivatives to each side; singular, none: no derivatives
    db, db_down  (n, n) d x_k / d b_i at [k, i], for rising and for falling b_i
    kind         (n) how x depends on b_i: smooth, sides, up, down, not, open (not decided)
    least, most  (n) the interval of b_i in which the basis stays
    rcond        reciprocal condition of the matrix of the free rows
    d x_k / d A_ij is db[k, i] x_j.
    """
    verdict: str
    db: typing.Any
    db_down: typing.Any
    kind: typing.List[str]
    least: typing.Any
    most: typing.Any
    rcond: float


@dataclasses.dataclass
class Solutions:
    """The basic solutions of a problem, and the sets that they form.

    x         (count, n), one in each row        complete   False: the search was cut, there may be more
    parts     [(members, dimension, bounded)]: solutions whose convex hull consists of solutions, as a segment (dimension 1);
              bounded None: not known
    """
    x: typing.Any
    complete: bool
    parts: typing.List[typing.Tuple[typing.List[int], int, typing.Optional[bool]]]

    def __len__(self) -> int:
        return len(self.x)


def _square(values: typing.Any, n: int) -> typing.Any:
    if c.HAVE_NUMPY:
        return values.reshape((n, n), order='F')
    return [[values[k + i * n] for i in range(n)] for k in range(n)]


def sensitivity(ctx: c.Ctx, p: c.Lcp, x: typing.Any) -> Sensitivity:
    n = p.n
    made = {name: c.room(n * n if name.startswith('db') else n) for name in ('db', 'db_down', 'least', 'most')}
    kind = (ctypes.c_int * max(n, 1))()
    s = c.LcpSensitivity(kind=kind, **{name: at for name, (at, _) in made.items()})
    c.check(ctx, c.library().perp_lcp_sensitivity_find(ctx, p, c.vector(x, n, 'x')[0], 0.0, s))
    return Sensitivity(verdict=VERDICTS[s.verdict], db=_square(made['db'][1], n), db_down=_square(made['db_down'][1], n),
                       kind=[SMOOTH[k] for k in kind[:n]], least=c.handed(made['least'][1], n), most=c.handed(made['most'][1], n),
                       rcond=s.rcond)


def solutions(ctx: c.Ctx, p: c.Lcp, tol: float) -> Solutions:
    lib, found = c.library(), c.LcpSolutions()
    c.check(ctx, lib.perp_lcp_solutions_find(ctx, p, tol, 1e-9, found))
    try:
        n = found.n
        values = getattr(found, 'lambda')  # no word of Python
        rows = [list(values[k * n:(k + 1) * n]) for k in range(found.count)]
        parts = [(list(part.member[:part.count]), int(part.dimension), bool(part.bounded) if part.known else None)
                 for part in (found.part[k] for k in range(max(found.parts, 0)))]
        return Solutions(x=c.numpy.array(rows).reshape((-1, n)) if c.HAVE_NUMPY else rows, complete=found.complete, parts=parts)
    finally:
        lib.perp_lcp_solutions_free(found)
