# SPDX-License-Identifier: GPL-3.0-or-later
"""Derivatives of simulated steps."""
from __future__ import annotations

import ctypes
import dataclasses
import typing

from . import _library as c
from ._errors import Error

KINDS = 'q', 'v', 'mass', 'gravity', 'friction', 'force', 'target'
SIDES = {-1: 'left', 0: 'neither', 1: 'right', 2: 'both'}


@dataclasses.dataclass
class Kink:
    """A row at which a derivative may not exist: cause; bodies of the contact, or the drive (else None); margin: how far off the
    kink it is, in the unit of the row; acts: a column moves it."""
    cause: str
    bodies: typing.Optional[typing.Tuple[int, int]]
    drive: typing.Optional[int]
    margin: float
    acts: bool


class Gradient:
    """Derivatives of the state of a simulation, by the chain rule from step to step: see Simulation.gradient.

    columns    what they are by: [("q", 0), ("q", 1), ..., ("gravity", 0)], n of them
    verdict    of the last step: smooth, singular, kink, ambiguous, jump, none; worst: of all steps so far
    Tangent coordinates: nv numbers a state, as velocities have them; of q a displacement in m (world) and a rotation vector in
    rad (axes of the body).
    """

    def __init__(self, sim: typing.Any, at: typing.Any, columns: typing.List[typing.Tuple[str, int]]) -> None:
        self._sim, self._at, self.columns = sim, at, columns

    def _here(self) -> typing.Any:
        if self._sim._gradient is not self:
            raise Error('these derivatives are of an older request: sim.gradient(...) was called again')
        return self._at

    def _matrix(self, of: str) -> typing.Any:
        nv, n = self._sim.nv, len(self.columns)
        values = getattr(c.library(), of)(self._here())[:nv * n]
        if c.HAVE_NUMPY:
            return c.numpy.array(values).reshape((nv, n), order='F')
        return [[values[i + nv * j] for j in range(n)] for i in range(nv)]

    @property
    def dq(self) -> typing.Any:
        """(nv, n) derivatives of the positions, tangent coordinates.  A copy."""
        return self._matrix('perp_gradient_dq')

    @property
    def dv(self) -> typing.Any:
        """(nv, n) derivatives of the velocities.  A copy."""
        return self._matrix('perp_gradient_dv')

    def _report(self) -> typing.Any:
        return c.library().perp_gradient_report_of(self._here()).contents

    @property
    def verdict(self) -> str:
        """Of the last step: "smooth" where the derivative is one."""
        return str(c.library().perp_gradient_verdict_name(self._report().verdict).decode())

    @property
    def worst(self) -> str:
        """The worst verdict of all steps so far: what holds for the derivatives."""
        return str(c.library().perp_gradient_verdict_name(self._report().worst).decode())

    @property
    def sides(self) -> typing.List[str]:
        """(n) which side of each column the derivative belongs to, over all steps: "both", "left", "right", "neither"."""
        at = c.library().perp_gradient_sides(self._here())
        return [SIDES[at[j]] for j in range(len(self.columns))]

    @property
    def kinks(self) -> typing.List[Kink]:
        """The rows of the last step that are at a kink."""
        report, name = self._report(), c.library().perp_gradient_cause_name
        return [Kink(name(r.cause).decode(), None if r.body[0] == r.body[1] == -1 else (r.body[0], r.body[1]),
                     r.drive if r.drive >= 0 else None, r.margin, r.acts) for r in (report.row[i] for i in range(report.n_rows))]

    def pull(self, wq: typing.Any = None, wv: typing.Any = None) -> typing.Any:
        """(n) wq' dq + wv' dv: the derivative of a cost, of which wq and wv (nv) are those by the state; None: zeros."""
        out, result = c.room(len(self.columns))
        at = [None if w is None else c.vector(w, self._sim.nv, name) for w, name in ((wq, 'wq'), (wv, 'wv'))]
        c.library().perp_gradient_pull(self._here(), at[0][0] if at[0] else None, at[1][0] if at[1] else None, out)
        return c.handed(result, len(self.columns))

    def hold(self, column: typing.Tuple[str, int], held: bool = True) -> None:
        """A column that is not of the state does not act in the steps to come (held), or does again: a control of one step."""
        if column not in self.columns:
            raise Error(f'there is no column {column!r}: {self.columns}')
        c.library().perp_gradient_hold(self._here(), self.columns.index(column), held)

    def reset(self) -> None:
        """Begin anew at the present state: columns of q and v are unit vectors, others zero."""
        c.check(self._sim._ctx, c.library().perp_gradient_reset(self._sim._ctx, self._here()))


def request(sim: typing.Any, wrt: typing.Sequence[typing.Any]) -> typing.Tuple[typing.Any, typing.List[typing.Tuple[str, int]]]:
    """The columns of what was requested, as C takes them."""
    columns: typing.List[typing.Tuple[str, int]] = []
    for one in wrt:
        kind, index = (one, None) if isinstance(one, str) else tuple(one)
        if kind not in KINDS:
            raise Error(f'derivatives are by {", ".join(KINDS)}: got {kind!r}')
        if index is None:
            many = {'q': sim.nv, 'v': sim.nv, 'force': sim.nv, 'mass': sim.bodies, 'target': sim.drives}.get(kind)
            columns += [(kind, i) for i in range(many)] if many is not None else [(kind, -1 if kind == 'friction' else 0)]
        else:
            named = {'mass': 'body', 'target': 'drive'}.get(kind)
            columns.append((kind, sim.index(named, index) if named else int(index)))
    flat = [x for kind, i in columns for x in (KINDS.index(kind), i)]
    return (ctypes.c_int * max(len(flat), 1))(*flat), columns
