# SPDX-License-Identifier: GPL-3.0-or-later
"""Studies: many simulations, or problems, that are compared."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import sys
import tempfile
import time
import typing
import warnings

from . import _program, _tables
from ._errors import Error
from ._program import Files, Words
from ._scene import Scene, _plain

Path = typing.Union[str, 'os.PathLike[str]']


class Bar:
    """A progress bar of text on stderr: on a terminal and in a notebook one line that is drawn again."""

    def __init__(self) -> None:
        self.width, self.began = 0, time.time()
        self.redraws = sys.stderr.isatty() or 'ipykernel' in sys.modules

    def __call__(self, told: typing.Dict[str, typing.Any]) -> None:
        """One object of `perp run --progress json`."""
        total, done = int(told.get('total', 0)), int(told.get('done', 0))
        if not self.redraws or total <= 0:
            return
        full = 24 * done // total
        left = told.get('left_s')
        text = f'{told.get("phase", "")} [{"=" * full}{" " * (24 - full)}] {done}/{total}'
        text += f', {told["failed"]} not ok' if told.get('failed') else ''
        text += f', {left:.0f} s left' if isinstance(left, (int, float)) and done < total else ''
        sys.stderr.write('\r' + text.ljust(self.width))
        sys.stderr.flush()
        self.width = len(text)

    def close(self) -> None:
        if self.width:
            sys.stderr.write('\r' + ' ' * self.width + '\r')
            sys.stderr.flush()


def setting(v: typing.Any) -> str:
    """A value of a study: lists as YAML has them."""
    if isinstance(v, (list, tuple)):
        return '[' + ', '.join(setting(x) for x in v) + ']'
    if isinstance(v, str) and any(letter in v for letter in ',[]{}"\'#'):
        return json.dumps(v)
    return _program.value(v)


def run(study: Path, output: typing.Optional[Path] = None, *, only: typing.Optional[str] = None,
        skip: typing.Optional[str] = None, jobs: typing.Optional[int] = None, report: bool = False, fresh: bool = False,
        plugins: Files = (), progress: typing.Union[bool, typing.Callable[[typing.Dict[str, typing.Any]], None]] = False,
        **settings: typing.Any) -> pathlib.Path:
    """Run a study and wait for its end; what is finished is not run again.  Returns the results folder, for perp.load.

        folder = perp.run("chain6-stab", output="stab", profile="short", **{"measure.repeats": 1})

    study     a name of perp.list("studies"), or a file; perp.study makes one of a dict
    output    results folder; None: results/NAME
    only, skip, jobs, fresh, report (report.html as well, default: not)     as `perp run --help`
    progress  True: a bar of text; a function: it is given each object of `perp run --progress json` (phase, total, done, ...)
    settings  what --set changes: profile="short", h=["1 ms", "2 ms"], **{"measure.repeats": 1}

    Error where perp refuses, or no run of the study succeeded; a warning where runs crashed or are missing.
    """
    bar = Bar() if progress is True else None
    tell = bar if bar is not None else progress if callable(progress) else None
    words: Words = ['run', os.fspath(study), '--progress', 'json' if tell else 'none']
    for flag, v in (('output', output), ('only', only), ('skip', skip), ('jobs', jobs)):
        if v is not None:
            words.append(f'--{flag}={v}')
    words += [f'--set={key}={setting(v) if key != "profile" else v}' for key, v in settings.items()]
    words += (['--fresh'] if fresh else []) + ([] if report else ['--no-report'])

    def line(text: str) -> None:
        if tell is not None and text.startswith('{'):
            with contextlib.suppress(ValueError):
                tell(json.loads(text))

    try:
        status, out, err = _program.start(words, plugins, line)
    finally:
        if bar is not None:
            bar.close()
    if output is None:
        tables = [text for text in out.splitlines() if text.startswith('tables ')]
        output = tables[-1].split()[1].split('/derived/')[0] if tables else 'results/' + pathlib.Path(study).stem
    if status in (_program.INFRA, _program.INCOMPLETE):
        warnings.warn(f'{study}: some runs crashed or are missing: perp status {output}', stacklevel=2)
    elif status != _program.OK:
        raise Error(f'{study}: no run succeeded: perp status {output}' if status == _program.FAILED
                    else _program.said(status, err))
    return pathlib.Path(output)


class Study:
    """A study to run: see perp.study."""

    def __init__(self, study: typing.Union[Path, typing.Mapping[str, typing.Any]]) -> None:
        self.data = dict(study) if isinstance(study, typing.Mapping) else None
        self.name = str(self.data.get('study', {}).get('name', 'study')) if self.data is not None else os.fspath(study)  # type: ignore[arg-type]
        self.folder: typing.Optional[pathlib.Path] = None

    @contextlib.contextmanager
    def _file(self) -> typing.Iterator[str]:
        if self.data is None:
            yield self.name
            return
        # names of scenes are looked for beside the study first, then in the working folder
        with tempfile.TemporaryDirectory(prefix='perp-') as folder:
            written: typing.Dict[str, str] = {}

            def word(v: typing.Any) -> typing.Any:
                if isinstance(v, Scene) and v.text is not None:
                    name = v.name.replace('/', '-') + '.yaml'
                    while written.setdefault(name, v.text) != v.text:
                        name = '_' + name
                    pathlib.Path(folder, name).write_text(v.text, encoding='utf-8')
                    return name
                if isinstance(v, Scene):
                    return v.name
                if isinstance(v, typing.Mapping):
                    return {k: word(x) for k, x in v.items()}
                return [word(x) for x in v] if isinstance(v, (list, tuple)) else v

            data: typing.Dict[str, typing.Any] = {'schema': 'perp-study/1', **word(self.data)}
            data['study'] = {'name': self.name, **data.get('study', {})}
            try:
                text = json.dumps(data, allow_nan=False, default=_plain)
            except (TypeError, ValueError) as why:
                raise Error(f'the study must be made of texts, numbers, lists and maps: {why}') from None
            path = pathlib.Path(folder, 'study.yaml')
            path.write_text(text, encoding='utf-8')
            yield str(path)

    def run(self, output: typing.Optional[Path] = None, *, jobs: typing.Optional[int] = None,
            progress: typing.Union[bool, typing.Callable[[typing.Dict[str, typing.Any]], None]] = True,
            **options: typing.Any) -> typing.Any:
        """Run it and return its table: a data frame of pandas, or a perp.Table.  folder is where the results are then.

        output, jobs, progress and the other options: those of perp.run.  output None: results/NAME.
        """
        with self._file() as path:
            where = output if output is not None or self.data is None else f'results/{self.name}'
            self.folder = run(path, where, jobs=jobs, progress=progress, **options)
        return _tables.load(self.folder)

    def __repr__(self) -> str:
        return f'Study {self.name!r}' + (f', results in {self.folder}' if self.folder else '')


def study(study: typing.Union[Path, typing.Mapping[str, typing.Any]]) -> Study:
    """A study, by its name (perp.list("studies")), of a file, or of a dict (docs/how-to/studies.md).

        table = perp.study({
            "t_end": "0.2 s", "formulation": "velocity",
            "grid": {"scene": "chain:links=3", "h": ["4 ms", "2 ms"], "stab": ["none", "post"]},
            "metrics": {"primary": "drift.pos.max"},
        }).run(jobs=2)

    Scenes in it may be perp.Scene.  table.attrs["units"] has the units of its columns.
    """
    return Study(study)
