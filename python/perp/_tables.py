# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables: data frames of pandas where it is installed, else columns by name."""
import csv
import json
import os
import pathlib

from ._errors import Error

try:
    import numpy
except ImportError:
    numpy = None


class Table(dict):
    """Columns by name, arrays of numpy where it is installed; `attrs` as those of a data frame.

    table['h'], len(table['h']), table.where(table['status'] == 'ok')
    """
    attrs: dict

    def __init__(self, columns, attrs=None):
        super().__init__(columns)
        self.attrs = attrs or {}

    def where(self, mask):
        """The rows where mask (one truth value a row) is true."""
        keep = [i for i, yes in enumerate(mask) if yes]
        return Table({k: v[keep] if numpy is not None else [v[i] for i in keep] for k, v in self.items()}, self.attrs)

    def __repr__(self):
        rows = len(next(iter(self.values()))) if self else 0
        return f'Table of {rows} rows, {len(self)} columns: {", ".join([*self][:12])}{", ..." if len(self) > 12 else ""}'


def column(words, text=False):
    """Words as they are where they are text, else numbers; an empty one is nan."""
    if text:
        return numpy.array(words, dtype=object) if numpy is not None else words
    values = [float(word) if word else float('nan') for word in words]
    return numpy.array(values) if numpy is not None else values


def read(lines, texts=()):
    """Columns of a CSV text with a head; texts: names of those that are no numbers."""
    rows = list(csv.reader(lines))
    return {name: column([row[i] for row in rows[1:]], name in texts) for i, name in enumerate(rows[0])} if rows else {}


def frame(columns, attrs):
    """A data frame of pandas, or a Table."""
    try:
        import pandas
    except ImportError:
        return Table(columns, attrs)
    made = pandas.DataFrame(columns)
    made.attrs = attrs
    return made


def load(folder):
    """The results of a study: a row for each cell, with what it was, how it ended, its metrics and its times.

    folder: what `perp run` wrote.  A data frame of pandas, or a perp.Table where there is no pandas; attrs['units'] has
    the unit of each column that has one, attrs['folder'] the folder.  Times are those of the rounds for the clock:
    time.cpu.median and so on; nan where there were none.
    """
    folder = os.fspath(folder)
    cells, units = derived(folder, 'cells')
    timing, more = derived(folder, 'timing')
    at = {cell: i for i, cell in enumerate(timing.pop('cell', []))}
    order = [at.get(cell) for cell in cells['cell']]  # not all cells have times
    for name, values in timing.items():
        values = [float('nan') if i is None else values[i] for i in order]
        cells[name] = numpy.array(values) if numpy is not None else values
    return frame(cells, {'units': {**units, **more}, 'folder': folder})


def derived(folder, name):
    """One table of a results folder: its columns, and their units."""
    path = pathlib.Path(folder, 'derived', name)
    try:
        fields = json.loads(path.with_suffix('.schema.json').read_text(encoding='utf-8'))
        with open(path.with_suffix('.csv'), encoding='utf-8', newline='') as f:
            columns = read(f, [field['name'] for field in fields if field['type'] == 'text'])
    except OSError as why:
        raise Error(f'{folder} holds no results ({why.strerror}: {why.filename}); perp run STUDY -o {folder} makes some') from None
    return columns, {field['name']: field['unit'] for field in fields if field['unit']}
