# SPDX-License-Identifier: GPL-3.0-or-later
"""Complementarity problems: one, or a sequence with the same matrix."""
from __future__ import annotations

import ctypes
import dataclasses
import typing
import weakref

from . import _basis
from . import _library as c
from ._errors import Error

STATUS = {'converged': 'solved', 'undecided': 'undecided', 'sweeps-done': 'fixed-work', 'infeasible': 'infeasible'}


@dataclasses.dataclass(repr=False)
class Solution:
    """What a solver answered, and what the one judge of perp says of it.  True where it is solved.

    x, w            (n) lambda and w = A lambda + b: numpy arrays, or lists where there is no numpy
    status          solved, infeasible (proved), undecided, fixed-work, not solved
    reason          why the method stopped: converged, max-iter, ray, ...
    residual, data  the two figures of the judge (docs/reference/lcp-format.md); solved: residual <= tol, data <= tol_data
    iterations, factorizations, matvecs, work     what it took; work: multiplications with additions
    solver, by      the method that was requested, and the one whose answer it is (auto, rescue)
    certificate     (n) a vector that proves or suggests that there is no solution; None
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

    def __bool__(self) -> bool:
        return self.status == 'solved'

    def __repr__(self) -> str:
        by = self.solver + (f' ({self.by})' if self.by not in ('', self.solver) else '')
        shown = ', '.join(f'{v:.6g}' for v in self.x[:8]) + (f', ... {len(self.x)} rows' if len(self.x) > 8 else '')
        why = '' if self.status == 'solved' else f' ({self.reason})'
        return (f'{self.status}{why} by {by}: x = [{shown}], residual {self.residual:.3g}, '
                f'{self.iterations} iteration{"" if self.iterations == 1 else "s"}')


class Factored:
    """The matrix A = J M^-1 J' + S by its parts, which methods for it never multiply out.  Needs numpy.

    M   list of symmetric positive definite blocks, (d, d) arrays: the diagonal of M; their sizes add up to nv
    J   (m, nv) array or sparse matrix of scipy
    s   (m) numbers >= 0, the diagonal S; None: zeros

    A is m x m.  The parts are copied.
    """

    def __init__(self, M: typing.Sequence[typing.Any], J: typing.Any, s: typing.Any = None) -> None:
        if not c.HAVE_NUMPY:
            raise Error('a factored matrix needs numpy: apt-get install python3-numpy')
        np = c.numpy
        try:
            blocks = [np.array(block, dtype=float, ndmin=2) for block in M]
        except (TypeError, ValueError) as why:
            raise Error(f'M must be a list of square blocks: {why}') from None
        for i, block in enumerate(blocks):
            if block.ndim != 2 or block.shape[0] != block.shape[1] or block.size == 0:
                raise Error(f'M must be a list of square blocks: block {i} has shape {block.shape}')
            try:
                np.linalg.cholesky(block)
            except np.linalg.LinAlgError:
                raise Error(f'block {i} of M is not positive definite') from None
        start = np.concatenate([[0], np.cumsum([len(block) for block in blocks])]).astype(np.intc)
        rows = J.tocsr() if hasattr(J, 'tocsr') else np.asarray(J, dtype=float)
        if len(rows.shape) != 2 or rows.shape[1] != start[-1]:
            raise Error(f'J must have {start[-1]} columns, as many as M: its shape is {rows.shape}')
        m = self.n = int(rows.shape[0])
        touched: typing.List[int] = []
        jptr, parts = [0], []
        for i in range(m):
            row = np.asarray(rows[i].toarray()).ravel() if hasattr(rows, 'toarray') else rows[i]
            for b in np.unique(np.searchsorted(start, np.flatnonzero(row), side='right') - 1):
                touched.append(int(b))
                parts.append(row[start[b]:start[b + 1]])
            jptr.append(len(touched))

        def whole(values: typing.Any) -> typing.Any:
            return np.ascontiguousarray(values, dtype=np.intc)

        nb, sub = len(blocks), len(touched)
        k: typing.Dict[str, typing.Any] = {
            'bptr': start, 'mptr': whole(np.concatenate([[0], np.cumsum([block.size for block in blocks])])),
            'cptr': whole(range(m + 1)), 'jptr': whole(jptr), 'jblk': whole(touched + [0]),
            'joff': whole(np.concatenate([[0], np.cumsum([len(part) for part in parts])])),
            'jgrp': whole([0] * (sub + 1)), 'tptr': whole([0] * (nb + 1)), 'tsub': whole([0] * (sub + 1)),
            'M': np.concatenate([block.ravel('F') for block in blocks] + [np.zeros(1)]),
            'Minv': np.concatenate([np.linalg.inv(block).ravel('F') for block in blocks] + [np.zeros(1)]),
            'J': np.concatenate([*parts, np.zeros(1)]),
        }
        if s is not None:
            k['s'] = c.vector(s, m, 's')[1]
            if (k['s'] < 0).any():
                raise Error('s must not be negative')
        self._kept = k
        self._blocks = c.Blocks(nv=int(start[-1]), m=m, nb=nb, nc=m, threads=1)
        for name, values in k.items():
            kind = c.c_double_p if values.dtype == float else c.c_int_p
            setattr(self._blocks, name, values.ctypes.data_as(kind))
        f = self._blocks
        c.library().perp_blocks_transpose(nb, m, f.jptr, f.jblk, f.jgrp, f.tptr, f.tsub)

    def dense(self) -> typing.Any:
        """A as an (m, m) array: for comparison."""
        np, k, f = c.numpy, self._kept, self._blocks
        J = np.zeros((self.n, f.nv))
        for i in range(self.n):
            for p in range(k['jptr'][i], k['jptr'][i + 1]):
                b = k['jblk'][p]
                J[i, k['bptr'][b]:k['bptr'][b + 1]] = k['J'][k['joff'][p]:k['joff'][p + 1]]
        A = np.zeros((self.n, self.n))
        for b in range(f.nb):
            d = slice(k['bptr'][b], k['bptr'][b + 1])
            A += J[:, d] @ k['Minv'][k['mptr'][b]:k['mptr'][b + 1]].reshape(d.stop - d.start, -1) @ J[:, d].T
        return A + np.diag(k['s']) if 's' in k else A


def _free(made: typing.Any, spec: typing.Any) -> None:
    c.library().perp_lcp_destroy(made)
    c.library().perp_spec_free(spec)


class LCP:
    """A complementarity problem that is set up once and solved for many b:  w = A x + b, lo <= x <= hi, complementary.

        p = perp.LCP(A, friction_of=..., mu=..., solver="psor")
        for b in sequence:
            s = p.solve(b)          # starts from the solution before

    The arguments are those of perp.lcp, without b.  The solver, its memory and, where A is sparse or factored, what it
    knows of the pattern of A stay from one solve to the next.  warm=False: each solve starts from zeros.
    An array A in the order of Fortran is used as it is, not copied: numbers that change there are seen by the next solve.
    """

    def __init__(self, A: typing.Any, lo: typing.Any = None, hi: typing.Any = None, *, friction_of: typing.Any = None,
                 mu: typing.Any = None, cone: typing.Any = None, solver: str = 'auto', tol: float = 1e-10,
                 tol_data: typing.Optional[float] = None, warm: bool = True) -> None:
        self.solver, self.tol, self.warm = str(solver), tol, warm
        self.n = n = self._size(A)
        self._ctx = c.context()
        self._p = c.Lcp(n=n, lda=max(n, 1), tol_data=tol_data or 0)
        self._kept: typing.Dict[str, typing.Any] = {}
        self._x: typing.Any = None
        if (friction_of is None) != (mu is None):
            raise Error('friction_of and mu go together')
        if cone is not None and friction_of is None:
            raise Error('cone needs friction_of and mu')
        self.update(A=A)
        for name, values, what, kind in (('lo', lo, 'lo', 'd'), ('hi', hi, 'hi', 'd'),
                                         ('fric_of', friction_of, 'friction_of', 'i'), ('mu', mu, 'mu', 'd'),
                                         ('cone', cone, 'cone', 'b')):
            if values is not None:
                self._give(name, c.vector(values, n, what, kind))
        lib, spec, made = c.library(), c.Spec(), ctypes.c_void_p()
        c.check(self._ctx, lib.perp_spec_parse(self._ctx, c.KIND_LCP, self.solver.encode(), spec))
        status = lib.perp_lcp_create(self._ctx, spec, n, A._blocks.nv if isinstance(A, Factored) else 0, made)
        if status != 0:
            lib.perp_spec_free(spec)
            raise Error(c.message(self._ctx))
        self._made = made
        self._end = weakref.finalize(self, _free, made, spec)
        self._end.atexit = False

    @staticmethod
    def _size(A: typing.Any) -> int:
        if isinstance(A, Factored):
            return A.n
        if hasattr(A, 'tocsc'):
            return int(A.shape[0])
        if not hasattr(A, '__len__'):
            raise Error(f'A must be rows of numbers: got {A!r}')
        return len(A)

    def _give(self, name: str, made: typing.Tuple[typing.Any, typing.Any]) -> None:
        setattr(self._p, name, made[0])
        self._kept[name] = made

    def update(self, A: typing.Any) -> None:
        """Another matrix of the same size and kind, for the solves to come."""
        if self._size(A) != self.n:
            raise Error(f'A must have {self.n} rows: got {self._size(A)}')
        made: typing.Tuple[typing.Any, typing.Any]
        if isinstance(A, Factored):
            new, made = 'F', (ctypes.pointer(A._blocks), A)
        elif hasattr(A, 'tocsc'):
            sparse = c.columns(A, self.n, 'A')
            new, made = 'C', (ctypes.pointer(sparse[0]), sparse)
        else:
            new, made = 'A', c.matrix(A, self.n, 'A')
        if any(name in self._kept for name in ('A', 'C', 'F') if name != new):
            raise Error('A must stay of its kind: dense, sparse or factored')
        self._give(new, made)

    def solve(self, b: typing.Any, guess: typing.Any = None) -> Solution:
        """Solve for b (n).  guess (n): where to start; None: at the solution before (warm), or at zeros.

        Returns a Solution, also where the problem is not solved; Error where the input makes no sense.
        """
        n, lib, stats = self.n, c.library(), c.Stats()
        if not hasattr(b, '__len__'):
            raise Error(f'b must be numbers in a row: got {b!r}')
        self._give('b', c.vector(b, n, 'b'))
        (x_at, x), (w_at, w) = c.room(n), c.room(n)
        start = guess if guess is not None else self._x if self.warm else None
        if start is not None:
            for i, value in enumerate(c.vector(start, n, 'guess')[1]):
                x[i] = value
        self._ctx.msg = b''
        c.check(self._ctx, lib.perp_lcp_solve(self._ctx, self._made, self._p, self.tol, x_at, w_at, None, stats))
        z = lib.perp_lcp_certificate(self._made)
        reason = lib.perp_reason_name(stats.reason).decode()
        answer = c.handed(x, n)
        self._x = answer.copy()
        return Solution(x=answer, w=c.handed(w, n), status=STATUS.get(reason, 'not solved'), reason=reason,
                        residual=stats.residual, data=stats.data, iterations=stats.iterations,
                        factorizations=stats.factorizations, matvecs=stats.matvecs, work=stats.work, solver=self.solver,
                        by=(stats.by or b'').decode(), certificate=c.numbers(z[:n]) if z else None,
                        message=c.message(self._ctx))

    def solve_all(self, sequence: typing.Iterable[typing.Any]) -> typing.List[Solution]:
        """Solve for each b of a sequence in turn: an (k, n) array, or k vectors."""
        return [self.solve(b) for b in sequence]

    def sensitivity(self, solution: Solution) -> _basis.Sensitivity:
        """Derivatives of a solution by b, and the intervals of b in which its basis stays; a verdict where there are none.

        For the b of the last solve, dense or sparse A, plain bounds or boxed friction: see perp.Sensitivity.
        """
        if 'b' not in self._kept:
            raise Error('solve the problem first: sensitivities are those of the last b')
        return _basis.sensitivity(self._ctx, self._p, solution.x)

    def solutions(self, b: typing.Any) -> _basis.Solutions:
        """All solutions for b (n) of a small problem: n <= 20, dense A, no cones.  See perp.Solutions."""
        self._give('b', c.vector(b, self.n, 'b'))
        return _basis.solutions(self._ctx, self._p, self.tol)

    def forget(self) -> None:
        """The next solve starts from zeros."""
        self._x = None


def lcp(A: typing.Any, b: typing.Any, lo: typing.Any = None, hi: typing.Any = None, *, friction_of: typing.Any = None,
        mu: typing.Any = None, cone: typing.Any = None, guess: typing.Any = None, solver: str = 'auto', tol: float = 1e-10,
        tol_data: typing.Optional[float] = None) -> Solution:
    """Find x with  w = A x + b,  lo <= x <= hi,  and  x = lo => w >= 0,  x = hi => w <= 0,  else w = 0.

    A            n x n: a list of rows, an array, a sparse matrix of scipy, or a perp.Factored
    b            n numbers
    lo, hi       bounds, n numbers or one for all; None: 0 and infinity.  -inf and inf: an equality
    friction_of  n row numbers: row i takes its bounds from row j = friction_of[i], |x_i| <= mu_i x_j; -1: it does not
    mu           n numbers (or one), read where friction_of is not -1
    cone         n of 0 and 1: 1 on the first of two rows that make a circular cone together; None: boxes
    guess        n numbers to start from; None: zeros
    solver       a name with options: "lemke", "pgs:max_iter=100"; perp.list("lcp").  auto chooses
    tol          largest residual of a solution;  tol_data: largest `data`, None: not asked

    Returns a Solution, also where the problem is not solved; Error where the input makes no sense.  It runs in this
    process.  perp.LCP is the same for many b.
    """
    n = len(b) if hasattr(b, '__len__') else -1
    if n < 0:
        raise Error(f'b must be numbers in a row: got {b!r}')
    rows = LCP._size(A)
    if rows != n:
        if hasattr(A, 'shape'):
            raise Error(f'A must be {n} x {n}: its shape is {A.shape}')
        raise Error(f'A must have {n} rows, as many as b has numbers: got {rows}')
    return LCP(A, lo, hi, friction_of=friction_of, mu=mu, cone=cone, solver=solver, tol=tol, tol_data=tol_data).solve(b, guess)
