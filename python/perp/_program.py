# SPDX-License-Identifier: GPL-3.0-or-later
"""What the program perp does, in a process of its own: whatever happens there, this process goes on."""
import dataclasses
import json
import os
import pathlib
import subprocess
import tempfile
import typing
import warnings

from . import _tables, _where
from ._errors import Error

OK, INFRA, INCOMPLETE, UNSOLVED, FAILED = 0, 5, 7, 9, 10  # exit statuses that come with results


def start(words, plugins=()):
    """Run perp with words and wait: (exit status, stdout, stderr)."""
    env = dict(os.environ)
    if _where.TREE:
        env.setdefault('PERP_HOME', str(_where.TREE))
    command = [_where.program(), *words]
    for file in [plugins] if isinstance(plugins, (str, os.PathLike)) else plugins:
        command += ['--plugin', os.fspath(file)]
    try:
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors='replace')
    except OSError as why:
        raise Error(f'cannot run {command[0]}: {why.strerror}') from None
    return done.returncode, done.stdout, done.stderr


def said(status, stderr):
    """The message of a perp that refused, without its name."""
    lines = stderr.strip().splitlines()
    own = [i for i, line in enumerate(lines) if line.startswith('perp: ')]  # what stands before is not of the program
    text = ' '.join(line.removeprefix('perp: ').removeprefix('error: ').strip() for line in lines[own[-1] if own else 0:])
    return text or (f'perp was ended by signal {-status}' if status < 0 else f'perp ended with status {status}')


def value(v):
    """A value of Python as a word of the program."""
    return str(v).lower() if isinstance(v, bool) else repr(float(v)) if isinstance(v, float) else str(v)


def number(v):
    """A number of the program's JSON: infinite ones are texts there, and null is not a number."""
    return float('nan' if v is None else v) if v is None or isinstance(v, str) else v


def array(values):
    return _tables.column([repr(number(v)) for v in values])


@dataclasses.dataclass(repr=False)
class Simulation:
    """A run that was made.  True where it is ok: at its end, every problem solved by the solver that was named.

    status, reason, message   ok, unsolved, fixed-work, diverged, timeout, ...; why; more about it
    scene, parts, truth       what was run, with which parts, and what it was compared with
    metrics                   by name; those that are not defined for this run are absent.  perp.list("metrics") explains them
    t, q, v                   the last state, s, m, rad: arrays, or lists where there is no numpy
    series                    columns by name, arrays: t, drift.pos, err.tip, energy, q0, ...; units: of those that have one
    seconds                   CPU time of the run
    forces                    with forces=True: by name, such as force.joint.elbow, a dict of unit, max, rms, final
    record                    all that perp says, as it says it
    """
    status: str
    reason: str
    message: str
    scene: str
    parts: dict
    truth: str
    metrics: dict
    t: float
    q: typing.Any
    v: typing.Any
    series: dict
    units: dict
    seconds: float
    record: dict
    forces: dict = dataclasses.field(default_factory=dict)

    def __bool__(self):
        return self.status == 'ok'

    def frame(self):
        """The series as a data frame of pandas, or a perp.Table where there is none."""
        return _tables.frame(self.series, {'units': self.units})

    def __repr__(self):
        parts = ', '.join(f'{k} {v}' for k, v in self.parts.items())
        return f'{self.scene}: {self.status} ({self.reason}) at t = {self.t:.6g} s with {parts}'


TIMES = 'h', 't_end', 'sample', 'timeout'


def simulate(scene, *, plugins=(), **parts):
    """One scene with one choice of parts.

        perp.simulate("stack:boxes=20", lcp="dantzig", t_end=1.0)

    parts: formulation, ode, kkt, lcp, stab, contact by name; h, t_end, sample, timeout in seconds (or "1 ms");
    forces=True: reaction forces of joints, forces of drives and contacts, as further columns of series and in forces;
    tol, perturb, equivalent, seed, rounds: the options of `perp simulate --help`.  plugins: files of solvers of one's own.

    Returns a Simulation, also of a run that failed; Error where perp refuses what is asked.
    """
    with tempfile.TemporaryDirectory(prefix='perp-') as folder:
        path = pathlib.Path(folder, 'series.csv')
        words = ['simulate', str(scene), '--json', '--series', str(path)]
        if parts.pop('forces', False):
            words.append('--forces')
        for key, v in parts.items():
            if v is not None:
                seconds = 's' if key in TIMES and isinstance(v, (int, float)) else ''
                words.append(f'--{key.replace("_", "-")}={value(v)}{seconds}')
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
    return Simulation(status=r['status'], reason=r['reason'], message=r['message'], scene=r['scene'], parts=r['parts'],
                      truth=r['truth'], metrics={k: number(v) for k, v in r['metrics'].items()},
                      t=number(final.get('t', float('nan'))), q=array(final.get('q', [])), v=array(final.get('v', [])),
                      series=series, units=units, seconds=number(r['time'].get('cpu_s')), record=r,
                      forces={k: {n: x if n == 'unit' else number(x) for n, x in f.items()} for k, f in r.get('forces', {}).items()})


def setting(v):
    """A value of a study: lists as YAML has them."""
    return '[' + ', '.join(setting(x) for x in v) + ']' if isinstance(v, (list, tuple)) else \
        json.dumps(v) if isinstance(v, str) and any(c in v for c in ',[]{}"\'#') else value(v)


def run(study, output=None, *, only=None, skip=None, jobs=None, report=False, fresh=False, plugins=(), **settings):
    """Run a study and wait for its end; what is finished is not run again.  Returns the results folder, for perp.load.

        folder = perp.run("chain6-stab", output="stab", profile="short", **{"measure.repeats": 1})

    study     a name of perp.list("studies"), or a file
    output    results folder; None: results/NAME
    only, skip, jobs, fresh, report (report.html as well, default: not)     as `perp run --help`
    settings  what --set changes: profile="short", h=["1 ms", "2 ms"], **{"measure.repeats": 1}

    Error where perp refuses, or no cell succeeded; a warning where cells crashed or are missing.
    """
    words = ['run', os.fspath(study), '--progress', 'none']
    for flag, v in (('output', output), ('only', only), ('skip', skip), ('jobs', jobs)):
        if v is not None:
            words.append(f'--{flag}={v}')
    words += [f'--set={key}={setting(v) if key != "profile" else v}' for key, v in settings.items()]
    words += (['--fresh'] if fresh else []) + ([] if report else ['--no-report'])
    status, out, err = start(words, plugins)
    if output is None:
        tables = [line for line in out.splitlines() if line.startswith('tables ')]
        output = tables[-1].split()[1].split('/derived/')[0] if tables else 'results/' + pathlib.Path(study).stem
    if status in (INFRA, INCOMPLETE):
        warnings.warn(f'{study}: some cells crashed or are missing: perp status {output}', stacklevel=2)
    elif status != OK:
        raise Error(f'{study}: no cell succeeded: perp status {output}' if status == FAILED else said(status, err))
    return pathlib.Path(output)


def ask(words, plugins):
    status, out, err = start([*words, '--json'], plugins)
    if status != OK:
        raise Error(said(status, err))
    return json.loads(out)


def list_(kind, plugins=()):
    """Names of a kind: scenes, formulation, ode, kkt, lcp, stab, contact, metrics, studies, plots."""
    return [one['name'] for one in ask(['list', kind], plugins) if not one.get('absent')]


def info(name, plugins=()):
    """What perp knows of a plug-in: summary, reference, capabilities, options, ...  Where several kinds have the name:
    a list of them."""
    found = ask(['info', name], plugins)
    return found[0] if isinstance(found, list) and len(found) == 1 else found


def version():
    """The version of the program."""
    status, out, err = start(['version'])
    if status != OK:
        raise Error(said(status, err))
    return out.split()[1] if len(out.split()) > 1 else out.strip()
