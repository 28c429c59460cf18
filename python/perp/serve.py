# SPDX-License-Identifier: GPL-3.0-or-later
"""python3 -m perp.serve FILE.py: the process behind a plug-in in Python.  perp starts it, with a socket as descriptor 3.

A request is op, id, size and so many bytes; an answer is raised, question, size and so many bytes, the line of an exception
where raised is 1, of one for want of memory where it is 2.  An integrator asks for derivatives: an answer with question > 0 asks
back, and a request REPLY answers that.  The other end is experiments/plugins/python_process.c, python_solver.c and python_stepper.c.
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

DESCRIBE, CREATE, SOLVE, DESTROY, STEP, CONTACT, METRIC, REPLY = range(8)
DERIVATIVE, RETRACT, PROJECT = 1, 2, 3
RETRACTS, PROJECTS, WANTS_ERROR = 1, 2, 4
STATE, ISLAND, RUN = struct.Struct('=iiiidd'), struct.Struct('=iiii'), struct.Struct('=qqqii')
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
    """Run the file as a module that others of its folder can be imported from: its methods."""
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
    if not plugin.METHODS:
        raise RuntimeError('it declares no method: @perp.plugin.lcp(...), ode, contact or metric does (docs/how-to/plugins.md)')
    return plugin.METHODS


def finite(values: typing.Dict[str, typing.Any]) -> typing.Dict[str, typing.Any]:
    """Numbers for JSON, which has no infinity: as perp writes them."""
    return {k: ('inf' if v > 0 else '-inf') if isinstance(v, float) and math.isinf(v) else v for k, v in values.items()}


def describe(methods: typing.List[typing.Dict[str, typing.Any]]) -> bytes:
    told = [{k: v for k, v in m.items() if k != 'call'} for m in methods]
    return json.dumps([{**m, 'options': [finite(o) for o in m['options']]} for m in told]).encode()


class Reader:
    """Arrays of the bytes of a request, in turn; copies."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    def take(self, count: int, kind: str = 'f8') -> typing.Any:
        import numpy as np
        values = np.frombuffer(self.data, kind, count, self.at).copy()
        self.at += values.nbytes
        return values


def problem(data: bytes) -> typing.Tuple[typing.Any, typing.Any]:
    """A plugin.Problem and the guess, of the bytes of a request."""
    import numpy as np
    from . import plugin
    n, parts, tol, tol_data, work = PROBLEM.unpack_from(data)
    take = Reader(data, PROBLEM.size).take

    A = take(n * n).reshape((n, n), order='F')
    b, x = take(n), take(n)
    arrays = {name: take(n, kind) if parts & bit else None if empty is None else np.full(n, empty, kind)
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


def island(data: bytes) -> typing.Tuple[typing.Any, typing.Any]:
    """A plugin.Island and the guess, of the bytes of a request."""
    from . import plugin
    nc, r, n, _ = ISLAND.unpack_from(data)
    take = Reader(data, ISLAND.size).take
    A = take(n * n).reshape((n, n), order='F')
    b, x, mu, lo, hi = take(n), take(n), take(nc), take(n), take(n)
    return plugin.Island(nc=nc, r=r, n=n, A=A, b=b, mu=mu, lo=lo, hi=hi), x


def measured(data: bytes) -> typing.Any:
    """A plugin.Run, of the bytes of a request."""
    from . import plugin
    states, size, count, nq, nv = RUN.unpack_from(data)
    reader = Reader(data, RUN.size)
    rows = reader.take(states * (1 + nq + nv)).reshape((states, 1 + nq + nv))
    names = data[reader.at:reader.at + size].decode().split('\n')[:count]
    reader.at += size
    return plugin.Run(t=rows[:, 0], q=rows[:, 1:1 + nq], v=rows[:, 1 + nq:], figures=dict(zip(names, reader.take(count).tolist())))


class Ended(BaseException):
    """Nobody asks any more."""


class Server:
    def __init__(self, file: str, stream: typing.Any) -> None:
        self.file, self.stream = file, stream
        self.methods: typing.List[typing.Dict[str, typing.Any]] = []
        self.made: typing.Dict[int, typing.Tuple[typing.Callable[..., typing.Any], types.SimpleNamespace]] = {}

    def create(self, id: int, words: bytes) -> bytes:
        from . import _library, plugin
        from ._errors import Error
        try:
            _library.library()  # for merit: not in the time of the first solve
        except Error:
            pass  # merit says so, where it is called
        asked = json.loads(words)
        m = self.methods[asked['method']]
        read = {o['key']: plugin.READ[o['type']](asked['options'][o['key']]) for o in m['options']}
        self.made[id] = m['call'], types.SimpleNamespace(**read)
        return b''

    def step(self, id: int, data: bytes) -> bytes:
        import numpy as np
        from . import plugin
        nq, nv, flags, _, t, h = STATE.unpack_from(data)
        take = Reader(data, STATE.size).take
        q, v = take(nq), take(nv)
        call, options = self.made[id]
        ask = self.ask

        class Asked(plugin.System):
            def _deriv(self, t: float, q: typing.Any, v: typing.Any, regular: bool) -> typing.Tuple[int, typing.Any, typing.Any]:
                said = ask(DERIVATIVE, struct.pack('=dd', t, regular) + q.tobytes() + v.tobytes())
                return int(said[0]), said[1:1 + nq], said[1 + nq:]

            def _retract(self, q: typing.Any, dq: typing.Any) -> typing.Any:
                return ask(RETRACT, q.tobytes() + dq.tobytes())

            def _project(self, q: typing.Any) -> typing.Any:
                return ask(PROJECT, q.tobytes())

        system = Asked(nq, nv, bool(flags & RETRACTS), bool(flags & PROJECTS))
        try:
            answer = plugin.stepped(call(system, t, h, q, v, options), system, bool(flags & WANTS_ERROR))
        except plugin.Refused as why:
            return struct.pack('=d', why.answer)
        return np.concatenate([[0.0], *answer]).tobytes()

    def answer(self, op: int, id: int, data: bytes) -> bytes:
        if not self.methods:
            self.methods = load(self.file)
        if op == DESCRIBE:
            return describe(self.methods)
        if op == CREATE:
            return self.create(id, data)
        if op == STEP:
            return self.step(id, data)
        if op == METRIC:
            from . import plugin
            return struct.pack('=d', plugin.measured(self.methods[id]['call'](measured(data))))
        if op == DESTROY:
            self.made.pop(id, None)
            return b''
        call, options = self.made[id]
        p, x = problem(data) if op == SOLVE else island(data)
        return solution(call(p, x, options), p.n)

    def ask(self, question: int, data: bytes) -> typing.Any:
        """Ask back in the midst of a request: the numbers of the reply.  Other requests may come before it."""
        import numpy as np
        self.stream.write(ANSWER.pack(0, question, len(data)) + data)
        self.stream.flush()
        return np.frombuffer(self.serve(), float).copy()

    def serve(self) -> bytes:
        """Answer requests until a reply comes, which is handed back, or nobody asks any more."""
        while True:
            head = self.stream.read(REQUEST.size)
            if len(head) < REQUEST.size:
                raise Ended
            op, id, size = REQUEST.unpack(head)
            data = self.stream.read(size)
            if len(data) < size:
                raise Ended
            if op == REPLY:
                return bytes(data)
            raised = 0
            try:
                answer = self.answer(op, id, data)
            except (Exception, SystemExit) as why:
                raised, answer = 2 if isinstance(why, MemoryError) else 1, line_of(why, self.file).encode(errors='replace')
                if op not in (DESCRIBE, CREATE, DESTROY):  # where it happened: for the log of the cell
                    traceback.print_exception(type(why), why, why.__traceback__.tb_next if why.__traceback__ else None)
            self.stream.write(ANSWER.pack(raised, 0, len(answer)) + answer)
            self.stream.flush()


def main() -> None:
    file = sys.argv[1]
    stream = socket.socket(fileno=3).makefile('rwb')
    os.set_inheritable(3, False)
    sys.argv[:] = [file]
    try:
        Server(file, stream).serve()
    except Ended:
        pass


if __name__ == '__main__':
    main()
