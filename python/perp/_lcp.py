# SPDX-License-Identifier: GPL-3.0-or-later
"""One complementarity problem."""
import ctypes
import dataclasses
import typing

from . import _library as c
from ._errors import Error

STATUS = {'converged': 'solved', 'undecided': 'undecided', 'sweeps-done': 'fixed-work', 'infeasible': 'infeasible'}


@dataclasses.dataclass(repr=False)
class Solution:
    """What a solver answered, and what the one judge of perp says of it.  True where it is solved.

    x, w            lambda and w = A lambda + b: numpy arrays, or lists where there is no numpy
    status          solved, infeasible (proved), undecided, fixed-work, not solved
    reason          why the method stopped: converged, max-iter, ray, ...
    residual, data  the two figures of the judge (docs/reference/lcp-format.md); solved: residual <= tol, data <= tol_data
    iterations, factorizations, matvecs, work     what it took; work: multiplications with additions
    solver, by      what was asked for, and whose answer it is (auto, rescue)
    certificate     a vector that proves or suggests that there is no solution; None
    message         what the solver has to say; ""
    """
    x: typing.Any
    w: typing.Any
    status: str
    reason: str
    residual: float
    data: float
    iterations: int
    factorizations: int
    matvecs: int
    work: float
    solver: str
    by: str
    certificate: typing.Any
    message: str

    def __bool__(self):
        return self.status == 'solved'

    def __repr__(self):
        by = self.solver + (f' ({self.by})' if self.by not in ('', self.solver) else '')
        shown = ', '.join(f'{v:.6g}' for v in self.x[:8]) + (f', ... {len(self.x)} rows' if len(self.x) > 8 else '')
        why = '' if self.status == 'solved' else f' ({self.reason})'
        return (f'{self.status}{why} by {by}: x = [{shown}], residual {self.residual:.3g}, '
                f'{self.iterations} iteration{"" if self.iterations == 1 else "s"}')


def lcp(A, b, lo=None, hi=None, *, friction_of=None, mu=None, cone=None, guess=None, solver='auto', tol=1e-10,
        tol_data=None):
    """Find x with  w = A x + b,  lo <= x <= hi,  and  x = lo => w >= 0,  x = hi => w <= 0,  else w = 0.

    A            n x n: a list of rows, an array, or a sparse matrix of scipy
    b            n numbers
    lo, hi       bounds, n numbers or one for all; None: 0 and infinity.  -inf and inf: an equality
    friction_of  n row numbers: row i takes its bounds from row j = friction_of[i], |x_i| <= mu_i x_j; -1: it does not
    mu           n numbers (or one), read where friction_of is not -1
    cone         n of 0 and 1: 1 on the first of two rows that make a circular cone together; None: boxes
    guess        n numbers to start from; None: zeros
    solver       a name with options: "lemke", "pgs:max_iter=100"; perp.list("lcp").  auto chooses
    tol          largest residual of a solution;  tol_data: largest `data`, None: not asked

    Returns a Solution, also where the problem is not solved; Error where the input makes no sense.  In this process:
    no copy of perp is started.
    """
    lib, n = c.library(), len(b) if hasattr(b, '__len__') else -1
    if n < 0:
        raise Error(f'b must be numbers in a row: got {b!r}')
    p, kept = c.Lcp(n=n, lda=max(n, 1), tol_data=tol_data or 0), []

    def give(name, made):
        setattr(p, name, made[0])
        kept.append(made)

    if hasattr(A, 'tocsc'):
        sparse = c.columns(A, n, 'A')
        kept.append(sparse)
        p.C = ctypes.pointer(sparse[0])
    else:
        give('A', c.matrix(A, n, 'A'))
    give('b', c.vector(b, n, 'b'))
    for name, values, what, kind in (('lo', lo, 'lo', 'd'), ('hi', hi, 'hi', 'd'), ('fric_of', friction_of, 'friction_of', 'i'),
                                     ('mu', mu, 'mu', 'd'), ('cone', cone, 'cone', 'b')):
        if values is not None:
            give(name, c.vector(values, n, what, kind))
    if (friction_of is None) != (mu is None):
        raise Error('friction_of and mu go together')
    if cone is not None and friction_of is None:
        raise Error('cone needs friction_of and mu')
    ctx, spec, made, stats = c.context(), c.Spec(), ctypes.c_void_p(), c.Stats()
    x, w = (ctypes.c_double * max(n, 1))(), (ctypes.c_double * max(n, 1))()
    if guess is not None:
        for i, value in enumerate(c.vector(guess, n, 'guess')[1]):
            x[i] = value
    c.check(ctx, lib.perp_spec_parse(ctx, c.KIND_LCP, str(solver).encode(), spec))
    try:
        c.check(ctx, lib.perp_lcp_create(ctx, spec, n, 0, made))
        ctx.msg = b''
        c.check(ctx, lib.perp_lcp_solve(ctx, made, p, tol, x, w, None, stats))
        z = lib.perp_lcp_certificate(made)
        reason = lib.perp_reason_name(stats.reason).decode()
        return Solution(x=c.numbers(x[:n]), w=c.numbers(w[:n]), status=STATUS.get(reason, 'not solved'), reason=reason,
                        residual=stats.residual, data=stats.data, iterations=stats.iterations,
                        factorizations=stats.factorizations, matvecs=stats.matvecs, work=stats.work, solver=str(solver),
                        by=(stats.by or b'').decode(), certificate=c.numbers(z[:n]) if z else None,
                        message=ctx.msg.decode(errors='replace'))
    finally:
        lib.perp_lcp_destroy(made)
        lib.perp_spec_free(spec)
