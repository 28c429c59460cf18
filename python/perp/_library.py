# SPDX-License-Identifier: GPL-3.0-or-later
"""libperp by ctypes: the structures of its headers that cross the border, and numbers as C has them.

tests/python/layout.py compares the structures with those of the C compiler.
"""
from __future__ import annotations

import array
import ctypes
import functools
import os
import threading
import typing

from . import _where
from ._errors import Error

if typing.TYPE_CHECKING:
    import numpy as numpy
    HAVE_NUMPY = True
else:
    try:
        import numpy as numpy
        HAVE_NUMPY = True
    except ImportError:  # lists go in and come out
        numpy = None
        HAVE_NUMPY = False

ABI = 17  # PERP_ABI of core.h
c_double_p = ctypes.POINTER(ctypes.c_double)
c_int_p = ctypes.POINTER(ctypes.c_int)
double, integer, text, pointer = ctypes.c_double, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p


class Ctx(ctypes.Structure):
    _fields_ = [('status', integer), ('line', integer), ('file', text), ('func', text), ('msg', ctypes.c_char * 512),
                ('trace', pointer), ('trace_user', pointer), ('tables', pointer * 32), ('n_tables', integer),
                ('own', ctypes.c_uint32), ('threads', integer), ('memory', double), ('open', pointer), ('opened', pointer),
                ('need', pointer)]


class Spec(ctypes.Structure):
    _fields_ = [('d', pointer), ('opts', pointer)]


class Stats(ctypes.Structure):
    _fields_ = [('reason', integer), ('iterations', integer), ('factorizations', integer), ('matvecs', ctypes.c_int64),
                ('fallbacks', integer), ('residual', double), ('data', double), ('by', text), ('work', double)]


class Columns(ctypes.Structure):
    _fields_ = [('n', integer), ('start', c_int_p), ('row', c_int_p), ('value', c_double_p), ('rstart', c_int_p),
                ('col', c_int_p), ('rvalue', c_double_p)]


class Blocks(ctypes.Structure):
    _fields_ = [('nv', integer), ('m', integer), ('nb', integer), ('nc', integer), ('bptr', c_int_p), ('mptr', c_int_p),
                ('cptr', c_int_p), ('jptr', c_int_p), ('jblk', c_int_p), ('joff', c_int_p), ('jgrp', c_int_p),
                ('tptr', c_int_p), ('tsub', c_int_p), ('M', c_double_p), ('Minv', c_double_p), ('J', c_double_p),
                ('s', c_double_p), ('diag', pointer), ('flat', c_double_p), ('threads', integer)]


class Lcp(ctypes.Structure):
    _fields_ = [('n', integer), ('A', c_double_p), ('lda', integer), ('F', ctypes.POINTER(Blocks)),
                ('C', ctypes.POINTER(Columns)), ('b', c_double_p), ('lo', c_double_p), ('hi', c_double_p),
                ('fric_of', c_int_p), ('mu', c_double_p), ('cone', ctypes.POINTER(ctypes.c_byte)),
                ('contact_of', c_int_p), ('frozen', ctypes.c_bool), ('tol', double), ('tol_data', double),
                ('unit', c_double_p), ('brief', ctypes.c_bool), ('work', double),
                ('known', pointer), ('part', double)]


class LcpSensitivity(ctypes.Structure):
    _fields_ = [('sets', pointer), ('db', c_double_p), ('db_down', c_double_p), ('kind', c_int_p), ('dbound', pointer),
                ('dmu', pointer), ('least', c_double_p), ('most', c_double_p), ('least_row', pointer), ('most_row', pointer),
                ('verdict', integer), ('row', integer), ('free_rows', integer), ('weak_rows', integer), ('rcond', double)]


class LcpPart(ctypes.Structure):
    _fields_ = [('count', integer), ('member', c_int_p), ('dimension', integer), ('bounded', ctypes.c_bool),
                ('known', ctypes.c_bool), ('ray', pointer)]


class LcpSolutions(ctypes.Structure):
    _fields_ = [('n', integer), ('count', integer), ('lambda', c_double_p), ('w', c_double_p), ('sets', pointer), ('judgement', pointer),
                ('verdict', pointer), ('rejected', integer), ('complete', ctypes.c_bool), ('parts', integer),
                ('part', ctypes.POINTER(LcpPart))]


class Contact(ctypes.Structure):
    _fields_ = [('shape', integer * 2), ('body', integer * 2), ('id', ctypes.c_uint64), ('p', double * 3 * 2), ('n', double * 3),
                ('gap', double), ('mu', double), ('mu_dynamic', double), ('e', double)]


class BodyState(ctypes.Structure):
    _fields_ = [('mass', double), ('x', double * 3), ('R', double * 9), ('v', double * 3), ('w', double * 3)]


class Reaction(ctypes.Structure):
    _fields_ = [('point', double * 3), ('force', double * 3), ('torque', double * 3), ('axes', double * 9),
                ('local_force', double * 3), ('local_torque', double * 3)]


class PairForce(ctypes.Structure):
    _fields_ = [('a', integer), ('b', integer), ('force', double * 3), ('torque', double * 3), ('point', double * 3),
                ('weight', double)]


class StepForces(ctypes.Structure):
    _fields_ = [('model', pointer), ('time', integer), ('joints', integer), ('drives', integer), ('bodies', integer),
                ('joint', ctypes.POINTER(Reaction)), ('unique', ctypes.POINTER(ctypes.c_bool)), ('drive', c_double_p),
                ('n_pairs', integer), ('pair', ctypes.POINTER(PairForce)), ('joints_known', ctypes.c_bool),
                ('drives_known', ctypes.c_bool), ('contacts_known', ctypes.c_bool), ('scratch', pointer)]


class GradientRow(ctypes.Structure):
    _fields_ = [('cause', integer), ('body', integer * 2), ('drive', integer), ('margin', double), ('acts', ctypes.c_bool)]


class GradientReport(ctypes.Structure):
    _fields_ = [('verdict', integer), ('worst', integer), ('steps', ctypes.c_int64), ('counts', ctypes.c_int64 * 6),
                ('n_rows', integer), ('row', ctypes.POINTER(GradientRow)), ('active', integer)]


FORCE = ctypes.CFUNCTYPE(None, pointer, integer, double, ctypes.POINTER(BodyState), c_double_p)


class SessionRequest(ctypes.Structure):
    _fields_ = [('scene', text), ('text', text), ('formulation', text), ('ode', text), ('kkt', text), ('lcp', text),
                ('stab', text), ('contact', text), ('engine', text), ('h', double), ('t_end', double),
                ('pushed', ctypes.c_bool), ('forced', ctypes.POINTER(ctypes.c_byte)), ('force', FORCE), ('user', pointer)]


class Session(ctypes.Structure):
    _fields_ = [('t', double), ('t_start', double), ('h', double), ('t_end', double), ('q', pointer), ('v', pointer),
                ('q_start', pointer), ('v_start', pointer), ('push', pointer), ('contact', ctypes.POINTER(Contact)),
                ('impulse', c_double_p), ('steps', ctypes.c_int64), ('nq', integer), ('nv', integer), ('dim', integer),
                ('bodies', integer), ('joints', integer), ('drives', integer), ('n_contacts', integer), ('reason', integer)]


KIND_LCP, KIND_ODE, KIND_CONTACT, KIND_METRIC = 5, 3, 7, 9  # PERP_KIND_lcp, ...
ctx_p = ctypes.POINTER(Ctx)
FUNCTIONS: typing.Dict[str, typing.Tuple[typing.Any, typing.List[typing.Any]]] = {  # name: (result, arguments)
    'perp_ctx_init': (None, [ctx_p]),
    'perp_register_solvers': (integer, [ctx_p]),
    'perp_register': (integer, [ctx_p, pointer]),
    'perp_reason_name': (text, [integer]),
    'perp_spec_parse': (integer, [ctx_p, integer, text, ctypes.POINTER(Spec)]),
    'perp_spec_free': (None, [ctypes.POINTER(Spec)]),
    'perp_blocks_delassus': (None, [ctypes.POINTER(Blocks), c_double_p, integer, c_double_p]),
    'perp_contact_count_solve': (None, [pointer, text, ctypes.POINTER(Stats)]),
    'perp_blocks_transpose': (None, [integer, integer, c_int_p, c_int_p, c_int_p, c_int_p, c_int_p]),
    'perp_lcp_create': (integer, [ctx_p, ctypes.POINTER(Spec), integer, integer, ctypes.POINTER(pointer)]),
    'perp_lcp_solve': (integer, [ctx_p, pointer, ctypes.POINTER(Lcp), double, c_double_p, c_double_p, pointer,
                                 ctypes.POINTER(Stats)]),
    'perp_lcp_destroy': (None, [pointer]),
    'perp_lcp_certificate': (c_double_p, [pointer]),
    'perp_lcp_scales': (None, [ctypes.POINTER(Lcp), c_double_p, c_double_p]),
    'perp_lcp_close': (double, [ctypes.POINTER(Lcp), double, c_double_p, c_double_p, c_double_p]),
    'perp_lcp_merit': (double, [ctypes.POINTER(Lcp), c_double_p, c_double_p, c_double_p]),
    'perp_lcp_sensitivity_find': (integer, [ctx_p, ctypes.POINTER(Lcp), c_double_p, double, ctypes.POINTER(LcpSensitivity)]),
    'perp_lcp_solutions_find': (integer, [ctx_p, ctypes.POINTER(Lcp), double, double, ctypes.POINTER(LcpSolutions)]),
    'perp_lcp_solutions_free': (None, [ctypes.POINTER(LcpSolutions)]),
    'perp_session_register': (integer, [ctx_p]),
    'perp_session_load': (integer, [ctx_p, text]),
    'perp_session_open': (integer, [ctx_p, ctypes.POINTER(SessionRequest), ctypes.POINTER(ctypes.POINTER(Session))]),
    'perp_session_close': (None, [pointer]),
    'perp_session_step': (integer, [pointer, ctypes.c_int64, double]),
    'perp_session_restart': (integer, [pointer, double, c_double_p, c_double_p]),
    'perp_session_energy': (None, [pointer, c_double_p, c_double_p]),
    'perp_session_forces': (ctypes.POINTER(StepForces), [pointer]),
    'perp_session_part': (text, [pointer, text]),
    'perp_session_name': (text, [pointer, text, integer]),
    'perp_session_push_joint': (integer, [pointer, integer, double]),
    'perp_session_truth': (integer, [pointer, double, c_double_p, c_double_p]),
    'perp_session_gradient': (integer, [pointer, c_int_p, integer, ctypes.POINTER(pointer)]),
    'perp_gradient_dq': (c_double_p, [pointer]),
    'perp_gradient_dv': (c_double_p, [pointer]),
    'perp_gradient_report_of': (ctypes.POINTER(GradientReport), [pointer]),
    'perp_gradient_sides': (c_int_p, [pointer]),
    'perp_gradient_pull': (None, [pointer, c_double_p, c_double_p, c_double_p]),
    'perp_gradient_hold': (None, [pointer, integer, ctypes.c_bool]),
    'perp_gradient_reset': (integer, [ctx_p, pointer]),
    'perp_gradient_verdict_name': (text, [integer]),
    'perp_gradient_cause_name': (text, [integer]),
    'perp_session_measure': (integer, [pointer, ctypes.c_bool]),
    'perp_session_metric': (integer, [pointer, integer, ctypes.POINTER(text), c_double_p]),
    'perp_session_motion': (ctypes.c_int64, [pointer, c_int_p, c_int_p, ctypes.POINTER(c_double_p)]),
    'perp_session_figure': (ctypes.c_bool, [pointer, integer, ctypes.POINTER(text), c_double_p]),
    'perp_session_record': (integer, [pointer, ctypes.c_bool]),
    'perp_session_page': (integer, [pointer, text]),
}
opening = threading.Lock()  # scene files and plug-ins are kept in lists of the process


@functools.lru_cache(None)
def library() -> ctypes.CDLL:
    """The library, loaded once.  Error: it is not there, or of another version."""
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')  # read when OpenBLAS is loaded; small matrices are all there are
    if _where.HOME:
        os.environ.setdefault('PERP_HOME', str(_where.HOME))  # where data of scenes are, and this package
    path = _where.library()
    try:
        lib = ctypes.CDLL(path)
    except OSError as why:
        raise Error(f'cannot load {path}: {why}; PERP_LIBRARY names another one') from None
    lib.perp_abi.restype = ctypes.c_int
    if lib.perp_abi() != ABI:
        raise Error(f'{path} has interface version {lib.perp_abi()}, this Python package has {ABI}: install both again')
    for name, (result, arguments) in FUNCTIONS.items():
        try:
            function = getattr(lib, name)
        except AttributeError:
            raise Error(f'{path} has no function {name}: it is older than this Python package; install both again') from None
        function.restype, function.argtypes = result, arguments
    return lib


def share() -> None:
    """Plug-ins in C call functions of the library.  Only before the first of them: the libraries that it needs come along, and
    others of their kind, as those of numpy, should not meet them."""
    ctypes.CDLL(library()._name, mode=ctypes.RTLD_GLOBAL | os.RTLD_NOLOAD)


def context() -> Ctx:
    """A context that knows the solvers of perp."""
    ctx = Ctx()
    library().perp_ctx_init(ctx)
    check(ctx, library().perp_register_solvers(ctx))
    return ctx


def check(ctx: Ctx, status: int) -> None:
    if status != 0:
        raise Error(message(ctx))


def message(ctx: Ctx) -> str:
    return str(ctx.msg.decode(errors='replace'))


# Arrays live as long as the objects that hold their memory: those below return (pointer, what to keep).

def vector(values: typing.Any, n: int, what: str, kind: str = 'd') -> typing.Tuple[typing.Any, typing.Any]:
    """n numbers of a list or an array; one number stands for n; kind: d double, i int, b signed char.  An array of numpy
    that has these numbers is not copied."""
    ctype: typing.Any = {'d': ctypes.c_double, 'i': ctypes.c_int, 'b': ctypes.c_byte}[kind]
    if hasattr(values, 'ndim') and values.ndim == 0:
        values = values.item()
    if isinstance(values, (int, float)):
        values = [values] * n
    if not hasattr(values, '__len__'):
        raise Error(f'{what} must be {n} numbers: got {values!r}')
    if len(values) != n:
        raise Error(f'{what} must have {n} numbers, as many as b: got {len(values)}')
    if HAVE_NUMPY:
        try:
            given = numpy.ascontiguousarray(values, dtype=ctype)
        except (TypeError, ValueError) as why:
            raise Error(f'{what} must be numbers: {why}') from None
        if given.shape != (n,):
            raise Error(f'{what} must have {n} numbers in a row: its shape is {given.shape}')
        return given.ctypes.data_as(ctypes.POINTER(ctype)), given
    try:
        kept = array.array(kind, values)
    except (TypeError, ValueError, OverflowError) as why:
        raise Error(f'{what} must be numbers: {why}') from None
    return ctypes.cast((ctype * max(n, 1)).from_buffer(kept if n else array.array(kind, [0])), ctypes.POINTER(ctype)), kept


def matrix(A: typing.Any, n: int, what: str) -> typing.Tuple[typing.Any, typing.Any]:
    """n x n numbers, column-major, of a list of rows or an array.  One in the order of Fortran is not copied."""
    if not hasattr(A, '__len__') or len(A) != n:
        raise Error(f'{what} must have {n} rows, as many as b has numbers: got {len(A) if hasattr(A, "__len__") else A!r}')
    if HAVE_NUMPY:
        try:
            given = numpy.asfortranarray(A, dtype=float)
        except (TypeError, ValueError) as why:
            raise Error(f'{what} must be numbers: {why}') from None
        if given.size == 0 and n == 0:
            given = given.reshape(0, 0)
        if given.shape != (n, n):
            raise Error(f'{what} must be {n} x {n}: its shape is {given.shape}')
        return given.ctypes.data_as(c_double_p), given
    for i, row in enumerate(A):
        if not hasattr(row, '__len__') or len(row) != n:
            raise Error(f'{what} must be {n} x {n}: row {i} has {len(row) if hasattr(row, "__len__") else "no"} numbers')
    try:
        kept = array.array('d', [A[i][j] for j in range(n) for i in range(n)] or [0.0])
    except (TypeError, ValueError) as why:
        raise Error(f'{what} must be numbers: {why}') from None
    return ctypes.cast((ctypes.c_double * max(n * n, 1)).from_buffer(kept), c_double_p), kept


def columns(A: typing.Any, n: int, what: str) -> typing.Tuple[Columns, typing.List[typing.Any]]:
    """A sparse matrix of scipy (or one with its tocsc and tocsr)."""
    if A.shape != (n, n):
        raise Error(f'{what} must be {n} x {n}: its shape is {A.shape}')
    keep, parts = [], []
    for by in (A.tocsc(), A.tocsr()):
        by = by.copy()
        by.sum_duplicates()
        by.sort_indices()
        kinds: typing.Tuple[typing.Tuple[typing.Any, typing.Any], ...] = (
            (by.indptr, ctypes.c_int), (by.indices, ctypes.c_int), (by.data, ctypes.c_double))
        for values, ctype in kinds:
            keep.append(numpy.ascontiguousarray(values, dtype=ctype))
            parts.append(keep[-1].ctypes.data_as(ctypes.POINTER(ctype)))
    return Columns(n, *parts), keep


def room(n: int) -> typing.Tuple[typing.Any, typing.Any]:
    """n zeros that C writes: (pointer, array of numpy or of ctypes)."""
    if HAVE_NUMPY:
        made = numpy.zeros(n)
        return made.ctypes.data_as(c_double_p), made
    kept = (ctypes.c_double * max(n, 1))()
    return ctypes.cast(kept, c_double_p), kept


def handed(values: typing.Any, n: int) -> typing.Any:
    """What was written there: the array itself, or a list."""
    return values if HAVE_NUMPY else list(values)[:n]


def numbers(values: typing.Any) -> typing.Any:
    """A copy of numbers of C: a numpy array, or a list."""
    return numpy.array(list(values)) if HAVE_NUMPY else list(values)
