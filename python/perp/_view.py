# SPDX-License-Identifier: GPL-3.0-or-later
"""Pages in a notebook."""
from __future__ import annotations

import html
import os
import pathlib
import tempfile
import typing

from . import _program
from ._errors import Error
from ._program import Result
from ._simulation import Simulation


class Page:
    """A page of perp: a notebook shows it inline.  html: all of it, which needs no network; save(path) writes it."""

    def __init__(self, text: str, height: int) -> None:
        self.html, self.height = text, height

    def save(self, path: typing.Union[str, 'os.PathLike[str]']) -> pathlib.Path:
        """Write it to a file, for a browser."""
        to = pathlib.Path(path)
        to.write_text(self.html, encoding='utf-8')
        return to

    def _repr_html_(self) -> str:
        return (f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="{self.height}" '
                'style="border:0" sandbox="allow-scripts allow-downloads"></iframe>')

    def __repr__(self) -> str:
        return f'a page of {len(self.html) / 1e6:.1f} MB: a notebook shows it, .save("page.html") writes it'


def view(what: typing.Any, *, height: int = 640) -> Page:
    """The page of something, inline in a notebook; elsewhere .save("page.html") writes it.  height: pixels.

    a perp.Simulation          its motion as recorded (record=True, or sim.record()), or its present state
    a result of perp.simulate  its animation: the run is made again by `perp view`
    a scene                    its animation with the default methods
    a perp.study that has run, or a results folder      the report
    """
    with tempfile.TemporaryDirectory(prefix='perp-') as folder:
        path = pathlib.Path(folder, 'page.html')
        if isinstance(what, Simulation):
            what.page(path)
        elif isinstance(what, Result):
            options = [word for word in what.words if not word.startswith(('--sample', '--rounds'))]
            with what.given.word() as scene:
                _page(['view', scene, '--no-open', '-o', str(path), *options])
        else:
            results = getattr(what, 'folder', what)
            if results is None:
                raise Error('the study has not run yet: run() it first')
            if isinstance(results, (str, os.PathLike)) and pathlib.Path(results, 'derived').is_dir():
                _page(['report', os.fspath(results), '-o', str(path)])
            else:
                from ._scene import Scene
                with Scene(what).word() as scene:
                    _page(['view', scene, '--no-open', '-o', str(path)])
        if not path.exists():
            raise Error('no page was written: perp was built without the script of its pages (perp doctor)')
        return Page(path.read_text(encoding='utf-8'), height)


def _page(words: typing.List[str]) -> None:
    status, _, err = _program.start(words)
    if status not in (_program.OK, _program.INFRA):
        raise Error(_program.said(status, err))
