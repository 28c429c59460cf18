# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures of results in the look of the report, with matplotlib.

    perp.plot.work_precision(table, "err.tip.max", by="stab")
    perp.plot.drift(run), perp.plot.motion(run), perp.plot.profiles(table, by="lcp")

Each function draws into `axes` (None: new ones) and returns them.  apt-get install python3-matplotlib.
"""
from __future__ import annotations

import math
import re
import typing

from ._errors import Error
from ._tables import Table

# colours and markers of curves as the report has them (experiments/pages/styles.c, which a test compares)
COLOURS = ('#2463A5', '#AE2F00', '#05A378', '#C8860B', '#962D68', '#131212', '#6C96BC', '#745233', '#2463A5', '#AE2F00', '#05A378',
           '#C8860B', '#962D68', '#131212', '#6C96BC', '#745233')
MARKERS = ('o', 's', '^', 'D', 'v', '+', 'p', 'x', 's', '^', 'o', 'v', '*', 'D', 'o', 'p')
OPEN = (8, 9, 10, 11, 13, 15)
INK, SOFT, LINE = '#1b1f24', '#59636e', '#d8dee4'


def style(i: int) -> typing.Dict[str, typing.Any]:
    """Colour, marker and dashes of curve i, for matplotlib's plot."""
    i %= len(COLOURS)
    return {'color': COLOURS[i], 'marker': MARKERS[i], 'markerfacecolor': 'white' if i in OPEN else COLOURS[i], 'markersize': 5.5,
            'linewidth': 1.6, 'linestyle': '--' if i >= 8 else '-'}


def _axes(axes: typing.Any, **more: typing.Any) -> typing.Any:
    try:
        import matplotlib.pyplot as plt  # type: ignore[import]
    except ImportError:
        raise Error('figures need matplotlib: apt-get install python3-matplotlib') from None
    if axes is None:
        axes = plt.subplots(figsize=(7.2, 4.6), layout='constrained')[1]
    for side in ('top', 'right'):
        axes.spines[side].set_visible(False)
    for side in ('bottom', 'left'):
        axes.spines[side].set_color(SOFT)
    axes.tick_params(colors=SOFT, labelcolor=INK)
    axes.grid(True, color=LINE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set(**more)
    return axes


def _column(table: typing.Any, name: str) -> typing.List[typing.Any]:
    if name not in table:
        raise Error(f'the table has no column {name!r}: {", ".join(sorted(str(k) for k in table.keys()))}')
    return list(table[name])


def _label(table: typing.Any, name: str) -> str:
    """What a column is, in words, with its unit."""
    attrs = getattr(table, 'attrs', {})
    words = re.split(r'[:.(]\s|[:.]$| \(', attrs.get('meanings', {}).get(name, ''))[0]
    unit = attrs.get('units', {}).get(name, '')
    return (words if 0 < len(words) <= 70 else name) + (f' [{unit}]' if unit else '')


def _groups(table: typing.Any, by: typing.Union[str, typing.Sequence[str], None],
            rows: typing.Iterable[int]) -> typing.Dict[str, typing.List[int]]:
    names = [by] if isinstance(by, str) else list(by or [])
    columns = [_column(table, name) for name in names]
    found: typing.Dict[str, typing.List[int]] = {}
    for i in rows:
        found.setdefault(', '.join(str(column[i]) for column in columns), []).append(i)
    return dict(sorted(found.items()))


SERIES = {'drift.pos': 'constraint error of positions', 'drift.vel': 'constraint error of velocities', 'energy': 'energy',
          'err.tip': 'error of the tip', 'err.q': 'error of positions', 'err.v': 'error of velocities'}


def _ok(table: typing.Any) -> typing.List[int]:
    status = list(table['status']) if 'status' in table else []
    n = len(status) if status else len(next(iter(table.values()))) if isinstance(table, Table) else len(table)
    return [i for i in range(n) if not status or status[i] == 'ok']


def work_precision(table: typing.Any, error: str, *, by: typing.Union[str, typing.Sequence[str], None] = None,
                   work: str = 'time.cpu.median', best: bool = False, axes: typing.Any = None) -> typing.Any:
    """Error against work, both logarithmic, a curve for each value of the columns `by`.

    table   of perp.load or perp.study(...).run(): its rows that are ok and have both numbers
    error   column, as "err.tip.max";  work: column, CPU time unless said otherwise
    best    only the rows that no other of the curve beats in both
    """
    x, y = _column(table, work), _column(table, error)
    rows = [i for i in _ok(table) if x[i] > 0 and y[i] > 0]
    if not rows:
        raise Error(f'no run has both {work} and {error}')
    axes = _axes(axes, xscale='log', yscale='log', xlabel=_label(table, work), ylabel=_label(table, error))
    groups = _groups(table, by, rows)
    for k, (name, those) in enumerate(groups.items()):
        those = sorted(those, key=lambda i: (x[i], y[i]))
        if best:
            front: typing.List[int] = []
            for i in those:
                if not front or y[i] < y[front[-1]]:
                    front.append(i)
            those = front
        axes.plot([x[i] for i in those], [y[i] for i in those], label=name, **style(k))
    if len(groups) > 1:
        axes.legend(frameon=False)
    return axes


def profiles(table: typing.Any, *, by: str = 'lcp', work: str = 'time.cpu.median', axes: typing.Any = None) -> typing.Any:
    """Performance profiles (Dolan and More 2002): the share of problems that a method solves within a factor of the least
    work of all methods.  A problem is what rows have in common beside `by`; rows that are not ok count as not solved."""
    names, x = _column(table, by), _column(table, work)
    fine = set(_ok(table))
    drop = {by, 'cell', 'status', 'cause', 'reason', 'rounds'}
    units = getattr(table, 'attrs', {}).get('units', {})
    keys = [str(k) for k in table.keys() if k not in drop and k not in units and
            all(isinstance(v, str) for v in table[k])] + [k for k in ('h', 'n') if k in table]
    columns = [_column(table, k) for k in keys]
    problem = [tuple(str(column[i]) for column in columns) for i in range(len(names))]
    least: typing.Dict[typing.Any, float] = {}
    for i in fine:
        if x[i] > 0:
            least[problem[i]] = min(least.get(problem[i], math.inf), x[i])
    if not least:
        raise Error(f'no run that is ok has {work}')
    axes = _axes(axes, xscale='log', xlabel=f'factor of the least of: {_label(table, work)}', ylabel='share of problems solved', ylim=(0, 1.02))
    all_problems = len(set(problem))
    ratios = {name: sorted(x[i] / least[problem[i]] for i in those if i in fine and x[i] > 0)
              for name, those in _groups(table, by, range(len(names))).items()}
    far = 2 * max((r[-1] for r in ratios.values() if r), default=1)
    for k, (name, r) in enumerate(ratios.items()):
        look = {**style(k), 'marker': ''}
        axes.step([1, *r, far], [0, *[(j + 1) / all_problems for j in range(len(r))], len(r) / all_problems], where='post',
                  label=name, **look)
    axes.legend(frameon=False)
    return axes


def _runs(runs: typing.Any) -> typing.List[typing.Tuple[str, typing.Any]]:
    """Results of perp.simulate: one, a list, or a dict with labels."""
    if isinstance(runs, dict):
        return list(runs.items())
    many = list(runs) if isinstance(runs, (list, tuple)) else [runs]
    names = [', '.join(f'{v}' for v in run.parts.values()) for run in many]
    return list(zip(names, many))


def series(runs: typing.Any, names: typing.Union[str, typing.Sequence[str]], *, axes: typing.Any = None,
           log: bool = False) -> typing.Any:
    """Columns of the series of results of perp.simulate against time: one result, a list, or a dict {label: result}."""
    wanted = [names] if isinstance(names, str) else list(names)
    axes = _axes(axes, xlabel='t [s]', yscale='log' if log else 'linear')
    pairs, unit, k = _runs(runs), '', 0
    for label, run in pairs:
        for name in wanted:
            if name not in run.series:
                raise Error(f'the series has no column {name!r}: {", ".join(run.series)}')
            unit = run.units.get(name, '')
            values = [abs(v) if log else v for v in run.series[name]]
            text = ' '.join(word for word in (label if len(pairs) > 1 else '', name if len(wanted) > 1 else '') if word)
            axes.plot(run.series['t'], values, label=text, **{**style(k), 'marker': ''})
            k += 1
    axes.set_ylabel((SERIES.get(wanted[0], wanted[0]) if len(wanted) == 1 else 'value') + (f' [{unit}]' if unit else ''))
    if k > 1:
        axes.legend(frameon=False)
    return axes


def drift(runs: typing.Any, *, axes: typing.Any = None) -> typing.Any:
    """Constraint error of the positions over time, logarithmic, of results of perp.simulate."""
    return series(runs, 'drift.pos', axes=axes, log=True)


def motion(run: typing.Any, *, bodies: typing.Optional[typing.Sequence[int]] = None, axes: typing.Any = None) -> typing.Any:
    """Paths of the centres of mass of bodies, of a result of perp.simulate: x and y in the plane, x and z in space."""
    nq, nv = len(run.q), len(run.v)
    size, up = (7, 2) if nq != nv else (3, 1)
    n = nq // size
    if n == 0 or nq % size or f'q{nq - 1}' not in run.series:
        raise Error(f'{run.scene} has no bodies with paths')
    axes = _axes(axes, xlabel='x [m]', ylabel=('z' if up == 2 else 'y') + ' [m]', aspect='equal')
    for k, body in enumerate(bodies if bodies is not None else range(n)):
        x, y = run.series[f'q{size * body}'], run.series[f'q{size * body + up}']
        look = style(k)
        axes.plot(x, y, label=f'body {body}', **{**look, 'marker': ''})
        axes.plot(x[-1:], y[-1:], **{**look, 'linestyle': ''})
    if n > 1:
        axes.legend(frameon=False)
    return axes

