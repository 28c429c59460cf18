# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables: data frames of pandas where it is installed, else columns by name."""
from __future__ import annotations

import csv
import json
import os
import pathlib
import typing

from . import _library as c
from ._errors import Error


class Table(typing.Dict[str, typing.Any]):
    """Columns by name, arrays of numpy where it is installed; `attrs` as those of a data frame.

    table['h'], len(table['h']), table.where(table['status'] == 'ok')
    """
    attrs: typing.Dict[str, typing.Any]

    def __init__(self, columns: typing.Mapping[str, typing.Any],
                 attrs: typing.Optional[typing.Dict[str, typing.Any]] = None) -> None:
        super().__init__(columns)
        self.attrs = attrs or {}

    def where(self, mask: typing.Iterable[object]) -> 'Table':
        """The rows where mask (one truth value a row) is true."""
        keep = [i for i, yes in enumerate(mask) if yes]
        return Table({k: v[keep] if c.HAVE_NUMPY else [v[i] for i in keep] for k, v in self.items()}, self.attrs)

    def __repr__(self) -> str:
        rows = len(next(iter(self.values()))) if self else 0
        return f'Table of {rows} rows, {len(self)} columns: {", ".join([*self][:12])}{", ..." if len(self) > 12 else ""}'


def column(words: typing.Sequence[str], text: bool = False) -> typing.Any:
    """Words as they are where they are text, else numbers; an empty one is nan."""
    if text:
        return c.numpy.array(words, dtype=object) if c.HAVE_NUMPY else words
    values = [float(word) if word else float('nan') for word in words]
    return c.numpy.array(values) if c.HAVE_NUMPY else values


def read(lines: typing.Iterable[str], texts: typing.Collection[str] = ()) -> typing.Dict[str, typing.Any]:
    """Columns of a CSV text with a head; texts: names of those that are no numbers."""
    rows = list(csv.reader(lines))
    return {name: column([row[i] for row in rows[1:]], name in texts) for i, name in enumerate(rows[0])} if rows else {}


def frame(columns: typing.Mapping[str, typing.Any], attrs: typing.Dict[str, typing.Any]) -> typing.Any:
    """A data frame of pandas, or a Table."""
    try:
        import pandas  # type: ignore[import]
    except ImportError:
        return Table(columns, attrs)
    made = pandas.DataFrame(columns)
    made.attrs = attrs
    return made


def load(folder: typing.Union[str, 'os.PathLike[str]']) -> typing.Any:
    """The results of a study: a row for each cell, with what it was, how it ended, its metrics and its times.

    folder: what `perp run` wrote.  A data frame of pandas, or a perp.Table where there is no pandas; attrs['units'] has
    the unit of each column that has one, attrs['meanings'] what each is, attrs['folder'] the folder.  Times are those of the rounds for the clock:
    time.cpu.median and so on; nan where there were none.
    """
    folder = os.fspath(folder)
    cells, units, meanings = derived(folder, 'cells')
    timing, more, other = derived(folder, 'timing')
    at = {cell: i for i, cell in enumerate(timing.pop('cell', []))}
    order = [at.get(cell) for cell in cells['cell']]  # not all cells have times
    for name, values in timing.items():
        values = [float('nan') if i is None else values[i] for i in order]
        cells[name] = c.numpy.array(values) if c.HAVE_NUMPY else values
    return frame(cells, {'units': {**units, **more}, 'meanings': {**other, **meanings}, 'folder': folder})


def derived(folder: str, name: str) -> typing.Tuple[typing.Dict[str, typing.Any], typing.Dict[str, str],
                                                typing.Dict[str, str]]:
    """One table of a results folder: its columns, their units, their meanings."""
    path = pathlib.Path(folder, 'derived', name)
    try:
        fields = json.loads(path.with_suffix('.schema.json').read_text(encoding='utf-8'))
        with open(path.with_suffix('.csv'), encoding='utf-8', newline='') as f:
            columns = read(f, [field['name'] for field in fields if field['type'] == 'text'])
    except OSError as why:
        raise Error(f'{folder} holds no results ({why.strerror}: {why.filename}); perp run STUDY -o {folder} makes some') from None
    return (columns, {field['name']: field['unit'] for field in fields if field['unit']},
            {field['name']: field.get('meaning', '') for field in fields})
