# SPDX-License-Identifier: GPL-3.0-or-later
"""What the program perp does, in a process of its own: whatever happens there, this process goes on."""
from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import subprocess
import tempfile
import typing

from . import _tables, _where
from ._errors import Error
from ._scene import Scene

Words = typing.List[str]
Files = typing.Union[str, 'os.PathLike[str]', typing.Sequence[typing.Union[str, 'os.PathLike[str]']]]

OK, INFRA, INCOMPLETE, UNSOLVED, FAILED = 0, 5, 7, 9, 10  # exit statuses that come with results


def start(words: Words, plugins: Files = (),
          line: typing.Optional[typing.Callable[[str], None]] = None) -> typing.Tuple[int, str, str]:
    """Run perp with words and wait: (exit status, stdout, stderr).  line: is given each line of stderr as it comes.  Where
    this process is interrupted, so is perp."""
    env = dict(os.environ)
    if _where.HOME:
        env.setdefault('PERP_HOME', str(_where.HOME))
    command = [_where.program(), *words]
    for file in [plugins] if isinstance(plugins, (str, os.PathLike)) else plugins:
        command += ['--plugin', os.fspath(file)]
    with tempfile.TemporaryFile('w+', errors='replace') as out:  # no pipe that could be full
        try:
            perp = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, text=True,
                                    errors='replace')
        except OSError as why:
            raise Error(f'cannot run {command[0]}: {why.strerror}') from None
        err = []
        with perp:
            try:
                for text in perp.stderr or ():
                    err.append(text)
                    if line is not None:
                        line(text)
            except BaseException:
                perp.terminate()
                raise
        out.seek(0)
        return perp.returncode, out.read(), ''.join(err)


def said(status: int, stderr: str) -> str:
    """The message of a perp that refused, without its name."""
    lines = stderr.strip().splitlines()
    own = [i for i, line in enumerate(lines) if line.startswith('perp: ')]  # what stands before is not of the program
    text = ' '.join(line.removeprefix('perp: ').removeprefix('error: ').strip() for line in lines[own[-1] if own else 0:])
    return text or (f'perp was ended by signal {-status}' if status < 0 else f'perp ended with status {status}')


def value(v: typing.Any) -> str:
    """A value of Python as a word of the program."""
    return str(v).lower() if isinstance(v, bool) else repr(float(v)) if isinstance(v, float) else str(v)


def number(v: typing.Any) -> typing.Any:
    """A number of the program's JSON: infinite ones are texts there, and null is not a number."""
    return float('nan' if v is None else v) if v is None or isinstance(v, str) else v


def array(values: typing.Iterable[typing.Any]) -> typing.Any:
    """Numbers of the program's JSON."""
    return _tables.column([repr(number(v)) for v in values])


@dataclasses.dataclass(repr=False)
class Result:
    """A run that was made.  True where it is ok: at its end, every problem solved by the solver that was named.

    status, reason, message   ok, unsolved, fixed-work, diverged, timeout, ...; why; more about it
    scene, parts, truth       what was run, with which parts, and what it was compared with
    metrics                   by name; those that are not defined for this run are absent.  perp.list("metrics") explains them
    t, q, v                   the last state, s, m, rad: arrays, or lists where there is no numpy
    series                    columns by name, arrays: t, drift.pos, err.tip, energy, q0, ...; units: of those that have one
    seconds                   CPU time of the run
    forces                    with forces=True: by name, such as force.joint.elbow, a dict of unit, max, rms, final
    record                    all that perp says, as it says it
    words, given              the options that it was made with, and the scene: for perp.view
    """
    status: str
    reason: str
    message: str
    scene: str
    parts: typing.Dict[str, str]
    truth: str
    metrics: typing.Dict[str, float]
    t: float
    q: typing.Any
    v: typing.Any
    series: typing.Dict[str, typing.Any]
    units: typing.Dict[str, str]
    seconds: float
    record: typing.Dict[str, typing.Any]
    forces: typing.Dict[str, typing.Dict[str, typing.Any]] = dataclasses.field(default_factory=dict)
    words: Words = dataclasses.field(default_factory=list)
    given: typing.Any = None

    def __bool__(self) -> bool:
        return self.status == 'ok'

    def frame(self) -> typing.Any:
        """The series as a data frame of pandas, or a perp.Table where there is none."""
        return _tables.frame(self.series, {'units': self.units})

    def __repr__(self) -> str:
        parts = ', '.join(f'{k} {v}' for k, v in self.parts.items())
        return f'{self.scene}: {self.status} ({self.reason}) at t = {self.t:.6g} s with {parts}'


TIMES = 'h', 't_end', 'sample', 'timeout'


def simulate(scene: typing.Any, *, plugins: Files = (), **parts: typing.Any) -> Result:
    """One scene with one choice of parts.

        perp.simulate("stack:boxes=20", lcp="dantzig", t_end=1.0)

    parts: formulation, ode, kkt, lcp, stab, contact by name; h, t_end, sample, timeout in seconds (or "1 ms");
    forces=True: reaction forces of joints, forces of drives and contacts, as further columns of series and in forces;
    tol, perturb, equivalent, seed, rounds: the options of `perp simulate --help`.  plugins: files of solvers of one's own.

    scene: as of perp.Scene.  A process of its own runs it; perp.Simulation steps in this one.

    Returns a Result, also of a run that failed; Error where perp refuses what is asked.
    """
    given = scene if isinstance(scene, Scene) else Scene(scene)
    with tempfile.TemporaryDirectory(prefix='perp-') as folder, given.word() as name:
        path = pathlib.Path(folder, 'series.csv')
        words = ['simulate', name, '--json', '--series', str(path)]
        options = ['--forces'] if parts.pop('forces', False) else []
        for key, v in parts.items():
            if v is not None:
                unit = 's' if key in TIMES and isinstance(v, (int, float)) else ''
                options.append(f'--{key.replace("_", "-")}={value(v)}{unit}')
        words += options
        status, out, err = start(words, plugins)
        if status not in (OK, INFRA, UNSOLVED, FAILED) or not out.strip():
            raise Error(said(status, err))
        columns = {}
        if path.exists():
            with open(path, encoding='utf-8', newline='') as f:
                columns = _tables.read(f)
    r = json.loads(out)
    final = r.get('final', {})
    series, units = {}, {}
    for head, values in columns.items():
        name, _, unit = head.partition('[')
        series[name] = values
        if unit:
            units[name] = unit.rstrip(']')
    return Result(status=r['status'], reason=r['reason'], message=r['message'], scene=r['scene'], parts=r['parts'],
                      truth=r['truth'], metrics={k: number(v) for k, v in r['metrics'].items()},
                      t=number(final.get('t', float('nan'))), q=array(final.get('q', [])), v=array(final.get('v', [])),
                      series=series, units=units, seconds=number(r['time'].get('cpu_s')), record=r,
                      forces={k: {n: x if n == 'unit' else number(x) for n, x in f.items()} for k, f in r.get('forces', {}).items()},
                  words=options, given=given)


def ask(words: Words, plugins: Files) -> typing.Any:
    status, out, err = start([*words, '--json'], plugins)
    if status != OK:
        raise Error(said(status, err))
    return json.loads(out)


def list_(kind: str, plugins: Files = ()) -> typing.List[str]:
    """Names of a kind: scenes, formulation, ode, kkt, lcp, stab, contact, metrics, studies, plots."""
    return [one['name'] for one in ask(['list', kind], plugins) if not one.get('absent')]


def info(name: str, plugins: Files = ()) -> typing.Any:
    """What perp knows of a plug-in: summary, reference, capabilities, options, ...  Where several kinds have the name:
    a list of them."""
    found = ask(['info', name], plugins)
    return found[0] if isinstance(found, list) and len(found) == 1 else found


def version() -> str:
    """The version of the program."""
    status, out, err = start(['version'])
    if status != OK:
        raise Error(said(status, err))
    return out.split()[1] if len(out.split()) > 1 else out.strip()
