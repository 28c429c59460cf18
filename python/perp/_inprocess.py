# SPDX-License-Identifier: GPL-3.0-or-later
"""Methods in Python that serve a Simulation in this process: descriptors of C whose functions are those of Python."""
from __future__ import annotations

import ctypes
import math
import types
import typing

from . import _library as c
from ._errors import Error

double, integer, text, pointer = ctypes.c_double, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p
CREATE_LCP = ctypes.CFUNCTYPE(integer, c.ctx_p, integer, pointer, ctypes.POINTER(pointer))
SOLVE_LCP = ctypes.CFUNCTYPE(integer, c.ctx_p, pointer, ctypes.POINTER(c.Lcp), c.c_double_p, c.c_double_p,
                             ctypes.POINTER(c.Stats))
DESTROY = ctypes.CFUNCTYPE(None, pointer)
DERIV = ctypes.CFUNCTYPE(integer, pointer, double, double, c.c_double_p, c.c_double_p, ctypes.c_bool, c.c_double_p, c.c_double_p)
RETRACT = ctypes.CFUNCTYPE(None, pointer, c.c_double_p, c.c_double_p, c.c_double_p)
PROJECT = ctypes.CFUNCTYPE(None, pointer, c.c_double_p)
ROWS = ctypes.CFUNCTYPE(integer, integer)
FITS = ctypes.CFUNCTYPE(integer, c.ctx_p, pointer, integer, pointer)


class Opt(ctypes.Structure):
    _fields_ = [('key', text), ('unit', text), ('help', text), ('type', integer), ('offset', ctypes.c_size_t), ('dflt', double),
                ('min', double), ('max', double), ('flags', ctypes.c_uint), ('choices', ctypes.POINTER(text)), ('text', text)]


class Desc(ctypes.Structure):
    _fields_ = [('name', text), ('summary', text), ('reference', text), ('equation', text), ('opts', ctypes.POINTER(Opt)),
                ('opts_size', ctypes.c_size_t), ('caps', ctypes.c_uint)]


class LcpDesc(ctypes.Structure):
    _fields_ = [('d', Desc), ('create', CREATE_LCP), ('solve', SOLVE_LCP), ('destroy', DESTROY), ('serves', text), ('ties', text),
                ('cost', text), ('counts', text), ('same', text)]


class OdeSys(ctypes.Structure):  # as far as methods read it
    _fields_ = [('nq', integer), ('nv', integer), ('caps', ctypes.c_uint), ('user', pointer), ('deriv', DERIV),
                ('retract', RETRACT), ('difference', pointer), ('dexpinv', pointer), ('project', PROJECT)]


CREATE_ODE = ctypes.CFUNCTYPE(integer, c.ctx_p, ctypes.POINTER(OdeSys), pointer, ctypes.POINTER(pointer))
STEP_ODE = ctypes.CFUNCTYPE(integer, pointer, ctypes.POINTER(OdeSys), double, double, c.c_double_p, c.c_double_p, c.c_double_p,
                            ctypes.POINTER(c.Stats))


class OdeDesc(ctypes.Structure):
    _fields_ = [('d', Desc), ('order', integer), ('stages', integer), ('create', CREATE_ODE), ('step', STEP_ODE),
                ('reset', pointer), ('destroy', DESTROY), ('error_order', integer), ('current_order', pointer),
                ('own_step', pointer), ('between', pointer)]


class Island(ctypes.Structure):
    _fields_ = [('nc', integer), ('joints', integer), ('row_lo', c.c_double_p), ('row_hi', c.c_double_p), ('row_of', c.c_int_p),
                ('row_mu', c.c_double_p), ('row_pair', pointer), ('mu', c.c_double_p), ('lo', c.c_double_p),
                ('F', ctypes.POINTER(c.Blocks)), ('A', c.c_double_p), ('lda', integer), ('diag', c.c_double_p),
                ('b', c.c_double_p), ('mass', double), ('reuse', double), ('place', pointer), ('spare', double)]


CREATE_CONTACT = ctypes.CFUNCTYPE(integer, c.ctx_p, c.c_int_p, pointer, ctypes.POINTER(pointer))
SOLVE_CONTACT = ctypes.CFUNCTYPE(integer, c.ctx_p, pointer, ctypes.POINTER(Island), c.c_double_p, c.c_double_p, pointer)
OBSERVE = ctypes.CFUNCTYPE(None, pointer, pointer, pointer)


class ContactDesc(ctypes.Structure):
    _fields_ = [('d', Desc), ('rows', ROWS), ('fits', FITS), ('create', CREATE_CONTACT), ('solve', SOLVE_CONTACT),
                ('observe', OBSERVE), ('destroy', DESTROY)]


VALUE = ctypes.CFUNCTYPE(double, pointer)


class MetricDesc(ctypes.Structure):
    _fields_ = [('d', Desc), ('unit', text), ('better', text), ('value', VALUE)]


class Plugin(ctypes.Structure):
    _fields_ = [('kind', integer), ('d', pointer)]


# bits of lcp.h; what stands for a dense matrix cannot be declared otherwise
CAPABILITIES = {name: 1 << bit for bit, name in enumerate(
    ['box', 'free', 'friction', 'cone', 'nonsymmetric', 'semidefinite', '', 'pivoting', 'iterative', 'warm-start', '',
     'exhaustive', 'one-structure', 'chooses', 'cone-blocks', 'by-rows']) if name}
TYPES: typing.Dict[str, typing.Tuple[int, typing.Any]] = {'bool': (1, ctypes.c_bool), 'int': (2, integer), 'real': (3, double), 'enum': (4, integer), 'text': (5, ctypes.c_char * 128)}
CONTROL = [  # the rows that all integrators have: perp_ode_control of ode.h
    {'type': 'real', 'key': 'tol', 'default': 0, 'min': 0, 'max': 1, 'open_max': True, 'help': 'Relative error tolerance per step.'},
    {'type': 'real', 'key': 'atol', 'default': 0, 'min': 0, 'max': math.inf, 'help': 'Absolute error tolerance per step.'},
    {'type': 'real', 'key': 'h_min', 'default': 1e-14, 'min': 0, 'max': math.inf, 'open_min': True, 'unit': 's', 'help': 'Shortest step.'},
    {'type': 'real', 'key': 'h_max', 'default': math.inf, 'min': 0, 'max': math.inf, 'open_min': True, 'unit': 's', 'help': 'Longest step.'},
    {'type': 'enum', 'key': 'control', 'default': 0, 'min': 0, 'max': 3, 'choices': ['auto', 'embedded', 'doubling', 'truncation'],
     'help': 'Error estimate.'}]
RAISED = 10  # PERP_ERR_RAISED


class Options:
    """The table of options of a method, and how to read them from the memory of C."""

    def __init__(self, given: typing.Sequence[typing.Dict[str, typing.Any]]) -> None:
        self.given = list(given)
        self.at: typing.List[int] = []
        self.rows = (Opt * (len(given) + 1))()
        self.kept: typing.List[typing.Any] = []
        place = 0
        for row, o in zip(self.rows, given):
            number, kind = TYPES[o['type']]
            align = ctypes.alignment(kind)
            place = (place + align - 1) // align * align
            row.key, row.unit, row.help = o['key'].encode(), o.get('unit', '').encode(), o.get('help', '').encode()
            row.type, row.offset, row.dflt, row.min, row.max = number, place, o['default'], o['min'], o['max']
            row.flags = (1 if o.get('open_min') else 0) | (2 if o.get('open_max') else 0)
            if 'choices' in o:
                self.kept.append((text * (len(o['choices']) + 1))(*[name.encode() for name in o['choices']], None))
                row.choices = self.kept[-1]
            if 'text' in o:
                row.text = o['text'].encode()
            self.at.append(place)
            place += ctypes.sizeof(kind)
        self.size = (place + 7) // 8 * 8

    def read(self, memory: typing.Optional[int]) -> types.SimpleNamespace:
        values = {}
        for o, place in zip(self.given, self.at):
            if o['type'] == 'text':
                v: typing.Any = ctypes.string_at((memory or 0) + place).decode(errors='replace')
            else:
                v = TYPES[o['type']][1].from_address((memory or 0) + place).value
            values[o['key']] = o['choices'][v] if o['type'] == 'enum' else v
        return types.SimpleNamespace(**values)


class Table:
    """The methods of one Simulation, for its context.  What they raise is kept for the step that meets it."""

    def __init__(self) -> None:
        self.made: typing.List[typing.Tuple[int, typing.Any]] = []
        self.kept: typing.List[typing.Any] = []
        self.names: typing.Set[str] = set()
        self.failure: typing.Optional[BaseException] = None
        self.opened: typing.Dict[int, types.SimpleNamespace] = {}
        self.count = 0

    @property
    def failed(self) -> bool:
        return self.failure is not None

    def raised(self) -> typing.Optional[BaseException]:
        failure, self.failure = self.failure, None
        return failure

    def add(self, method: typing.Any) -> None:
        m = getattr(method, 'perp_method', None)
        if m is None:
            raise Error(f'{getattr(method, "__name__", method)} is not declared as a method: @perp.plugin.lcp(...), ode, contact or metric')
        if m['name'] in self.names:
            return
        self.names.add(m['name'])
        options = Options((CONTROL if m['kind'] == 'ode' else []) + m['options'])
        d = Desc(name=m['name'].encode(), summary=m['summary'].encode(), reference=m['reference'].encode(),
                 equation=m['equation'].encode() if m['equation'] else None, opts=options.rows, opts_size=options.size,
                 caps=1 << 30)  # it may allocate
        kind, made = {'lcp': self._lcp, 'ode': self._ode, 'contact': self._contact, 'metric': self._metric}[m['kind']](m, d, options)
        self.made.append((kind, made))
        self.kept += [options, d]

    def register(self, ctx: c.Ctx) -> None:
        if self.made:
            table = (Plugin * (len(self.made) + 1))(*[Plugin(kind, ctypes.addressof(made)) for kind, made in self.made])
            self.kept.append(table)
            c.check(ctx, c.library().perp_register(ctx, table))

    def _open(self, options: Options, memory: typing.Optional[int], ws: typing.Any, **more: typing.Any) -> int:
        self.count += 1
        self.opened[self.count] = opened = options.read(memory)
        opened._more = types.SimpleNamespace(**more)
        ws[0] = self.count
        return 0

    def _close(self, ws: typing.Optional[int]) -> None:
        self.opened.pop(ws or 0, None)

    def _fail(self, ctx: typing.Any, why: BaseException) -> int:
        self.failure = self.failure or why
        if ctx:
            ctx.contents.status, ctx.contents.msg = RAISED, f'{type(why).__name__}: {why}'.encode(errors='replace')[:511]
        return RAISED

    @staticmethod
    def _answer(answer: typing.Any, n: int, stats: typing.Any) -> typing.Any:
        from . import plugin
        if not isinstance(answer, plugin.Answer):
            raise TypeError(f'it must return a perp.plugin.Answer: got {type(answer).__name__}')
        reasons = {c.library().perp_reason_name(i).decode(): i for i in range(-15, 4)}
        if answer.reason not in reasons:
            raise ValueError(f'reason must be one of {", ".join(reasons)}: got {answer.reason!r}')
        x = c.numpy.ascontiguousarray(answer.x, float)
        if x.shape != (n,):
            raise ValueError(f'x must have {n} numbers: its shape is {x.shape}')
        stats.reason, stats.iterations, stats.work = reasons[answer.reason], int(answer.iterations), float(answer.work)
        stats.factorizations, stats.matvecs, stats.fallbacks = answer.factorizations, answer.matvecs, answer.fallbacks
        return x

    def _lcp(self, m: typing.Any, d: Desc, options: Options) -> typing.Tuple[int, typing.Any]:
        from . import plugin
        np = c.numpy
        for name in m['declares']:
            if name not in CAPABILITIES:
                raise Error(f"a solver in Python cannot declare '{name}', but: {', '.join(CAPABILITIES)}")
            d.caps |= CAPABILITIES[name]

        def create(ctx: typing.Any, max_n: int, opts: typing.Optional[int], ws: typing.Any) -> int:
            return self._open(options, opts, ws)

        def solve(ctx: typing.Any, ws: int, lcp: typing.Any, x: typing.Any, z: typing.Any, stats: typing.Any) -> int:
            try:
                p = lcp.contents
                n = p.n

                def array(at: typing.Any, empty: float, kind: typing.Any = float) -> typing.Any:
                    return np.array(at[:n], kind) if at else np.full(n, empty, kind)

                A = np.ctypeslib.as_array(p.A, (n, p.lda)).T[:n].copy() if n else np.zeros((0, 0))
                problem = plugin.Problem(
                    n=n, A=A, b=array(p.b, 0), lo=array(p.lo, 0), hi=array(p.hi, math.inf), mu=array(p.mu, 0),
                    fric_of=array(p.fric_of, -1, np.intc), cone=array(p.cone, 0, np.int8), unit=array(p.unit, 1),
                    contact_of=array(p.contact_of, 0, np.intc) if p.contact_of else None, tol=p.tol, tol_data=p.tol_data,
                    work=p.work, brief=p.brief)
                answer = m['call'](problem, np.array(x[:n]), self.opened[ws])
                c_x = self._answer(answer, n, stats.contents)
                certificate = np.zeros(n) if answer.certificate is None else np.ascontiguousarray(answer.certificate, float)
                for i in range(n):
                    x[i] = c_x[i]
                    if z:
                        z[i] = certificate[i]
                return 0
            except BaseException as why:  # noqa: B902  it must not get lost in C
                return self._fail(ctx, why)

        made = LcpDesc(d=d, create=CREATE_LCP(create), solve=SOLVE_LCP(solve), destroy=DESTROY(self._close),
                       **{k: m[k].encode() for k in ('serves', 'ties', 'cost', 'counts')})
        return c.KIND_LCP, made

    def _ode(self, m: typing.Any, d: Desc, options: Options) -> typing.Tuple[int, typing.Any]:
        from . import plugin
        np = c.numpy
        d.caps |= 1 if m['error_order'] > 0 else 0  # PERP_ODE_EMBEDDED

        class Here(plugin.System):
            def __init__(self, at: typing.Any, h: float) -> None:
                super().__init__(int(at.nq), int(at.nv), bool(at.retract), bool(at.project))
                self._at, self._h = at, h

            def _deriv(self, t: float, q: typing.Any, v: typing.Any, regular: bool) -> typing.Tuple[int, typing.Any, typing.Any]:
                qdot, a, at = np.zeros(self.nq), np.zeros(max(self.nv, 1)), plugin.pointer
                answer = self._at.deriv(self._at.user, t, self._h, at(q), at(v), not regular, at(qdot), at(a))
                return answer, qdot, a[:self.nv]

            def _retract(self, q: typing.Any, dq: typing.Any) -> typing.Any:
                out = np.zeros(self.nq)
                self._at.retract(self._at.user, plugin.pointer(q), plugin.pointer(dq), plugin.pointer(out))
                return out

            def _project(self, q: typing.Any) -> typing.Any:
                out = q.copy()
                self._at.project(self._at.user, plugin.pointer(out))
                return out

        def create(ctx: typing.Any, system: typing.Any, opts: typing.Optional[int], ws: typing.Any) -> int:
            return self._open(options, opts, ws)

        def step(ws: int, system: typing.Any, t: float, h: float, q: typing.Any, v: typing.Any, err: typing.Any,
                 stats: typing.Any) -> int:
            try:
                s = Here(system.contents, h)
                answer = plugin.stepped(m['call'](s, t, h, np.array(q[:s.nq]), np.array(v[:s.nv] if s.nv else []), self.opened[ws]), s,
                                        bool(err) and m['error_order'] > 0)
                for to, values in zip((q, v, err), answer):
                    for i in range(len(values)):
                        to[i] = values[i]
                stats.contents.matvecs += m['stages']
                return 0
            except plugin.Refused as why:
                return why.answer
            except BaseException as why:  # noqa: B902
                self._fail(None, why)
                return 3  # PERP_ODE_FAILED

        made = OdeDesc(d=d, order=m['order'], stages=m['stages'], create=CREATE_ODE(create), step=STEP_ODE(step),
                       destroy=DESTROY(self._close), error_order=m['error_order'])
        return c.KIND_ODE, made

    def _contact(self, m: typing.Any, d: Desc, options: Options) -> typing.Tuple[int, typing.Any]:
        from . import plugin
        np, lib = c.numpy, c.library()
        d.caps |= 1 if m['friction'] else 0  # PERP_CONTACT_FRICTION

        def rows(dim: int) -> int:
            return dim if m['friction'] else 1

        def create(ctx: typing.Any, setup: typing.Any, opts: typing.Optional[int], ws: typing.Any) -> int:
            return self._open(options, opts, ws, r=rows(setup[0]))

        def solve(ctx: typing.Any, ws: int, at: typing.Any, x: typing.Any, slip: typing.Any, count: int) -> int:
            try:
                i, opt = at.contents, self.opened[ws]
                r = opt._more.r
                n = r * i.nc + i.joints
                A = np.zeros((n, n), order='F')
                if i.F:
                    lib.perp_blocks_delassus(i.F, A.ctypes.data_as(c.c_double_p), n, np.zeros(4096).ctypes.data_as(c.c_double_p))
                else:
                    A[:] = np.ctypeslib.as_array(i.A, (n, i.lda)).T[:n]
                lo, hi = np.full(n, -math.inf), np.full(n, math.inf)
                lo[:r * i.nc:r] = i.lo[:i.nc] if i.lo else 0
                if i.row_lo:
                    lo[r * i.nc:] = i.row_lo[:i.joints]
                if i.row_hi:
                    hi[r * i.nc:] = i.row_hi[:i.joints]
                island = plugin.Island(nc=i.nc, r=r, n=n, A=A, b=np.array(i.b[:n]), mu=np.array(i.mu[:i.nc]), lo=lo, hi=hi)
                stats = c.Stats(residual=math.nan, data=math.nan)
                answer = self._answer(m['call'](island, np.array(x[:n]), opt), n, stats)
                if not np.isfinite(answer).all():
                    raise ValueError('the impulses are not finite')
                for k in range(n):
                    x[k] = answer[k]
                if stats.reason == 2:
                    stats.reason = 1  # exact: solved
                lib.perp_contact_count_solve(count, m['name'].encode(), stats)
                return 0
            except BaseException as why:  # noqa: B902
                return self._fail(ctx, why)

        def fits(ctx: typing.Any, opts: typing.Any, dim: int, lcp: typing.Any) -> int:
            return 0

        def observe(ws: typing.Any, observer: typing.Any, user: typing.Any) -> None:
            pass

        made = ContactDesc(d=d, rows=ROWS(rows), fits=FITS(fits), create=CREATE_CONTACT(create), solve=SOLVE_CONTACT(solve),
                           observe=OBSERVE(observe), destroy=DESTROY(self._close))
        return c.KIND_CONTACT, made

    def _metric(self, m: typing.Any, d: Desc, options: Options) -> typing.Tuple[int, typing.Any]:
        from . import plugin
        np, lib = c.numpy, c.library()
        d.caps = 4 if m['motion'] else 0  # PERP_METRIC_MOTION
        d.opts, d.opts_size = None, 0

        def value(measure: int) -> float:
            try:
                rows = c.c_double_p()
                name, figure = text(), double()
                nq, nv = integer(), integer()
                states = lib.perp_session_motion(measure, nq, nv, rows) if m['motion'] else 0
                if states < 0:
                    raise MemoryError('no memory for the motion of the run')
                width = 1 + nq.value + nv.value
                motion = np.ctypeslib.as_array(rows, (states, width)).copy() if states else np.zeros((0, width))
                figures: typing.Dict[str, float] = {}
                while lib.perp_session_figure(measure, len(figures), name, figure):
                    figures[(name.value or b'').decode()] = figure.value
                run = plugin.Run(t=motion[:, 0], q=motion[:, 1:1 + nq.value], v=motion[:, 1 + nq.value:], figures=figures)
                return plugin.measured(m['call'](run))
            except BaseException as why:  # noqa: B902
                self._fail(None, why)
                return math.nan

        return c.KIND_METRIC, MetricDesc(d=d, unit=m['unit'].encode(), better=m['better'].encode(), value=VALUE(value))
