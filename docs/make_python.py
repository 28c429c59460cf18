#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reference of the Python package, of its docstrings: nothing is imported.  make_python.py SOURCE [--write]

Without --write it prints the page; the test python_tutorial compares it with docs/reference/python.md."""
import ast
import pathlib
import sys

source = pathlib.Path(sys.argv[1])
package = source / 'python/perp'
SECTIONS = [  # heading, module, names in their order (None: all that have a docstring)
    ('Problems', '_lcp', ['lcp', 'LCP', 'Factored', 'Solution']),
    (None, '_basis', ['Sensitivity', 'Solutions']),
    ('Scenes and simulations', '_scene', ['Scene']),
    (None, '_simulation', ['Simulation', 'Contacts', 'Forces']),
    (None, '_gradient', ['Gradient', 'Kink']),
    ('Runs of the program', '_program', ['simulate', 'Result', 'list_', 'info', 'version']),
    ('Studies', '_study', ['study', 'Study', 'run']),
    (None, '_tables', ['load', 'Table']),
    ('Lessons', '_lesson', ['lesson', 'Lesson']),
    ('Pages', '_view', ['view', 'Page']),
    ('Errors', '_errors', ['Error']),
    ('Figures: perp.plot', 'plot', None),
    ('Methods of one\'s own: perp.plugin', 'plugin', ['lcp', 'Answer', 'Problem', 'ode', 'System', 'contact', 'Island', 'metric', 'Run', 'Real', 'Int',
                                                     'Bool', 'Enum', 'Text']),
]
HEAD = '''# Python reference

All functions and classes of the package `perp`, made of their docstrings by `docs/make_python.py --write`. The
[tutorial](../tutorials/python.md) shows how they go together. Arrays are those of numpy, with their shapes in parentheses, or lists
where there is no numpy. Units are SI.
'''


def arguments(node):
    """The arguments without their types, which the code has."""
    bare = ast.parse(ast.unparse(node.args).join(('def f(', '): pass'))).body[0].args
    for a in [*bare.posonlyargs, *bare.args, *bare.kwonlyargs, bare.vararg, bare.kwarg]:
        if a is not None:
            a.annotation = None
    words = ast.unparse(bare)
    return words.removeprefix('self, ').removeprefix('self')


def block(text):
    return f'```text\n{text}\n```\n'


def whole(node, prefix):
    """One function or class, with what is public in it."""
    name = prefix + node.name.rstrip('_')
    doc = ast.get_docstring(node)
    if isinstance(node, ast.FunctionDef):
        return [f'### `{name}({arguments(node)})`\n', block(doc)]
    init = next((m for m in node.body if isinstance(m, ast.FunctionDef) and m.name == '__init__'), None)
    out = [f'### `{name}({arguments(init)})`\n' if init else f'### `{name}`\n', block(doc)]
    rows = []
    for m in node.body:
        if not isinstance(m, ast.FunctionDef) or m.name.startswith('_') or not ast.get_docstring(m):
            continue
        words = [getattr(d, 'id', getattr(d, 'attr', '')) for d in m.decorator_list]
        rows.append((m.name if 'property' in words else f'{m.name}({arguments(m)})', ast.get_docstring(m)))
    for call, doc in rows:
        out.append(f'**`.{call}`**\n')
        out.append(block(doc))
    return out


def page():
    out = [HEAD]
    for heading, module, names in SECTIONS:
        tree = ast.parse((package / f'{module}.py').read_text(encoding='utf-8'))
        parts = {n.name: n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
        chosen = names or [n for n in parts if not n.startswith('_') and ast.get_docstring(parts[n])]
        if heading:
            out.append(f'## {heading}\n')
        for name in chosen:
            out += whole(parts[name], 'perp.' if module.startswith('_') else f'perp.{module}.')
    return '\n'.join(out)


if '--write' in sys.argv:
    (source / 'docs/reference/python.md').write_text(page(), encoding='utf-8')
else:
    sys.stdout.write(page())
