# SPDX-License-Identifier: GPL-3.0-or-later
"""libperp by ctypes: the structures of core.h and lcp.h that cross the border, and numbers as C has them.

tests/python/layout.py compares the structures with those of the C compiler.
"""
import array
import ctypes
import functools
import os

from . import _where
from ._errors import Error

try:
    import numpy
except ImportError:  # lists go in and come out
    numpy = None

ABI = 15  # PERP_ABI of core.h
c_double_p = ctypes.POINTER(ctypes.c_double)
c_int_p = ctypes.POINTER(ctypes.c_int)


class Ctx(ctypes.Structure):
    _fields_ = [('status', ctypes.c_int), ('line', ctypes.c_int), ('file', ctypes.c_char_p), ('func', ctypes.c_char_p),
                ('msg', ctypes.c_char * 512), ('trace', ctypes.c_void_p), ('trace_user', ctypes.c_void_p),
                ('tables', ctypes.c_void_p * 32), ('n_tables', ctypes.c_int), ('own', ctypes.c_uint32),
                ('threads', ctypes.c_int), ('memory', ctypes.c_double), ('open', ctypes.c_void_p),
                ('opened', ctypes.c_void_p), ('need', ctypes.c_void_p)]


class Spec(ctypes.Structure):
    _fields_ = [('d', ctypes.c_void_p), ('opts', ctypes.c_void_p)]


class Stats(ctypes.Structure):
    _fields_ = [('reason', ctypes.c_int), ('iterations', ctypes.c_int), ('factorizations', ctypes.c_int),
                ('matvecs', ctypes.c_int64), ('fallbacks', ctypes.c_int), ('residual', ctypes.c_double),
                ('data', ctypes.c_double), ('by', ctypes.c_char_p), ('work', ctypes.c_double)]


class Columns(ctypes.Structure):
    _fields_ = [('n', ctypes.c_int), ('start', c_int_p), ('row', c_int_p), ('value', c_double_p), ('rstart', c_int_p),
                ('col', c_int_p), ('rvalue', c_double_p)]


class Lcp(ctypes.Structure):
    _fields_ = [('n', ctypes.c_int), ('A', c_double_p), ('lda', ctypes.c_int), ('F', ctypes.c_void_p),
                ('C', ctypes.POINTER(Columns)), ('b', c_double_p), ('lo', c_double_p), ('hi', c_double_p),
                ('fric_of', c_int_p), ('mu', c_double_p), ('cone', ctypes.POINTER(ctypes.c_byte)),
                ('contact_of', c_int_p), ('frozen', ctypes.c_bool), ('tol', ctypes.c_double),
                ('tol_data', ctypes.c_double), ('unit', c_double_p), ('brief', ctypes.c_bool), ('work', ctypes.c_double)]


KIND_LCP = 5  # PERP_KIND_lcp
FUNCTIONS = {  # name: (result, arguments)
    'perp_ctx_init': (None, [ctypes.POINTER(Ctx)]),
    'perp_register_solvers': (ctypes.c_int, [ctypes.POINTER(Ctx)]),
    'perp_reason_name': (ctypes.c_char_p, [ctypes.c_int]),
    'perp_status_name': (ctypes.c_char_p, [ctypes.c_int]),
    'perp_spec_parse': (ctypes.c_int, [ctypes.POINTER(Ctx), ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(Spec)]),
    'perp_spec_free': (None, [ctypes.POINTER(Spec)]),
    'perp_lcp_create': (ctypes.c_int, [ctypes.POINTER(Ctx), ctypes.POINTER(Spec), ctypes.c_int, ctypes.c_int,
                                       ctypes.POINTER(ctypes.c_void_p)]),
    'perp_lcp_solve': (ctypes.c_int, [ctypes.POINTER(Ctx), ctypes.c_void_p, ctypes.POINTER(Lcp), ctypes.c_double,
                                      c_double_p, c_double_p, ctypes.c_void_p, ctypes.POINTER(Stats)]),
    'perp_lcp_destroy': (None, [ctypes.c_void_p]),
    'perp_lcp_certificate': (c_double_p, [ctypes.c_void_p]),
    'perp_lcp_scales': (None, [ctypes.POINTER(Lcp), c_double_p, c_double_p]),
    'perp_lcp_close': (ctypes.c_double, [ctypes.POINTER(Lcp), ctypes.c_double, c_double_p, c_double_p, c_double_p]),
    'perp_lcp_merit': (ctypes.c_double, [ctypes.POINTER(Lcp), c_double_p, c_double_p, c_double_p]),
}


@functools.lru_cache(None)
def library():
    """The library, loaded once.  Error: it is not there, or of another version."""
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')  # read when OpenBLAS is loaded; small matrices are all there are
    path = _where.library()
    try:
        lib = ctypes.CDLL(path)
    except OSError as why:
        raise Error(f'cannot load {path}: {why}; PERP_LIBRARY names another one') from None
    lib.perp_abi.restype = ctypes.c_int
    if lib.perp_abi() != ABI:
        raise Error(f'{path} has interface version {lib.perp_abi()}, this Python package has {ABI}: install both again')
    for name, (result, arguments) in FUNCTIONS.items():
        getattr(lib, name).restype, getattr(lib, name).argtypes = result, arguments
    return lib


def context():
    """A context that knows the solvers of perp."""
    ctx = Ctx()
    library().perp_ctx_init(ctx)
    check(ctx, library().perp_register_solvers(ctx))
    return ctx


def check(ctx, status):
    if status != 0:
        raise Error(ctx.msg.decode(errors='replace'))


# Arrays live as long as the objects that hold their memory: those below return (pointer, what to keep).

def vector(values, n, what, kind='d'):
    """n numbers of a list or an array; one number stands for n; kind: d double, i int, b signed char."""
    ctype = {'d': ctypes.c_double, 'i': ctypes.c_int, 'b': ctypes.c_byte}[kind]
    if hasattr(values, 'ndim') and values.ndim == 0:
        values = values.item()
    if isinstance(values, (int, float)):
        values = [values] * n
    if not hasattr(values, '__len__'):
        raise Error(f'{what} must be {n} numbers: got {values!r}')
    if len(values) != n:
        raise Error(f'{what} must have {n} numbers, as many as b: got {len(values)}')
    if numpy is not None:
        try:
            kept = numpy.ascontiguousarray(values, dtype=ctype)
        except (TypeError, ValueError) as why:
            raise Error(f'{what} must be numbers: {why}') from None
        if kept.shape != (n,):
            raise Error(f'{what} must have {n} numbers in a row: its shape is {kept.shape}')
        return kept.ctypes.data_as(ctypes.POINTER(ctype)), kept
    try:
        kept = array.array(kind, values)
    except (TypeError, ValueError, OverflowError) as why:
        raise Error(f'{what} must be numbers: {why}') from None
    return ctypes.cast((ctype * max(n, 1)).from_buffer(kept if n else array.array(kind, [0])), ctypes.POINTER(ctype)), kept


def matrix(A, n, what):
    """n x n numbers, column-major, of a list of rows or an array."""
    if not hasattr(A, '__len__') or len(A) != n:
        raise Error(f'{what} must have {n} rows, as many as b has numbers: got {len(A) if hasattr(A, "__len__") else A!r}')
    if numpy is not None:
        try:
            kept = numpy.asfortranarray(A, dtype=float)
        except (TypeError, ValueError) as why:
            raise Error(f'{what} must be numbers: {why}') from None
        if kept.size == 0 and n == 0:
            kept = kept.reshape(0, 0)
        if kept.shape != (n, n):
            raise Error(f'{what} must be {n} x {n}: its shape is {kept.shape}')
        return kept.ctypes.data_as(c_double_p), kept
    for i, row in enumerate(A):
        if not hasattr(row, '__len__') or len(row) != n:
            raise Error(f'{what} must be {n} x {n}: row {i} has {len(row) if hasattr(row, "__len__") else "no"} numbers')
    try:
        kept = array.array('d', [A[i][j] for j in range(n) for i in range(n)] or [0.0])
    except (TypeError, ValueError) as why:
        raise Error(f'{what} must be numbers: {why}') from None
    return ctypes.cast((ctypes.c_double * max(n * n, 1)).from_buffer(kept), c_double_p), kept


def columns(A, n, what):
    """A sparse matrix of scipy (or one with its tocsc and tocsr)."""
    if A.shape != (n, n):
        raise Error(f'{what} must be {n} x {n}: its shape is {A.shape}')
    keep, parts = [], []
    for by in (A.tocsc(), A.tocsr()):
        by = by.copy()
        by.sum_duplicates()
        by.sort_indices()
        for values, ctype in ((by.indptr, ctypes.c_int), (by.indices, ctypes.c_int), (by.data, ctypes.c_double)):
            keep.append(numpy.ascontiguousarray(values, dtype=ctype))
            parts.append(keep[-1].ctypes.data_as(ctypes.POINTER(ctype)))
    return Columns(n, *parts), keep


def numbers(array_of_c):
    """What is handed out: a numpy array, or a list."""
    values = list(array_of_c)
    return numpy.array(values) if numpy is not None else values
