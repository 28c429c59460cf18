# SPDX-License-Identifier: GPL-3.0-or-later
"""A page for each method, scene, joint, force and metric, made of what `perp list KIND --json` says, the results of the
contract tests, and the studies in which it stands."""
import os
import re

from shell import escape, relative

# kind of `perp list`, title, axis of studies, contract test
KINDS = [('formulation', 'Formulations', 'formulation', 'formulation'), ('ode', 'Integrators', 'ode', 'ode'), ('kkt', 'KKT solvers', 'kkt', 'kkt'),
         ('lcp', 'Complementarity solvers', 'lcp', 'lcp'), ('stab', 'Stabilization', 'stab', 'stab'), ('contact', 'Contact laws', 'contact', 'contact'),
         ('engine', 'Third-party engines', 'engine', None), ('joints', 'Joints', None, 'joint'), ('forces', 'Forces', None, 'force'), ('metrics', 'Metrics', None, 'metric')]
SCENES = ('scenes', 'Scenes', 'scene', 'scene')


def file_of(name):
    return re.sub(r'[^\w.-]', '-', name)


def page_of(kind, name):
    return f'scenes/{file_of(name)}.html' if kind == 'scenes' else f'methods/{kind}/{file_of(name)}.html'


def equation(kind, text):
    return f'<p class="equation" data-kind="{kind}">{escape(text)}</p>'


def options(part):
    if not part['options']:
        return ''
    rows = ''.join(f'<tr><td><code>{escape(o["name"])}</code></td><td>{escape(o["unit"])}</td><td>{escape(o["default"])}</td>'
                   f'<td>{escape(o["range"])}</td><td>{escape(o["help"])}</td></tr>' for o in part['options'])
    return ('<h2>Options</h2><div class="scroll"><table><tr><th>option</th><th>unit</th><th>default</th><th>range</th><th>meaning</th></tr>'
            f'{rows}</table></div>')


class Contract:
    """Checks of the contract tests by the name of the plug-in, of their output in TAP."""

    def __init__(self):
        self.checks = {}  # (kind, name) -> [(passed, check)]

    def read(self, kind, text, names):
        for line in text.splitlines():
            m = re.match(r'(not )?ok \d+ (?:- )?(.*)', line)
            if not m or '# SKIP' in line:
                continue
            name, colon, check = m.group(2).partition(': ')
            name = re.split(r' \+ |,| in | on ', name)[0].strip()
            if colon and name in names:
                self.checks.setdefault((kind, name), []).append((not m.group(1), check))

    def section(self, kind, name):
        list_ = self.checks.get((kind, name))
        if not list_:
            return ''
        passed = sum(p for p, _ in list_)
        rows = ''.join(f'<li{"" if p else " class=bad"}>{"" if p else "failed: "}{escape(c)}</li>' for p, c in sorted(list_, key=lambda x: x[0])[:400])
        return (f'<h2>Contract tests</h2><p>{passed} of {len(list_)} checks of the contract of this kind passed.</p>'
                f'<details><summary>the checks</summary><ul class="checks">{rows}</ul></details>')


def source_of(root):
    """(name) -> file with the descriptor, for a link."""
    found = {}
    for top in ('solvers', 'models', 'experiments/metrics'):
        for folder, _, files in os.walk(os.path.join(root, top)):
            for f in files:
                if not f.endswith('.c'):
                    continue
                path = os.path.join(folder, f)
                with open(path, errors='replace') as s:
                    text = s.read()
                for name in re.findall(r'(?:\.name = |\.d = \{\s*)"([\w:-]+)"', text):
                    found.setdefault(name, []).append(os.path.relpath(path, root))
    return found


FOLDERS = {'formulation': 'models/formulations', 'ode': 'solvers/ode', 'kkt': 'solvers/kkt', 'lcp': 'solvers/lcp', 'stab': 'solvers/stab', 'contact': 'models/contact',
           'engine': 'models/engines', 'joints': 'models/multibody', 'forces': 'models/multibody', 'scenes': 'models/scenes', 'metrics': 'experiments/metrics'}
FACTS = [('order', 'Order'), ('stages', 'Stages'), ('serves', 'Problems that it serves'), ('ties', 'Ties'), ('cost', 'Cost'), ('counts', 'Iterations count'),
         ('unit', 'Unit'), ('law', 'Friction law')]


def write(site, documents, root, parts, contract, studies, moving):
    """parts: kind -> list of descriptors; studies: (axis, name) -> [(study, title, page)]; moving: scene -> page."""
    sources = source_of(root)
    lists = []
    for kind, title, axis, tested in KINDS + [SCENES]:
        rows = []
        for part in parts[kind]:
            name, page = part['name'], page_of(kind, part['name'])
            body = [f'<p class="above"><a href="{relative(page, "methods/index.html" if kind != "scenes" else "scenes/index.html")}">{title}</a></p>',
                    f'<h1><code>{escape(name)}</code></h1><p class="lead">{escape(part["summary"])}.</p>']
            if kind == 'scenes' and name in moving:
                body.append(f'<p><a class="button" href="{relative(page, moving[name])}">See it move</a></p>')
            if part.get('equation'):
                body.append(equation(kind, part['equation']))
            facts = [(words, part[key]) for key, words in FACTS if part.get(key)]
            if part.get('reference'):
                facts.append(('Source', part['reference']))
            if part.get('capabilities'):
                facts.append(('Capabilities', ', '.join(part['capabilities'])))
            where = [s for s in sources.get(name, []) if s.startswith(FOLDERS[kind])]
            body.append('<dl>' + ''.join(f'<dt>{words}</dt><dd>{escape(v)}</dd>' for words, v in facts))
            if len(where) == 1:
                documents.sources.add(where[0])
                body.append(f'<dt>Implementation</dt><dd><a href="{relative(page, f"source/{where[0]}.html")}"><code>{where[0]}</code></a></dd>')
            body.append('</dl>')
            in_studies = studies.get((axis, name), [])
            if in_studies:
                items = []
                for study, words, target in in_studies:
                    linked = f'<a href="{relative(page, target)}">{escape(words)}</a>' if target else escape(words)
                    items.append(f'<li>{linked} <code>{escape(study)}</code></li>')
                body.append(f'<h2>Studies</h2><ul>{"".join(items)}</ul>')
            body.append(contract.section(tested, name))
            body.append(options(part))
            body.append(f'<p class="note"><code>perp info {escape(name)}</code> prints the same.</p>')
            site.write(page, f'{name} ({title})', ''.join(body))
            rows.append(f'<tr><td><a href="{relative("methods/index.html" if kind != "scenes" else "scenes/index.html", page)}"><code>{escape(name)}</code></a></td><td>{escape(part["summary"])}'
                        + (f'</td><td>{"moves" if name in moving else ""}' if kind == 'scenes' else '') + '</td></tr>')
        lists.append((kind, title, rows))
    site.write('methods/index.html', 'Methods', '<h1>Methods</h1><p>Everything that a study can combine, as the program describes it.</p><p class="links">'
               + ' '.join(f'<a href="#{kind}">{title}</a>' for kind, title, _ in lists if kind != 'scenes') + '</p>'
               + ''.join(f'<h2 id="{kind}">{title}</h2><div class="scroll"><table><tr><th>name</th><th>what it is</th></tr>{"".join(rows)}</table></div>' for kind, title, rows in lists if kind != 'scenes'))
    scenes = next(rows for kind, _, rows in lists if kind == 'scenes')
    site.write('scenes/index.html', 'Scenes', f'<h1>Scenes</h1><p>{len(scenes)} scenes come with perp. '
               f'<a href="{relative("scenes/index.html", "docs/reference/scenes.html")}">Their reference solutions</a>; <a href="{relative("scenes/index.html", "docs/reference/scene-files.html")}">scene files</a> of your own.</p>'
               f'<div class="scroll"><table><tr><th>name</th><th>what it is</th><th>page</th></tr>{"".join(scenes)}</table></div>')
