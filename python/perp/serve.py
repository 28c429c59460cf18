# SPDX-License-Identifier: GPL-3.0-or-later
"""python3 -m perp.serve FILE.py: the process behind a plug-in in Python.  perp starts it, with a socket as descriptor 3.

A request is op, id, size and so many bytes; an answer is raised, 0, size and so many bytes, the line of an exception
where raised is 1, of one for want of memory where it is 2.  The other end is experiments/plugins/python_process.c and python_solver.c.
"""
from __future__ import annotations

import json
import math
import os
import socket
import struct
import sys
import traceback
import types
import typing

DESCRIBE, CREATE, SOLVE, DESTROY = range(4)
REQUEST, ANSWER = struct.Struct('=IIQ'), struct.Struct('=iiQ')
PROBLEM, SOLUTION = struct.Struct('=iiddd'), struct.Struct('=32sqqqqd')
# the arrays that a problem may have, in their order: bit, name, type, what stands for one that is not there
PARTS: typing.List[typing.Tuple[int, str, str, typing.Optional[float]]] = [(1, 'lo', 'f8', 0.0), (2, 'hi', 'f8', math.inf), (4, 'mu', 'f8', 0.0), (8, 'unit', 'f8', 1.0),
         (16, 'fric_of', 'i4', -1), (32, 'contact_of', 'i4', None), (64, 'cone', 'i1', 0)]
BRIEF = 128  # no array: a problem of a time step
# the names of core.h that a method may end with
REASONS = ['converged', 'exact', 'regularized', 'max-iter', 'stalled', 'ray', 'cycled', 'singular', 'not-finite', 'infeasible',
           'inaccurate', 'invalid-state', 'unsuited', 'diverged', 'sweeps-done']


def line_of(why: BaseException, file: str) -> str:
    """One line: where in the file, which exception, what it says."""
    at = [frame for frame in traceback.extract_tb(why.__traceback__) if frame.filename == file]
    if isinstance(why, SyntaxError) and why.filename == file:
        place = f':{why.lineno}'
    else:
        place = f':{at[-1].lineno}' if at else ''
    what = ' '.join(str(why.msg if isinstance(why, SyntaxError) else why).split())
    return f'{file}{place}: {type(why).__name__}{": " if what else ""}{what}'


def load(file: str) -> typing.List[typing.Dict[str, typing.Any]]:
    """Run the file as a module that others of its folder can be imported from: its solvers."""
    sys.path.insert(0, os.path.dirname(file))
    try:
        from . import plugin
    except ImportError as why:
        if why.name != 'numpy':
            raise
        raise RuntimeError(f'{sys.executable} has no numpy: apt-get install python3-numpy, or name another Python with '
                           'PERP_PYTHON') from None
    module = types.ModuleType('perp_plugin')
    module.__file__ = file
    sys.modules[module.__name__] = module
    with open(file, 'rb') as f:
        exec(compile(f.read(), file, 'exec'), module.__dict__)
    if not plugin.SOLVERS:
        raise RuntimeError('it declares no solver: @perp.plugin.lcp(...) does (docs/how-to/plugins.md)')
    return plugin.SOLVERS


def finite(values: typing.Dict[str, typing.Any]) -> typing.Dict[str, typing.Any]:
    """Numbers for JSON, which has no infinity: as perp writes them."""
    return {k: ('inf' if v > 0 else '-inf') if isinstance(v, float) and math.isinf(v) else v for k, v in values.items()}


def describe(solvers: typing.List[typing.Dict[str, typing.Any]]) -> bytes:
    told = [{k: v for k, v in s.items() if k != 'solve'} for s in solvers]
    return json.dumps([{**s, 'options': [finite(o) for o in s['options']]} for s in told]).encode()


def problem(data: bytes) -> typing.Tuple[typing.Any, typing.Any]:
    """A plugin.Problem and the guess, of the bytes of a request."""
    import numpy as np
    from . import plugin
    n, parts, tol, tol_data, work = PROBLEM.unpack_from(data)
    at = PROBLEM.size

    def take(kind: str, count: int) -> typing.Any:
        nonlocal at
        values = np.frombuffer(data, kind, count, at).copy()
        at += values.nbytes
        return values

    A = take('f8', n * n).reshape((n, n), order='F')
    b, x = take('f8', n), take('f8', n)
    arrays = {name: take(kind, n) if parts & bit else None if empty is None else np.full(n, empty, kind)
              for bit, name, kind, empty in PARTS}
    brief = bool(parts & BRIEF)
    return plugin.Problem(n=n, A=A, b=b, tol=tol, tol_data=tol_data, brief=brief, work=work, **arrays), x


def solution(answer: typing.Any, n: int) -> bytes:
    """The bytes of an Answer."""
    import numpy as np
    from . import plugin
    if not isinstance(answer, plugin.Answer):
        raise TypeError(f'solve must return a perp.plugin.Answer: got {type(answer).__name__}')
    if answer.reason not in REASONS:
        raise ValueError(f'reason must be one of {", ".join(REASONS)}: got {answer.reason!r}')
    x = np.ascontiguousarray(answer.x, float)
    z = np.zeros(n) if answer.certificate is None else np.ascontiguousarray(answer.certificate, float)
    for what, values in (('x', x), ('certificate', z)):
        if values.shape != (n,):
            raise ValueError(f'{what} must have {n} numbers: its shape is {values.shape}')
    counts = [int(c) for c in (answer.iterations, answer.factorizations, answer.matvecs, answer.fallbacks)]
    if min(counts) < 0 or max(counts) > 2 ** 31 - 1 or not 0 <= answer.work < math.inf:
        raise ValueError(f'iterations, factorizations, matvecs, fallbacks and work must be counts: got {counts}, {answer.work}')
    return SOLUTION.pack(answer.reason.encode(), *counts, answer.work) + x.tobytes() + z.tobytes()


class Server:
    def __init__(self, file: str) -> None:
        self.file = file
        self.solvers: typing.List[typing.Dict[str, typing.Any]] = []
        self.made: typing.Dict[int, typing.Tuple[typing.Callable[..., typing.Any], types.SimpleNamespace]] = {}

    def create(self, id: int, words: bytes) -> bytes:
        from . import _library, plugin
        from ._errors import Error
        try:
            _library.library()  # for merit: not in the time of the first solve
        except Error:
            pass  # merit says so, where it is called
        asked = json.loads(words)
        s = self.solvers[asked['solver']]
        read = {o['key']: plugin.READ[o['type']](asked['options'][o['key']]) for o in s['options']}
        self.made[id] = s['solve'], types.SimpleNamespace(**read)
        return b''

    def solve(self, id: int, data: bytes) -> bytes:
        solve, options = self.made[id]
        p, x = problem(data)
        return solution(solve(p, x, options), p.n)

    def answer(self, op: int, id: int, data: bytes) -> bytes:
        if not self.solvers:
            self.solvers = load(self.file)
        if op == DESCRIBE:
            return describe(self.solvers)
        if op == CREATE:
            return self.create(id, data)
        if op == SOLVE:
            return self.solve(id, data)
        self.made.pop(id, None)
        return b''


def main() -> None:
    file = sys.argv[1]
    stream = socket.socket(fileno=3).makefile('rwb')
    os.set_inheritable(3, False)
    sys.argv[:] = [file]
    server = Server(file)
    while True:
        head = stream.read(REQUEST.size)
        if len(head) < REQUEST.size:
            return  # nobody asks any more
        op, id, size = REQUEST.unpack(head)
        data = stream.read(size)
        if len(data) < size:
            return
        raised = 0
        try:
            answer = server.answer(op, id, data)
        except (Exception, SystemExit) as why:
            raised, answer = 2 if isinstance(why, MemoryError) else 1, line_of(why, file).encode(errors='replace')
            if op == SOLVE:  # where it happened: for the log of the cell
                traceback.print_exception(type(why), why, why.__traceback__.tb_next if why.__traceback__ else None)
        stream.write(ANSWER.pack(raised, 0, len(answer)) + answer)
        stream.flush()


if __name__ == '__main__':
    main()
