#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""results/published/: what full runs of six studies found, small enough to be kept in version control.

    results/publish.py [--perp PROGRAM] [--repeats N] [NAME...]      all six where none is named

runs each study in full, one cell at a time, in results/NAME (what is there already is not run again), and writes
results/published/NAME/:

  cells.csv         a row a cell: its choice of parts, status, the figures that answers and claims are made of, and a time
  answer.json       questions, answers, who was best in each comparison, claims with their verdicts
  figure.svg        the main figure, drawn from cells.csv: curves (by gnuplot) or a map of who solves what
  environment.json  commit, compiler, processor, libraries, the command, and what times are worth

    results/publish.py --figures

draws every figure.svg anew from the cells.csv beside it, and docs/img/chain6-work.svg, the figure of README.md, from those of
chain6-stab.  Nothing is run; curves need gnuplot.

    results/publish.py --findings [--perp PROGRAM] [NAME...]

writes the findings of answer.json anew from the rows of cells.csv, where the words of findings have changed and the figures have
not. `findings_of` then says how many of the runs these rows are. Nothing is run.

    results/publish.py --complaints [--perp PROGRAM]

runs study complaints in its profile `spread` (ten starts and three steps for each entry, 11 minutes of processor time) and writes
its table of symptoms, and the versions, settings and steps of its engines, between the marks of docs/explanation/complaints.md, and five
rows of it, with signs for figures, between those of README.md.  With --texts nothing is run: the figures of the page stay, the words
of its rows become those of the study.

tests/report/published.py runs a part of each again and compares."""
import argparse
import csv
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PUBLISHED = os.path.join(ROOT, 'results/published')

# figures: columns that are published; time: the one that is not compared; kept: which cells are, where all of them are too
# many; panels: x, y, title and which cells, of the figure; curve: the name of the curve that a cell is of; without: a map
INTEGRATORS = ('euler', 'midpoint', 'rk4', 'dopri5', 'dop853:tol', 'gsl:rk8pd:tol', 'sundials:cvode-adams:tol', 'radau5:tol')
OWN_STEP = ('impulse', 'ggl', 'generalized-alpha', 'radau5', 'point-mass', 'penalty:stiffness=10000,damping=20')
FORMULATIONS = {('velocity', 'symplectic-euler', 'baumgarte'): 'velocity, with feedback',
                ('acceleration', 'rk4', 'baumgarte'): 'acceleration (rk4), with feedback',
                ('reduced', 'rk4', ''): 'reduced (rk4)'}


FAMILIES = ('phem56', 'radau5', 'sundials:ida', 'augmented-lagrangian', 'ggl', 'hht', 'bdf')


def integrator(row):
    if row.get('formulation', 'acceleration') != 'acceleration':
        return None
    name = re.sub(r'(?<=:tol)=.*', '', row['ode'])
    return name if name in INTEGRATORS else None


def formulation(row):
    own = row['formulation'] if row['formulation'] in OWN_STEP and row['ode'] in ('', 'symplectic-euler') else None
    return FORMULATIONS.get((row['formulation'], row['ode'], row['stab']), own)


def family(row):
    """of the formulations that hold their joints by themselves, and of the one that is compared with them"""
    name = re.sub(r':tol=.*', '', row['formulation'])
    if name in FAMILIES:
        return name
    if row['formulation'] == 'acceleration' and row['stab'] == 'post:velocity=true' and row['ode'].startswith('gsl:rk8pd'):
        return 'gsl:rk8pd'
    return 'tangent-coordinates' if name == 'tangent-coordinates' and row['ode'].startswith('gsl:rk8pd') else None


def the_chain(row):
    return (row['scene'], row['formulation'], row['ode'], row['kkt']) == ('chain', 'velocity', 'symplectic-euler', 'tree')


STUDIES = {
    'chain6-stab': {
        'figures': ['err.tip.max', 'drift.pos.max', 'drift.pos.pre', 'energy.rel.max', 'steps', 'rhs.calls'], 'time': 'time.cpu',
        # the other factorizations differ in time alone
        'kept': lambda r: r['kkt'] == 'tree' or r['h'] == '0.001',
        'panels': [('h', 'drift.pos.max', 'Largest constraint error [m]', the_chain),
                   ('h', 'err.tip.max', 'Largest error of the tip [m]', the_chain)],
        'curve': lambda r: r['stab']},
    'lcp-compare': {
        'figures': ['rel', 'iterations', 'work.counted', 'warm.work.rel'], 'time': 'time.cpu',
        'kept': lambda r: (r['tol'] == '1e-10' and not re.search(r'seed=[2-9]', r['problem']) and
                           not r['lcp'].startswith('siconos:'))},
    'contact-canonical': {
        'figures': ['truth.err', 'accel.rel.err', 'impact.rel.err', 'impact.together.err', 'force.rel.err', 'lift.max',
                    'unsolved', 'lcp.iters.mean'], 'time': 'time.step_us'},
    'formulations': {
        'figures': ['err.tip.max', 'drift.pos.max', 'energy.rel.max', 'h.stable'], 'time': 'time.cpu',
        # study work-precision is about integrators
        'kept': lambda r: r['ode'] != 'implicit-midpoint',
        'panels': [('h', 'err.tip.max', 'Largest error of the tip [m]', lambda r: r['scene'] == 'chain'),
                   ('h', 'drift.pos.max', 'Largest constraint error [m]', lambda r: r['scene'] == 'chain')],
        'curve': formulation},
    'work-precision': {
        'figures': ['err.q.max', 'energy.rel.max', 'rhs.calls', 'steps'], 'time': 'time.cpu',
        'panels': [('rhs.calls', 'err.q.max', f'Largest relative error: {words}', lambda r, scene=scene: r['scene'] == scene)
                   for scene, words in (('pendulum', 'pendulum'), ('free-body:preset=box149', 'free body'), ('chain', 'chain'))],
        'curve': integrator},
    'stabilization-atlas': {
        'figures': ['err.q.max', 'drift.pos.max', 'energy.rel.max', 'steps'], 'time': 'time.cpu',
        'panels': [('time.cpu', 'err.q.max', f'Largest relative error: {words}', lambda r, scene=scene: r['scene'] == scene)
                   for scene, words in (('pendulum', 'pendulum'), ('four-bar', 'four-bar linkage'), ('bricard', 'Bricard mechanism'))],
        'curve': family},
}
AXES = {'h': 'Step size h [s]', 'time.cpu': 'CPU time [s]', 'rhs.calls': 'Evaluations of the right-hand side'}
PARTS = ['scene', 'problem', 'formulation', 'ode', 'kkt', 'lcp', 'contact', 'stab', 'h', 'tol']
TIMES = ('CPU times of one thread, medians over the timing rounds, on a machine of two cores that was shared; with '
         'measure.repeats=0 in the command of a single run without rounds. They are good for ratios of two and more, not for '
         'per cents; no test compares them.')


def rows_of(path):
    with open(path, newline='', encoding='utf-8') as f:
        return list(csv.DictReader(f))


def digits(text, n):
    """a number of a table of perp in n digits, other texts as they are"""
    try:
        return f'{float(text):.{n}g}'
    except ValueError:
        return text


def order(row):
    return [(0, float(v), '') if re.fullmatch(r'[\d.e+-]+', v) else (1, 0, v) for v in row.values()]


def table(name, folder):
    """The cells of a results folder that were run, as they are published: [{column: text}], sorted by their parts."""
    study, made = STUDIES[name], []
    times = {r['cell']: r for r in rows_of(f'{folder}/derived/timing.csv')}
    for r in rows_of(f'{folder}/derived/cells.csv'):
        if r['status'] == 'planned' or r['cause'].startswith(('--only', '--skip')):
            continue
        row = {p: digits(r[p], 6) for p in PARTS if r.get(p) is not None}
        row['status'] = r['status']
        row.update((f, digits(r[f], 7)) for f in study['figures'])
        row[study['time']] = digits(times[r['cell']].get(study['time'] + '.median', ''), 3)
        if study.get('kept', lambda row: True)(row):
            made.append(row)
    return sorted(made, key=order)


def parts(row, columns):
    """what a cell is: its choice of parts, of those that are published"""
    return tuple((p, row[p]) for p in PARTS if p in columns and row[p])


def answers(folder):
    """derived/answers.json without the figures of those that were not best; who: all that were compared"""
    with open(f'{folder}/derived/answers.json', encoding='utf-8') as f:
        j = json.load(f)
    for a in j['answers']:
        a['who'] = sorted({e['who'] for c in a.get('comparisons', []) for e in c['of']})
        for c in a.get('comparisons', []):
            values = [e['value'] for e in c.pop('of') if e['best'] and 'value' in e]
            if values:
                c['value'] = float(f'{min(values, key=abs):.7g}')
    return j


def environment(name, folder, command):
    files = glob.glob(f'{folder}/env/*.json')
    if len(files) != 1:
        sys.exit(f'publish.py: {folder} has cells of {len(files)} programs or machines; remove it and publish again')
    with open(files[0], encoding='utf-8') as f:
        env = json.load(f)
    kept = ('perp', 'commit', 'compiler', 'buildtype', 'flags', 'libraries', 'machine', 'system', 'cpu', 'cores')
    return {'study': name, 'command': command, **{k: env[k] for k in kept}, 'times': TIMES}


# ---- curves in words --------------------------------------------------------------------------------------------------
NAMES = {'none': 'no stabilization', 'post': 'post-stabilization', 'baumgarte': 'Baumgarte', 'euler': 'explicit Euler', 'midpoint': 'explicit midpoint', 'rk4': 'RK4',
         'dopri5': 'Dormand–Prince 5', 'dop853': 'Dormand–Prince 8', 'gsl:rk8pd': 'Prince–Dormand 8', 'sundials:cvode-adams': 'Adams (CVODE)', 'radau5': 'Radau IIA',
         'ggl': 'GGL', 'generalized-alpha': 'generalized α', 'point-mass': 'point masses', 'penalty': 'penalty forces', 'impulse': 'impulses',
         'phem56': 'PHEM56', 'sundials:ida': 'IDA (SUNDIALS)', 'augmented-lagrangian': 'augmented Lagrangian', 'hht': 'HHT-I3', 'bdf': 'BDF 3',
         'tangent-coordinates': 'tangent coordinates'}
UNITS = {'alpha': ('α', ' 1/s'), 'stiffness': ('stiffness', ''), 'damping': ('damping', '')}


def words(curve):
    """A curve in words, with units: of "baumgarte:alpha=50" "Baumgarte, α = 50 1/s"."""
    name, options = curve, []
    if '=' in curve or curve.endswith(':tol'):
        name, _, rest = curve.rpartition(':')
        options = [o.split('=') for o in rest.split(',') if o != 'tol']
    text = [NAMES.get(name, name)]
    for o in options:
        key, unit = UNITS.get(o[0], (o[0], ''))
        text.append(key if o[1] == 'true' else f'{key} = {o[1]}{unit}')
    return ', '.join(text)


# ---- curves -----------------------------------------------------------------------------------------------------------

COLOURS = ['#0072b2', '#d55e00', '#009e73', '#e69f00', '#cc79a7', '#56b4e9', '#000000', '#999999', '#7f3c00']  # Okabe and Ito


def gnuplot(script):
    """the picture; gnuplot numbers its elements alike every time: the same rows give the same bytes"""
    return subprocess.run(['gnuplot'], input='\n'.join(script), stdout=subprocess.PIPE, text=True, check=True).stdout


def curves(name, rows):
    """The panels of a study, drawn by gnuplot from the published rows that are ok."""
    study = STUDIES[name]
    names = sorted({c for r in rows if any(p[3](r) for p in study['panels']) for c in [study['curve'](r)] if c})
    legend = 70 + 6.5 * max(len(words(c)) for c in names)
    width = 340 * len(study['panels']) + legend
    styles = {c: f"with linespoints lw 1.5 pt {k + 4} ps 0.7 lc rgb '{COLOURS[k]}'" for k, c in enumerate(names)}
    out = [f"set terminal svg size {width:.0f},320 font 'sans-serif,11' dynamic background 'white'",
           'set multiplot', 'set logscale xy', "set format xy '10^{%T}'", 'set border 3', 'set tics nomirror', 'unset mytics',
           "set grid lc rgb '#cccccc'", 'unset key']
    last = {}  # of a curve in the last panel: its value at the least x
    for i, (x, y, title, chosen) in enumerate(study['panels']):
        for k, curve in enumerate(names):
            own = [r for r in rows if chosen(r) and study['curve'](r) == curve and r['status'] == 'ok' and r[y]]
            out += [f'$c{k} << EOD', *(f'{r[x]} {r[y]}' for r in own), 'nan nan', 'EOD']
            last[curve] = float((max if x != 'h' else min)(own, key=lambda r: float(r[x]))[y]) if own else 0
        out += [f'set origin {340 * i / width},0', f'set size {340 / width},1', f"set title '{title}' noenhanced",
                f"set xlabel '{AXES[x]}'", 'plot ' + ', '.join(f'$c{k} {styles[c]} notitle' for k, c in enumerate(names))]
    # the legend has a place of its own, in the order of the curves beside it
    out += [f'set origin {1 - legend / width},0', f'set size {legend / width},1', 'set lmargin 0', 'set rmargin 0', 'unset border',
            'unset tics', 'unset xlabel', 'unset title', 'unset logscale', 'set key left center Left reverse', 'set xrange [0:1]',
            'set yrange [0:1]',
            'plot ' + ', '.join(f"NaN {styles[c]} title '{words(c)}' noenhanced" for c in sorted(names, key=last.get, reverse=True))]
    return gnuplot(out)


# the figure of README.md: integrators, their colours, markers, and how far their names are moved up
FRONT_FIGURE = os.path.join(ROOT, 'docs/img/chain6-work.svg')
BANDS = {'euler': ('Euler', '#666666', 4, -0.35), 'symplectic-euler': ('semi-implicit Euler', '#d55e00', 9, 0.35),
         'midpoint': ('midpoint', '#a66f00', 11, 0), 'rk4': ('Runge-Kutta 4', '#0072b2', 7, 0),
         'gsl:rk8pd': ('Prince-Dormand 8', '#007d5a', 5, 0)}


def front(rows):
    """Error of the tip of the chain against work: for each integrator a curve without stabilization and, as a band, what the
    best stabilization at each step size gains."""
    own = [r for r in rows if (r['scene'], r['formulation'], r['kkt'], r['status']) == ('chain', 'acceleration', 'tree', 'ok') and
           r['h'] != '0.001']
    out = ["set terminal svg size 760,475 font 'sans-serif,13' dynamic background 'white'", 'set logscale xy',
           "set format xy '10^{%T}'", 'set border 3', 'set tics nomirror', 'unset mxtics', 'unset mytics', "set grid lc rgb '#cccccc'",
           'unset key', 'set lmargin 11', 'set rmargin 19', 'set xrange [80:2e5]', 'set yrange [1e-15:4]', 'set ytics 100',
           'set title "{/=15 The integrator matters more than the stabilization}\\n'
           '{/=12 Six hanging links. Line: no stabilization. Shaded: down to the best of seven stabilizations}"',
           f"set xlabel 'Work: {AXES['rhs.calls'].lower()}'", "set ylabel 'Largest error of the tip [m]'",
           "set label 'rounding errors' at 3e4,2e-13 center textcolor rgb '#666666'"]
    bands, lines = [], []
    for i, (ode, (name, colour, point, up)) in enumerate(BANDS.items()):
        least, plain = {}, {}
        for r in own:
            if r['ode'] == ode:
                error = float(r['err.tip.max'])
                least[r['h']] = min(error, least.get(r['h'], error))
                if r['stab'] == 'none':
                    plain[r['h']] = float(r['rhs.calls']), error
        curve = sorted((x, error, least[h]) for h, (x, error) in plain.items())
        out += [f'$c{i} << EOD', *(f'{x:g} {error:g} {best:g}' for x, error, best in curve), 'EOD',
                f"set label '{name}' at {curve[-1][0]:g},{curve[-1][1]:g} offset 1,{up} textcolor rgb '{colour}'"]
        bands.append(f"$c{i} using 1:2:3 with filledcurves fc rgb '{colour}' fs transparent solid 0.25 noborder")
        lines.append(f"$c{i} using 1:2 with linespoints lw 2 pt {point} ps 0.8 lc rgb '{colour}'")
    return gnuplot(out + ['plot ' + ', '.join(bands + lines)])


# ---- a map of who solves what -----------------------------------------------------------------------------------------

SHADES = [(1, '#009e73', 'all'), (0.75, '#8fd0ae', 'three quarters'), (0.25, '#f0e442', 'a quarter'), (1e-9, '#e69f00', 'fewer'),
          (0, '#d55e00', 'none')]


def escaped(text):
    return text.replace('&', '&amp;').replace('<', '&lt;')


def who_solves_what(name, rows):
    """Rows: solvers (and friction models); columns: scenes or families of problems; colour: the share of cells that are ok."""
    share = {}
    for r in rows:
        if r['status'] == 'unsuited' or r['status'] == 'skipped':
            continue
        if name == 'contact-canonical' and r['formulation'] != 'velocity':
            continue
        who = r['lcp'] + (', ' + r['contact'] if r.get('contact') else '')
        what = r['scene'] if 'scene' in r else re.sub(r':n=.*', '', r['problem']).replace('sequence:problems/', '')
        what = 'harvested' if what.endswith('.lcp') else what
        share.setdefault((who, what), []).append(r['status'] == 'ok')
    whos, whats = sorted({w for w, _ in share}), sorted({w for _, w in share})
    left, step = 200, 14
    shown = [re.sub(r'\d+\.\d{4,}', lambda m: f'{float(m.group(0)):.2g}', what) for what in whats]
    top = 30 + round(5.2 * max(map(len, shown)))
    width, height = left + step * len(whats) + 130, top + step * len(whos) + 50
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
           'font-family="sans-serif" font-size="10">', f'<title>{name}: share of cells that are ok</title>',
           f'<rect width="{width}" height="{height}" fill="white"/>']
    for i, short in enumerate(shown):
        x = left + step * i + 10
        out.append(f'<text transform="translate({x},{top - 6}) rotate(-60)">{escaped(short)}</text>')
    squares = {colour: [] for _, colour, _ in SHADES}
    for k, who in enumerate(whos):
        y = top + step * k
        out.append(f'<text x="{left - 6}" y="{y + 10}" text-anchor="end">{escaped(who)}</text>')
        for i, what in enumerate(whats):
            cells = share.get((who, what))
            if cells:
                part = sum(cells) / len(cells)
                colour = next(c for least, c, _ in SHADES if part >= least)
                squares[colour].append(f'M{left + step * i} {y}h{step - 1}v{step - 1}h{1 - step}z')
    out += [f'<path fill="{colour}" d="{"".join(drawn)}"/>' for colour, drawn in squares.items()]
    x, y = left, top + step * len(whos) + 20
    for _, colour, word in SHADES:
        out.append(f'<rect x="{x}" y="{y}" width="{step - 1}" height="{step - 1}" fill="{colour}"/>'
                   f'<text x="{x + 18}" y="{y + 10}">{word}</text>')
        x += 30 + 6 * len(word)
    out.append(f'<text x="20" y="{y + 10}">solved, of the cells that suit:</text></svg>')
    return '\n'.join(out) + '\n'


# ---- writing ----------------------------------------------------------------------------------------------------------

def pretty(value, depth=0):
    """JSON with a line for each comparison of an answer"""
    flat = isinstance(value, list) and all(isinstance(v, str) for v in value)
    if depth == 4 or flat or not isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    pad, ends = ' ' * (depth + 1), '{}' if isinstance(value, dict) else '[]'
    items = [f'{json.dumps(k)}: {pretty(v, depth + 1)}' for k, v in value.items()] if isinstance(value, dict) else \
        [pretty(v, depth + 1) for v in value]
    return ends[0] + ','.join(f'\n{pad}{i}' for i in items) + f'\n{pad[1:]}{ends[1]}'


def write_json(path, value):
    with open(path, 'w', encoding='utf-8') as f:
        f.write(pretty(value) + '\n')


def figure(name, rows, out):
    with open(f'{out}/figure.svg', 'w', encoding='utf-8') as f:
        f.write(curves(name, rows) if 'panels' in STUDIES[name] else who_solves_what(name, rows))


def figures():
    for name in STUDIES:
        rows = rows_of(f'{PUBLISHED}/{name}/cells.csv')
        figure(name, rows, f'{PUBLISHED}/{name}')
        if name == 'chain6-stab':
            with open(FRONT_FIGURE, 'w', encoding='utf-8') as f:
                f.write(front(rows))


def publish(name, folder, command, out):
    rows, env = table(name, folder), environment(name, folder, command)
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    with open(f'{out}/cells.csv', 'w', newline='', encoding='utf-8') as f:
        same = [p for p in PARTS if len({r.get(p) for r in rows}) == 1]  # they say nothing
        writer = csv.DictWriter(f, [c for c in rows[0] if c not in same], extrasaction='ignore', lineterminator='\n')
        writer.writeheader()
        writer.writerows(rows)
    write_json(f'{out}/answer.json', answers(folder))
    write_json(f'{out}/environment.json', env)
    figure(name, rows, out)
    size = sum(os.path.getsize(f'{out}/{f}') for f in os.listdir(out))
    print(f'{os.path.relpath(out)}: {len(rows)} cells, {size // 1000} kB')


def findings(perp, names):
    """Findings of published tables: the site makes results of them, too."""
    sys.path.insert(0, os.path.join(ROOT, 'experiments/site'))
    import make
    import studies
    program = make.Program(os.path.abspath(perp))
    for name in names:
        path = f'{PUBLISHED}/{name}/answer.json'
        with open(path, encoding='utf-8') as f:
            answer = json.load(f)
        with tempfile.TemporaryDirectory(prefix='perp-findings-') as scratch:
            made = studies.results_of(program, ROOT, f'{PUBLISHED}/{name}', name, scratch)
            if made is None:
                sys.exit(f'publish.py: no row of {name} is a run of the study; publish it again')
            folder, found, rows, planned = made
            said = json.loads(program.run('answer', folder, '--json'))
        answer.update((k, said[k]) for k in ('findings', 'shares', 'constant'))
        answer['findings_of'] = f'the {rows} rows of cells.csv, of {planned} runs'
        write_json(path, answer)
        print(f'{os.path.relpath(path)}: {len(said["findings"])} findings of {answer["findings_of"]}')


# ---- the table of symptoms --------------------------------------------------------------------------------------------

MARKS = ('<!-- symptoms -->', '<!-- /symptoms -->')
ENGINES = ('<!-- engines -->', '<!-- /engines -->')
# columns of engines: their engine in the study, and its own step, s
OWN = {'ODE': ('ode', None), 'Bullet': ('bullet', 1 / 240), 'Feather': ('bullet:bodies=featherstone', 1 / 240), 'DART': ('dart', 1e-3),
       'MuJoCo': ('mujoco', 2e-3), 'elliptic': ('mujoco:cone=elliptic', 2e-3), 'Box2D': ('box2d', 1 / 60), 'Chipmunk': ('chipmunk', 1 / 60)}


# the rows of README.md, by the threads that report them
FRONT = ('Genesis-Embodied-AI/genesis-world#907', 'dartsim/dart#3442', 'jrouwe/JoltPhysics#1392', 'liabru/matter-js#5',
         'bulletphysics/bullet3#1446')
README, COMPLAINTS = os.path.join(ROOT, 'README.md'), os.path.join(ROOT, 'docs/explanation/complaints.md')


def get_table(path, marks=MARKS):
    """the table between the marks of a page"""
    with open(path, encoding='utf-8') as f:
        return f.read().partition(marks[0] + '\n')[2].partition(marks[1])[0]


def put_table(path, made, marks=MARKS):
    """a table between the marks of a page; False: it has none"""
    with open(path, encoding='utf-8') as f:
        page = f.read()
    if page.count(marks[0]) != 1 or page.count(marks[1]) != 1:
        return False
    before, rest = page.split(marks[0])
    with open(path, 'w', encoding='utf-8') as f:
        f.write(f'{before}{marks[0]}\n{made}{marks[1]}{rest.split(marks[1])[1]}')
    return True


def seconds(h):
    return f'1/{1 / h:.0f} s' if h > 2.1e-3 else f'{1000 * h:g} ms'


def engines(folder):
    """version, settings and steps of each column that is an engine, as the cells have them"""
    of = {}
    for r in rows_of(f'{folder}/derived/cells.csv'):
        if r['resolved']:
            of.setdefault(r['engine'], []).append(r)
    lines = ['| column | engine | steps | settings |', '|---|---|---|---|']
    for column, (engine, own) in OWN.items():
        rows = of.get(engine, [])
        if not rows:
            continue
        steps = sorted({float(r['h']) for r in rows}, reverse=True)
        shown = [f'**{seconds(h)}**' if own and abs(h - own) < 1e-9 else seconds(h) for h in steps]
        # a setting that follows the step: as it is with the engine's own one
        version, _, settings = next(r for r in rows if not own or abs(float(r['h']) - own) < 1e-9)['resolved'].partition(', ')
        lines.append(f'| {column} | {version} | {", ".join(shown)} | {settings} |')
    return '\n'.join(lines) + '\n'


def verdict(cell):
    if '*' in cell:
        return 'x'
    if cell.startswith('~'):
        return '~'
    try:
        return 'ok' if float(cell) >= 0 else cell
    except ValueError:
        return cell.split(' ')[-1]  # nothing, '-', 'u', or how it failed


def reworded(made):
    """the table with the words of the study: what is reported, of whom, where"""
    with open(os.path.join(ROOT, 'experiments/studies/complaints.yaml'), encoding='utf-8') as f:
        rows = re.split(r'\n    - name: ', f.read().partition('\n  rows:')[2])[1:]
    head, line, *old = made.splitlines()
    if len(rows) != len(old):
        sys.exit(f'publish.py: the study has {len(rows)} rows and the page {len(old)}: run --complaints without --texts')
    lines = [head, line]
    for row, shown in zip(rows, old):
        cells = shown.split(' | ')
        key = {k: v.strip().strip('"') for k, v in re.findall(r'^      (text|of|source): (.*)$', row, re.M)}
        thread = f'[{key["source"]}]({"https://github.com/" + key["source"].replace("#", "/issues/")})'
        cells[:3] = f'| {key["text"]}', key['of'], thread if '#' in key['source'] else key['source']
        lines.append(' | '.join(cells))
    return '\n'.join(lines) + '\n'


def verdicts(made):
    """five rows of the table with signs for figures, and the thread behind what they report"""
    head, _, *rows = ([cell.strip() for cell in line.strip('|\n').split(' | ')] for line in made.splitlines())
    lines = [['what is reported, and of whom', *head[4:]], ['---', *[':-:' for _ in head[4:]]]]
    of_thread = {row[2].strip('[').partition(']')[0]: row for row in rows}
    for what, of, thread, _, *cells in (of_thread[thread] for thread in FRONT):
        link = re.search(r'\(https:[^)]*\)', thread)
        said = f'[{what}]{link.group()}' if link else what
        lines.append([f'{said} ({of})', *map(verdict, cells)])
    return ''.join(f'| {" | ".join(line)} |\n' for line in lines)


def complaints(perp, texts):
    if texts:
        put_table(COMPLAINTS, reworded(get_table(COMPLAINTS)))
        put_table(README, verdicts(get_table(COMPLAINTS)))
        return
    folder = os.path.join(ROOT, 'results/complaints')
    call = ['run', 'complaints', '--set', 'profile=spread', '-o', folder, '--no-report']
    status = subprocess.call([perp, *call], stdout=subprocess.DEVNULL)
    if status != 0:
        sys.exit(f'publish.py: perp {" ".join(call)} ended with exit status {status}')
    with open(f'{folder}/derived/symptoms.md', encoding='utf-8') as f:
        made = f.read()
    for path, table, marks in (README, verdicts(made), MARKS), (COMPLAINTS, made, MARKS), (COMPLAINTS, engines(folder), ENGINES):
        print(f'{os.path.relpath(path, ROOT)}: {"table written" if put_table(path, table, marks) else "has no marks, left alone"}')


def replicate(perp):
    folder = os.path.join(ROOT, 'results/replicate')
    call = ['run', 'replicate', '-o', folder, '--no-report']
    status = subprocess.call([perp, *call], stdout=subprocess.DEVNULL)
    if status != 0:
        sys.exit(f'publish.py: perp {" ".join(call)} ended with exit status {status}')
    with open(f'{folder}/derived/replicate.md', encoding='utf-8') as f:
        made = f.read()
    path = os.path.join(ROOT, 'docs/explanation/replication.md')
    done = put_table(path, made, ('<!-- replicate -->', '<!-- /replicate -->'))
    print(f'{os.path.relpath(path, ROOT)}: {"tables written" if done else "has no marks, left alone"}')


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('names', nargs='*', metavar='NAME', help=', '.join(STUDIES))
    p.add_argument('--perp', default=os.path.join(ROOT, 'perp'), metavar='PROGRAM', help='default: the launcher ./perp')
    p.add_argument('--repeats', type=int, metavar='N', help='timing rounds, where not those of the study; 0: none')
    p.add_argument('--complaints', action='store_true', help='the table of study complaints in README.md and docs/explanation/complaints.md, alone')
    p.add_argument('--replicate', action='store_true', help='the tables of docs/explanation/replication.md, alone')
    p.add_argument('--texts', action='store_true', help='with --complaints: the words of the study, without running it')
    p.add_argument('--findings', action='store_true', help='the findings alone, from the published cells')
    p.add_argument('--figures', action='store_true', help='the figures alone, from the published cells')
    a = p.parse_args()
    if a.figures:
        figures()
        return
    if a.replicate:
        replicate(a.perp)
        return
    if a.complaints:
        complaints(a.perp, a.texts)
        return
    for name in a.names:
        if name not in STUDIES:
            p.error(f"'{name}' is not one of the published studies: {', '.join(STUDIES)}")
    names = a.names or list(STUDIES)
    if a.findings:
        findings(a.perp, names)
        return
    folders = {name: os.path.join(ROOT, 'results', name) for name in names}
    words = ['--set', 'profile=full', '-j', '1']
    if a.repeats is not None:
        words += ['--set', f'measure.repeats={a.repeats}']
    # All are run before any is written: the program says of which commit it is, and whether files have changed since.
    for name in names:
        call = ['run', name, *words, '-o', folders[name], '--no-report']
        status = subprocess.call([a.perp, *call], stdout=subprocess.DEVNULL)
        if status != 0:
            sys.exit(f'publish.py: perp {" ".join(call)} ended with exit status {status}')
    for name in names:
        publish(name, folders[name], f'./perp run {name} {" ".join(words)}', os.path.join(PUBLISHED, name))


if __name__ == '__main__':
    main()
