# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes by name, by file, or as data."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import tempfile
import typing

from ._errors import Error


def option(v: typing.Any) -> str:
    """A value of an option, as names of perp have it."""
    if isinstance(v, bool):
        return str(v).lower()
    return repr(v) if isinstance(v, float) else str(v)


class Scene:
    """What is simulated: bodies, joints, forces, contacts, and their start.

        perp.Scene("stack:boxes=3")                 a scene that comes with perp (perp.list("scenes")), with options
        perp.Scene("stack", boxes=3)                the same
        perp.Scene("cart.yaml", push=2.0)           a scene file (docs/reference/scene-files.md), with its parameters
        perp.Scene("robot.xml")                     a robot: MJCF, URDF or SDF; a figure: BVH, ASF
        perp.Scene({"scene": {"dim": 2}, "bodies": [...]}, name="mine")    a scene file as data

    The scene is read when a simulation is made of it: errors come then.  name, text: what perp is given.
    """

    def __init__(self, scene: typing.Union[str, 'os.PathLike[str]', typing.Mapping[str, typing.Any], 'Scene'],
                 name: typing.Optional[str] = None, **options: typing.Any) -> None:
        self.text: typing.Optional[str] = None
        self.name = ''
        if isinstance(scene, Scene):
            self.name, self.text = scene.name, scene.text
        elif isinstance(scene, typing.Mapping):
            data = {'schema': 'perp-scene/1', **scene}
            self.name = name or 'scene'
            try:
                self.text = json.dumps(data, allow_nan=False, default=_plain)
            except (TypeError, ValueError) as why:
                raise Error(f'the scene must be made of texts, numbers, lists and maps: {why}') from None
        elif isinstance(scene, (str, os.PathLike)):
            self.name = str(os.fspath(scene))
        else:
            raise Error(f'a scene is a name, a file or a dict: got {scene!r}')
        if options and self.text is not None:
            raise Error('a scene that is data has its values in it: change them there')
        if options:
            self.name += (',' if ':' in self.name else ':') + ','.join(f'{k}={option(v)}' for k, v in options.items())

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f'Scene({self.name!r})' if self.text is None else f'Scene of data {self.name!r}'

    @contextlib.contextmanager
    def word(self) -> typing.Iterator[str]:
        """The scene as a word of the program, in a file for as long where it is data."""
        if self.text is None:
            yield self.name
            return
        with tempfile.TemporaryDirectory(prefix='perp-') as folder:
            path = pathlib.Path(folder, self.name.replace('/', '-') + '.yaml')
            path.write_text(self.text, encoding='utf-8')
            yield str(path)


def _plain(v: typing.Any) -> typing.Any:
    """Numbers and arrays of numpy for JSON."""
    if hasattr(v, 'tolist'):
        return v.tolist()
    raise TypeError(f'{type(v).__name__} {v!r}')
