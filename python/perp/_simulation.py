# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulations that are stepped from Python, in this process."""
from __future__ import annotations

import ctypes
import dataclasses
import json
import math
import os
import typing
import weakref

from . import _gradient, _inprocess
from . import _library as c
from ._errors import Error
from ._scene import Scene

KINDS = 'formulation', 'ode', 'kkt', 'lcp', 'stab', 'contact', 'engine'
TIMES = 'mean', 'mean, J in the middle', 'start', 'end'  # perp_forces_time
CHUNK = 512  # steps between looks at signals of Python
SECONDS = {'s': 1.0, 'ms': 1e-3, 'us': 1e-6}


class _Handle:
    """Owns the session in C; arrays that look at its memory hold it."""

    def __init__(self, at: typing.Any, keep: typing.Any) -> None:
        self.at = ctypes.c_void_p(ctypes.addressof(at.contents))
        self.face = at.contents
        self.keep = keep  # what C points to
        self.end = weakref.finalize(self, c.library().perp_session_close, self.at)
        self.end.atexit = False  # memory goes with the process

    def array(self, address: typing.Optional[int], n: int) -> typing.Any:
        """The n numbers there, without a copy; what looks at them keeps them."""
        if not c.HAVE_NUMPY:
            return (ctypes.c_double * n).from_address(address or 0)[:] if n else []
        if n == 0:
            return c.numpy.zeros(0)
        whole: typing.Any = (ctypes.c_double * n).from_address(address or 0)
        whole.owner = self
        view = c.numpy.frombuffer(whole, dtype=float)
        view.flags.writeable = False
        return view


@dataclasses.dataclass
class Contacts:
    """The contacts of the last step, n of them.  Arrays of numpy, or lists where there is none.

    body     (n, 2) bodies a and b, -1: the world            shape   (n, 2) their shapes
    id       (n) the same number in two steps: the same contact
    point    (n, 3) m, world, halfway between the surfaces   normal  (n, 3) unit vector from a to b
    gap      (n) m, negative: penetration                    mu      (n) coefficient of friction
    impulse  (n, 3) N s, on body b, world axes, of the step  force   (n, 3) N, the same over the length of the step
    """
    body: typing.Any
    shape: typing.Any
    id: typing.Any
    point: typing.Any
    normal: typing.Any
    gap: typing.Any
    mu: typing.Any
    impulse: typing.Any
    force: typing.Any

    def __len__(self) -> int:
        return len(self.gap)


@dataclasses.dataclass
class Forces:
    """Forces of the last step.  Arrays of numpy, or lists where there is none; nan: not known.

    t        s, the time that they belong to;  of: "mean" (of the step), "start", "end"
    force    (joints, 3) N, of each joint on its body b, world axes
    torque   (joints, 3) N m, about point     point (joints, 3) m, where they act
    unique   (joints) False: redundant constraints share the force, and this is that of the least norm
    drive    (drives) N or N m, of motors, servos and limits along their coordinate
    pairs    {(a, b): (force (3) N on b, torque (3) N m, point (3) m)}: all contacts of two bodies
    """
    t: float
    of: str
    force: typing.Any
    torque: typing.Any
    point: typing.Any
    unique: typing.Any
    drive: typing.Any
    pairs: typing.Dict[typing.Tuple[int, int], typing.Tuple[typing.Any, typing.Any, typing.Any]]


def seconds(value: typing.Union[float, str, None]) -> float:
    """A time as perp.simulate takes it: a number in s, or "1 ms"."""
    if value is None:
        return 0.0
    if isinstance(value, str):
        for unit in ('ms', 'us', 's'):
            if value.strip().endswith(unit):
                try:
                    return float(value.strip()[:-len(unit)]) * SECONDS[unit]
                except ValueError:
                    break
        raise Error(f'a time is a number in s, or a text such as "1 ms": got {value!r}')
    return float(value)


def _method(value: typing.Any) -> bytes:
    return b'' if value is None else str(getattr(value, 'perp_method', {'name': value})['name']).encode()


class Simulation:
    """A scene that is simulated step by step, in this process, with the methods and the bits of `perp simulate`.

        sim = perp.Simulation("stack:boxes=3", lcp="dantzig", h=1e-3)
        sim.step()                     one step;  sim.step(100);  sim.advance(0.5): until t = 0.5 s
        sim.t, sim.q, sim.v            the state

    scene        a perp.Scene, or what it takes
    formulation, ode, kkt, lcp, stab, contact     methods by name with options, None: the default; or functions
                 that are declared with perp.plugin.lcp, ode, contact.  engine: another engine in place of all
    metrics      functions that are declared with perp.plugin.metric, for sim.metrics; True: those of perp alone
    h            step [s] or "1 ms"; adaptive methods start with it.  None: that of the scene
    t_end        end of the run [s], which the scene names; steps may go beyond it
    plugins      files of solvers of one's own, FILE.so or FILE.py, or functions declared with perp.plugin
    record       record the motion, for perp.view

    q (nq) and v (nv) are read-only arrays of numpy that look at the state, without a copy: they change with each step.
    Of a body in space 7 and 6 numbers: x, y, z, quaternion (w, x, y, z); velocity, angular velocity in the axes of the
    body; in the plane 3 and 3: x, y, angle.  m, rad, s.

    A step that fails raises perp.Error with the reason; the state is then the last good one.
    """

    def __init__(self, scene: typing.Any, *, formulation: typing.Any = None, ode: typing.Any = None, kkt: typing.Any = None,
                 lcp: typing.Any = None, stab: typing.Any = None, contact: typing.Any = None,
                 engine: typing.Optional[str] = None, h: typing.Union[float, str, None] = None,
                 t_end: typing.Union[float, str, None] = None, plugins: typing.Any = (), record: bool = False,
                 metrics: typing.Any = False) -> None:
        self.scene = scene if isinstance(scene, Scene) else Scene(scene)
        given = {'formulation': formulation, 'ode': ode, 'kkt': kkt, 'lcp': lcp, 'stab': stab, 'contact': contact,
                 'engine': engine}
        self._h, self._t_end, self._record = seconds(h), seconds(t_end), record
        self._methods = {kind: _method(value) for kind, value in given.items()}
        lib = c.library()
        self._ctx = c.Ctx()
        lib.perp_ctx_init(self._ctx)
        self._own = _inprocess.Table()
        with c.opening:
            if os.environ.get('PERP_PLUGIN_PATH'):
                c.share()
            c.check(self._ctx, lib.perp_session_register(self._ctx))
            for one in [plugins] if isinstance(plugins, (str, os.PathLike)) or callable(plugins) else plugins:
                if callable(one):
                    self._own.add(one)
                else:
                    if os.fspath(one).endswith('.so'):
                        c.share()
                    c.check(self._ctx, lib.perp_session_load(self._ctx, os.fspath(one).encode()))
        wanted = [] if isinstance(metrics, bool) else [metrics] if callable(metrics) else list(metrics)
        for value in [*given.values(), *wanted]:
            if callable(value):
                self._own.add(value)
        self._measured = metrics is True or bool(wanted)
        self._own.register(self._ctx)
        self._controllers: typing.List[typing.Callable[['Simulation'], object]] = []
        self._forces: typing.Dict[int, typing.List[typing.Callable[..., typing.Any]]] = {}
        self._raised: typing.Optional[BaseException] = None
        self.nq = self.nv = self.bodies = self.joints = self.drives = 0
        self._c_step: typing.Callable[..., int] = _closed
        self._gradient: typing.Optional[_gradient.Gradient] = None
        self._open()

    # ---- life

    def _open(self) -> None:
        lib, text = c.library(), self.scene.text
        pushed = bool(self._controllers)
        request = c.SessionRequest(scene=self.scene.name.encode(), text=text.encode() if text is not None else None,
                                   h=self._h, t_end=self._t_end, pushed=pushed, **self._methods)
        keep: typing.List[typing.Any] = [request, self._ctx, self._own]
        if self._forces:
            flags = (ctypes.c_byte * (max(self._forces) + 1 + self.bodies))(*[i in self._forces for i in range(self.bodies)])
            request.forced = ctypes.cast(flags, ctypes.POINTER(ctypes.c_byte))
            request.force = c.FORCE(_forcing(weakref.ref(self)))
            keep += [flags, request.force]
        at = ctypes.POINTER(c.Session)()
        with c.opening:
            status = lib.perp_session_open(self._ctx, request, at)
        if status != 0:
            raise self._error()
        self._handle = handle = _Handle(at, keep)
        self._at, self._face, self._c_step = handle.at, handle.face, lib.perp_session_step
        f = self._face
        self.h, self.t_end = float(f.h), float(f.t_end)  # as used
        self.nq, self.nv, self.bodies, self.joints, self.drives = f.nq, f.nv, f.bodies, f.joints, f.drives
        self._q, self._v = handle.array(f.q, f.nq), handle.array(f.v, f.nv)
        self._push: typing.Any = (ctypes.c_double * 6 * f.bodies).from_address(f.push) if pushed else None
        self._hooked = bool(self._controllers or self._forces)
        self._gradient = None
        self._begin()
        if self._measured:
            c.check(self._ctx, lib.perp_session_measure(self._at, True))
        if self._record:
            self.record()

    def _begin(self) -> None:
        """A history starts here."""
        self._start: typing.Tuple[float, typing.List[float], typing.List[float]] = (self.t, list(self.q), list(self.v))
        self._calls: typing.List[typing.Tuple[int, float]] = [(0, math.inf)]  # (steps so far, t_max from there on)
        self._t_max = math.inf

    def _error(self) -> BaseException:
        """What went wrong in C, or in a function of Python that it called."""
        raised, self._raised = self._raised or self._own.raised(), None
        return raised if raised is not None else Error(c.message(self._ctx))

    def close(self) -> None:
        """Give the memory back now, rather than with the last reference.  Arrays of it must no longer be used."""
        self._c_step = _closed
        self._handle.end()

    def __enter__(self) -> 'Simulation':
        return self

    def __exit__(self, *why: object) -> None:
        pass

    # ---- steps

    def step(self, n: int = 1) -> None:
        """Make n steps.  Error: a step failed.  A loop in C where no function of Python takes part."""
        if self._t_max != math.inf:
            self._note(math.inf)
        if self._hooked or n > CHUNK:
            self._many(n, math.inf)
        elif self._c_step(self._at, n, math.inf):
            raise self._error()

    def advance(self, t: float) -> None:
        """Steps until the time t [s], where the last one is cut: as `perp simulate --t-end`."""
        if not t >= self.t:
            raise Error(f'cannot advance from t = {self.t:.9g} s back to {t:.9g} s: sim.restart or sim.state go back')
        self._note(float(t))
        self._many(sys_maxsize, float(t))

    def run(self) -> 'Simulation':
        """Advance to t_end.  Returns the simulation."""
        self.advance(self.t_end)
        return self

    def _many(self, n: int, t_max: float) -> None:
        size = 1 if self._controllers else CHUNK
        face, step = self._face, self._c_step
        while n > 0:
            before, now = face.steps, min(n, size)
            if self._push is not None:
                if face.t >= t_max or abs(face.t - t_max) <= 1e-10 * max(1.0, abs(t_max)) < math.inf:
                    break  # as the library decides
                ctypes.memset(self._push, 0, ctypes.sizeof(self._push))
                for f in self._controllers:
                    f(self)
            if step(self._at, now, t_max):
                raise self._error()
            if self._raised is not None or self._own.failed:
                raise self._error()
            if face.steps - before < now:
                break  # t_max is reached
            n -= now

    def _note(self, t_max: float) -> None:
        self._t_max = t_max
        self._calls.append((self.steps, t_max))

    def restart(self, t: typing.Optional[float] = None, q: typing.Any = None, v: typing.Any = None) -> None:
        """Start anew at the time t [s] with q (nq) and v (nv); what is not given stays as it is.

        Methods forget what they remember of the steps before (warm starts, histories of multistep methods), so that the
        motion may differ from one without a restart in its last digits.
        """
        (qp, _), (vp, _) = (_state(q if q is not None else self.q, self.nq, 'q'), _state(v if v is not None else self.v, self.nv, 'v'))
        c.check(self._ctx, c.library().perp_session_restart(self._at, self.t if t is None else float(t), qp, vp))
        self._begin()

    # ---- the state

    @property
    def t(self) -> float:
        """The time, s."""
        return float(self._face.t)

    @property
    def q(self) -> typing.Any:
        """(nq) positions: a read-only array that looks at the state."""
        return self._q if c.HAVE_NUMPY else self._handle.array(self._face.q, self.nq)

    @property
    def v(self) -> typing.Any:
        """(nv) velocities: a read-only array that looks at the state."""
        return self._v if c.HAVE_NUMPY else self._handle.array(self._face.v, self.nv)

    @property
    def steps(self) -> int:
        """Steps since the start, or the last restart."""
        return int(self._face.steps)

    def _same(self) -> typing.Dict[str, typing.Any]:
        return {'scene': self.scene.name, 'text': self.scene.text, 'methods': self.methods, 'h': self.h,
                'controllers': len(self._controllers), 'forces': sorted(self._forces)}

    @property
    def state(self) -> bytes:
        """All that the steps to come depend on, as bytes: for sim.state = ..., of this or of another Simulation of the same
        scene with the same methods, in this process or another one.

        Going on from it gives the same bits as if there had been no interruption, with every method.  For that the bytes
        hold the start and the steps since then, and setting them makes these steps again, functions of Python among them:
        it takes the time of these steps.  After sim.restart() there are none.
        """
        t, q, v = self._start
        told = {'schema': 'perp-state/1', **self._same(), 'start': [t, q, v],
                'calls': [[n, None if math.isinf(t_max) else t_max] for n, t_max in self._calls],
                'steps': self.steps, 'now': [self.t, list(self.q), list(self.v)]}
        return json.dumps(told, separators=(',', ':')).encode()

    @state.setter
    def state(self, saved: bytes) -> None:
        try:
            told = json.loads(saved)
            if told['schema'] != 'perp-state/1':
                raise KeyError
        except (TypeError, ValueError, KeyError):
            raise Error('that is no state of a perp.Simulation: sim.state gives one') from None
        for key, mine in self._same().items():
            if told.get(key) != json.loads(json.dumps(mine)):
                raise Error(f'the state is one of another simulation: its {key} is {told.get(key)!r}, not {mine!r}')
        t, q, v = told['start']
        self.restart(t, q, v)
        ends = [n for n, _ in told['calls'][1:]] + [told['steps']]
        for (_, t_max), end in zip(told['calls'], ends):
            t_max = math.inf if t_max is None else t_max
            if t_max != self._t_max:
                self._note(t_max)
            if end > self.steps:
                self._many(end - self.steps, t_max)
        if [self.t, list(self.q), list(self.v)] != told['now']:
            raise Error('the state cannot be reached again: a function of Python, or a method, depends on more than the state')

    # ---- what there is to see

    @property
    def methods(self) -> typing.Dict[str, str]:
        """The methods that are used, with their options, by kind."""
        said = {kind: c.library().perp_session_part(self._at, kind.encode()).decode() for kind in KINDS}
        return {kind: name for kind, name in said.items() if name}

    @property
    def energy(self) -> float:
        """Mechanical energy, J: kinetic + potential."""
        return sum(self.energies)

    @property
    def energies(self) -> typing.Tuple[float, float]:
        """(kinetic, potential) energy, J."""
        k, p = ctypes.c_double(), ctypes.c_double()
        c.library().perp_session_energy(self._at, k, p)
        return k.value, p.value

    @property
    def contacts(self) -> Contacts:
        """Contacts of the last step: see perp.Contacts.  A copy."""
        f = self._face
        n, dt = f.n_contacts, f.t - f.t_start
        rows = [f.contact[i] for i in range(n)]
        impulse = [list(f.impulse[3 * i:3 * i + 3]) if f.impulse else [math.nan] * 3 for i in range(n)]
        values: typing.Dict[str, typing.Any] = {
            'body': [list(r.body) for r in rows], 'shape': [list(r.shape) for r in rows], 'id': [r.id for r in rows],
            'point': [[(r.p[0][k] + r.p[1][k]) / 2 for k in range(3)] for r in rows], 'normal': [list(r.n) for r in rows],
            'gap': [r.gap for r in rows], 'mu': [r.mu for r in rows], 'impulse': impulse,
            'force': [[x / dt for x in row] for row in impulse]}
        if c.HAVE_NUMPY:
            width = {'body': 2, 'shape': 2, 'point': 3, 'normal': 3, 'impulse': 3, 'force': 3}
            kinds = {'body': 'i4', 'shape': 'i4', 'id': 'u8'}
            values = {k: c.numpy.array(x, dtype=kinds.get(k, 'f8')).reshape((n, width[k]) if k in width else (n,))
                      for k, x in values.items()}
        return Contacts(**values)

    @property
    def forces(self) -> Forces:
        """Forces of joints, drives and contacts in the last step: see perp.Forces.  A copy.  Error: the methods do not
        tell, or there was no step yet."""
        at = c.library().perp_session_forces(self._at)
        if not at:
            raise self._error()
        f, face, nan = at.contents, self._face, math.nan

        def rows(name: str) -> typing.Any:
            made = [list(getattr(f.joint[i], name)) if f.joints_known else [nan] * 3 for i in range(f.joints)]
            return c.numpy.array(made).reshape(-1, 3) if c.HAVE_NUMPY else made

        unique = [bool(f.unique[i]) for i in range(f.joints)]
        drive = [f.drive[i] if f.drives_known else nan for i in range(f.drives)]
        pairs = {(p.a, p.b): (c.numbers(p.force), c.numbers(p.torque), c.numbers(p.point))
                 for p in (f.pair[i] for i in range(f.n_pairs))}
        return Forces(t=face.t_start if f.time == 2 else face.t, of=TIMES[f.time], force=rows('force'), torque=rows('torque'),
                      point=rows('point'), unique=c.numpy.array(unique, dtype=bool) if c.HAVE_NUMPY else unique,
                      drive=c.numbers(drive), pairs=pairs)

    @property
    def metrics(self) -> typing.Dict[str, float]:
        """The metrics of the motion since the start or the last restart, by name, in SI: those of perp.list("metrics") that are
        defined here (no comparisons with a reference solution, which sim.truth has, and no times), and those given.  Error:
        the simulation was made without metrics=..."""
        values: typing.Dict[str, float] = {}
        name, value, i = ctypes.c_char_p(), ctypes.c_double(), 0
        while True:
            if c.library().perp_session_metric(self._at, i, name, value) != 0:
                raise self._error()
            if self._own.failed:
                raise self._error()
            if name.value is None:
                return values
            if not math.isnan(value.value):
                values[name.value.decode()] = value.value
            i += 1

    def truth(self, t: typing.Optional[float] = None) -> typing.Tuple[typing.Any, typing.Any]:
        """(q, v) of the exact or reference solution at the time t [s], None: now.  Error: the scene has none."""
        (qp, q), (vp, v) = c.room(self.nq), c.room(self.nv)
        if c.library().perp_session_truth(self._at, self.t if t is None else t, qp, vp) != 0:
            raise self._error()
        return c.handed(q, self.nq), c.handed(v, self.nv)

    def name(self, kind: str, i: int) -> typing.Optional[str]:
        """The name of the i-th "body", "joint" or "drive"; None: it has none."""
        said = c.library().perp_session_name(self._at, kind.encode(), i)
        return said.decode() if said else None

    def index(self, kind: str, name: typing.Union[str, int]) -> int:
        """The number of the "body", "joint" or "drive" of that name."""
        n = {'body': self.bodies, 'joint': self.joints, 'drive': self.drives}[kind]
        if isinstance(name, str):
            for i in range(n):
                if self.name(kind, i) == name:
                    return i
            names = [known for known in (self.name(kind, i) for i in range(n)) if known]
            raise Error(f'there is no {kind} {name!r}: {", ".join(names) if names else "none of them has a name; they have numbers"}')
        if not 0 <= name < n:
            raise Error(f'there is no {kind} {name}: the scene has {n}')
        return int(name)

    # ---- forces and controllers in Python

    def on_control(self, f: typing.Callable[['Simulation'], object]) -> typing.Callable[['Simulation'], object]:
        """Call f(sim) before each step, where it may call sim.apply and sim.drive.  Before the first step only.

        What it applies acts during that step: a controller with a zero-order hold.  Also as a decorator.
        """
        self._before_the_first_step('on_control')
        self._controllers.append(f)
        self._open()
        return f

    def on_force(self, f: typing.Callable[..., typing.Any], body: typing.Union[int, str] = 0) -> typing.Callable[..., typing.Any]:
        """f(t, x, R, v, w) is a force on a body, whenever the method evaluates forces.  Before the first step only.

        t [s]; x (3) m, R (3, 3) from body to world, v (3) m/s of the centre of mass, w (3) rad/s in body axes.  It returns
        the force (3) in N, world axes, at the centre of mass, or a pair of that and the torque (3) in N m, body axes.
        It must depend on its arguments alone.
        """
        self._before_the_first_step('on_force')
        self._forces.setdefault(self.index('body', body), []).append(f)
        self._open()
        return f

    def _before_the_first_step(self, what: str) -> None:
        if self.steps > 0:
            raise Error(f'{what} comes before the first step: make the simulation anew')

    def apply(self, body: typing.Union[int, str], force: typing.Any = None, torque: typing.Any = None,
              point: typing.Any = None) -> None:
        """In a controller: act on a body in the coming step.

        force (3) N, world axes, at `point` (3) m in body axes (None: the centre of mass); torque (3) N m, world axes.
        In the plane force has 2 numbers and torque is one.
        """
        i, push = self.index('body', body), self._pushable()
        R, plane = self.rotation(i), self._face.dim == 2
        f: typing.List[float] = [*(force if force is not None else (0, 0, 0)), 0, 0][:3]
        tau: typing.List[float] = [0, 0, 0] if torque is None else [0, 0, float(torque)] if plane and not hasattr(torque, '__len__') else list(torque)
        if point is not None:
            s = [*point, 0][:3]
            r = [sum(R[a][b] * s[b] for b in range(3)) for a in range(3)]
            tau = [tau[a] + r[(a + 1) % 3] * f[(a + 2) % 3] - r[(a + 2) % 3] * f[(a + 1) % 3] for a in range(3)]
        for a in range(3):
            push[i][a] += f[a]
            push[i][3 + a] += sum(R[b][a] * tau[b] for b in range(3))

    def drive(self, joint: typing.Union[int, str], size: float) -> None:
        """In a controller: the torque [N m] of a hinge, or the force [N] of a slider, on its body b along its axis, and the
        opposite on a, in the coming step."""
        self._pushable()
        if c.library().perp_session_push_joint(self._at, self.index('joint', joint), float(size)) != 0:
            raise self._error()

    def _pushable(self) -> typing.Any:
        if self._push is None:
            raise Error('sim.apply and sim.drive act in a controller: sim.on_control(f)')
        return self._push

    def rotation(self, body: typing.Union[int, str]) -> typing.Any:
        """(3, 3) from the axes of a body to those of the world."""
        i = self.index('body', body)
        if self._face.dim == 2:
            a = self.q[3 * i + 2]
            R = [[math.cos(a), -math.sin(a), 0.0], [math.sin(a), math.cos(a), 0.0], [0.0, 0.0, 1.0]]
        else:
            w, x, y, z = (float(u) for u in self.q[7 * i + 3:7 * i + 7])
            R = [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                 [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                 [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]]
        return c.numpy.array(R) if c.HAVE_NUMPY else R

    # ---- derivatives

    def gradient(self, *wrt: typing.Any) -> _gradient.Gradient:
        """Derivatives of the state in the steps to come, by the state at present, parameters and controls.

            g = sim.gradient("q", "v", ("mass", "cart"), "gravity")
            sim.step(100)
            g.dq, g.dv, g.worst

        wrt: "q", "v" (all tangent coordinates), "mass" (kg, of all bodies), "gravity" (m/s^2), "friction" (of all contacts),
        "force" (a generalized force on each velocity, N or N m), "target" (of all drives); or pairs for one of them, as
        ("mass", 2), ("v", 0), ("friction", shape), ("target", "elbow").  None: no derivatives any more.

        The steps stay the same to the last bit.  Error: the methods have no derivative; the message
        names those that have.
        """
        flat, columns = _gradient.request(self, wrt)
        at = ctypes.c_void_p()
        if c.library().perp_session_gradient(self._at, flat, len(columns), at) != 0:
            self._gradient = None
            raise self._error()
        self._gradient = _gradient.Gradient(self, at, columns)
        return self._gradient

    # ---- to look at

    def record(self, on: bool = True) -> None:
        """Record each state from now on, for perp.view: at most 600, evenly over the time.  False: no longer."""
        if c.library().perp_session_record(self._at, on) != 0:
            raise self._error()

    def page(self, path: typing.Union[str, 'os.PathLike[str]']) -> None:
        """Write the page of `perp view`, with what was recorded, or with the present state alone."""
        if c.library().perp_session_page(self._at, os.fspath(path).encode()) != 0:
            raise self._error()

    def __repr__(self) -> str:
        if not hasattr(self, '_at'):
            return f'{self.scene}: a simulation that could not be made'
        used = ', '.join(f'{k} {v}' for k, v in self.methods.items())
        return f'{self.scene}: t = {self.t:.6g} s after {self.steps} steps with {used}'


sys_maxsize = 2 ** 62


def _closed(*words: object) -> int:
    raise Error('the simulation is closed')


def _state(values: typing.Any, n: int, what: str) -> typing.Tuple[typing.Any, typing.Any]:
    try:
        return c.vector(values, n, what)
    except Error as why:
        raise Error(str(why).replace(', as many as b', '')) from None


def _forcing(of: 'weakref.ref[Simulation]') -> typing.Callable[..., None]:
    """The function that C calls for forces on a body."""
    def force(user: typing.Any, body: int, t: float, state: typing.Any, f: typing.Any) -> None:
        sim = of()
        if sim is None or sim._raised is not None:
            return
        s = state.contents
        R = [[s.R[i + 3 * k] for k in range(3)] for i in range(3)]
        x, v, w = c.numbers(s.x), c.numbers(s.v), c.numbers(s.w)
        try:
            for call in sim._forces[body]:
                answer = call(t, x, c.numpy.array(R) if c.HAVE_NUMPY else R, v, w)
                if len(answer) == 2 and hasattr(answer[0], '__len__'):
                    values = [*[*answer[0], 0][:3], *(answer[1] if hasattr(answer[1], '__len__') else (0, 0, answer[1]))]
                else:
                    values = [*answer, 0][:3]
                for i, one in enumerate(values):
                    f[i] += float(one)
        except BaseException as why:  # noqa: B902  it must not get lost in C
            sim._raised = why
            for i in range(6):
                f[i] = math.nan
    return force
