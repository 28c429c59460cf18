#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""results/published/ against the program, and pages of docs (PAGES) against results/published/.

    published.py page [--write]             are the numbers of the pages those of the published files?  --write: make them so
    published.py again PERP OUT [NAME...]   runs a part of each published study again and compares

A number of a page is followed by a comment that says where it is from, which is a query (SQLite) on the published
files: `2.8 mm<!-- chain6-stab: max("drift.pos.max") from cells where stab = 'post' -->`.  There are three tables: cells
(cells.csv), best (ask, apart, condition, who, value: a row for each best one of a comparison) and claims (text, verdict).

Cells that are run again must be published, with the same status and the same figures; claims that they decide must be
decided as published; and those that were best without a clock must be the best again.  What is not compared: times, and
what was decided by one (status timeout, answers at equal time, claims about times); figures of cells that failed on their way, which are of
the moment of failure; counts over all cells, which follow from the statuses.  Each comparison must find what is changed
in a copy of the published files."""
import copy
import csv
import json
import math
import os
import re
import sqlite3
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, 'results'))
import publish  # noqa: E402

PAGES = [os.path.join(ROOT, 'docs', name) for name in ('explanation/results.md', 'how-to/choose-solver.md')]
LIMIT = 400_000  # bytes of a published study, the largest of 1791 cells
# Figures are published in 7 digits; below FLOOR they are rounding.  Under another compiler, processor or library the
# last digits differ, and a method that decides by comparing (control of the error, iteration) may make a step more or
# less, and with it another error: then a few figures, SOME of all, may be off, each by no more than FAR.
RELATIVE, FLOOR, SOME, FAR = 1e-6, 1e-11, 0.01, 0.05
# Solvers of complementarity problems stop within their tolerance, from starts that are as good as the step before was:
# then what they leave, how often they went round and who left least is not compared, and a few may not get there.
SOLVED, ROUNDS = 1e-5, ('unsolved', 'lcp.iters.mean', 'iterations', 'work.counted', 'warm.work.rel')

# what is run again: all choices in a comparison, so that who is best can be compared
AGAIN = {
    'chain6-stab': 'h == 1 ms or kkt == tree and h > 1 ms',
    'work-precision': 'h > 0',
    'stabilization-atlas': 'scene in (pendulum, four-bar, bricard, sarrus)',
    'formulations': 'scene in (pendulum, "chain:links=6", "cubes:count=2", desk)',
    'contact-canonical': 'scene in (incline, rolling-sphere, bouncing-ball, painleve, cradle, press, card-house, oblique-impact, '
                         'wedge, see-saw, "mass-ratio:ratio=1000")',
    'lcp-compare': 'problem in ("spd:n=64,seed=1", "stack:n=64,seed=1", "wall:n=64,seed=1", "incline-slide:n=192,seed=1", '
                   '"incline-box:n=96,seed=1", "incline-cone:n=96,seed=1", "wall-rough-cone:n=96,seed=1", '
                   '"stack-friction:n=24,seed=1", "murty1:n=16,seed=1", '
                   '"csizmadia:n=16,seed=1", "kostreva:n=3,seed=1", "infeasible:n=4,seed=1", '
                   '"sequence:problems/sequences/arch", "sequence:problems/sequences/smooth")',
}
FINISHED = ('ok', 'several solutions', 'unsolved', 'fixed-work')
BY_CLOCK = ('timeout', 'oom')

count = 0


def ok(passed, text, *why):
    global count
    count += 1
    print(f'{"ok" if passed else "not ok"} {count} - {text}')
    for line in ([] if passed else why[:20]):
        print(f'# {line}')
    return passed


def published(name):
    folder = os.path.join(publish.PUBLISHED, name)
    made = {'cells': publish.rows_of(f'{folder}/cells.csv')}
    for part in ('answer', 'environment'):
        with open(f'{folder}/{part}.json', encoding='utf-8') as f:
            made[part] = json.load(f)
    return made


# ---- again ------------------------------------------------------------------------------------------------------------

def off(a, b, floor):
    """relative difference of two figures of tables, above the floor; infinite where one is none"""
    if a == b:
        return 0
    try:
        x, y = float(a), float(b)
    except ValueError:
        return math.inf
    if not (math.isfinite(x) and math.isfinite(y)):
        return math.inf
    return max(0, abs(x - y) - floor) / max(abs(x), abs(y))


def by_clock(text):
    return 'time.' in text


def timed_claim(name, text):
    """Is a claim of a study about times?"""
    with open(os.path.join(ROOT, f'experiments/studies/{name}.yaml'), encoding='utf-8') as f:
        return by_clock(f.read().partition(text)[2].partition('text: ')[0])


def differences(name, old, new):
    """What published files and a run say differently, a line each; and how much was compared."""
    lines, some, n = [], [], {'statuses': 0, 'left to the clock': 0, 'figures': 0, 'bests': 0, 'claims': 0}
    solvers = bool({'lcp', 'problem'} & set(old['cells'][0]))
    alike = all(old['environment'][k] == new['environment'][k] for k in ('compiler', 'flags', 'libraries', 'cpu'))
    columns = old['cells'][0]
    known = {publish.parts(r, columns): r for r in old['cells']}
    for r in new['cells']:
        cell = publish.parts(r, columns)
        what, was = ' '.join(f'{k}={v}' for k, v in cell), known.get(cell)
        if was is None:
            lines.append(f'{what}: not published')
            continue
        if r['status'] in BY_CLOCK or was['status'] in BY_CLOCK:
            n['left to the clock'] += 1
            continue
        n['statuses'] += 1
        if r['status'] != was['status']:
            (lines if alike else some).append(f'{what}: {r["status"]}, published {was["status"]}')
        elif r['status'] in FINISHED:
            for f in publish.STUDIES[name]['figures']:
                if not alike and f in ROUNDS:
                    continue
                n['figures'] += r[f] != ''
                apart = off(r[f], was[f], SOLVED if solvers and not alike else FLOOR)
                if apart > RELATIVE:
                    (lines if alike or apart > FAR else some).append(f'{what}: {f} {r[f]}, published {was[f]}')
    n['by other roundings'] = len(some)
    if len(some) > SOME * (n['statuses'] + n['figures']):
        lines += some
    for a, b in zip(new['answer']['answers'], old['answer']['answers']):
        if a['kind'] != 'best' or by_clock(a['asked']):
            continue
        was = {(c['for'], c['condition']): c for c in b['comparisons']}
        for c in a['comparisons']:
            key = c['for'], c['condition']
            if key not in was:
                lines.append(f'{a["ask"]} {key}: not published')
                continue
            # solvers of libraries that are not installed here
            here = [w for w in was[key]['best'] if w in a['who']]
            if solvers and not alike and 0 <= was[key].get('value', 1) < SOLVED:
                continue
            n['bests'] += bool(here)
            if here and not set(c['best']) & set(here):
                lines.append(f'{a["ask"]} {key}: {c["best"]}, published {was[key]["best"]}')
    verdicts = {c['text']: c['verdict'] for c in old['answer']['claims']}
    for c in new['answer']['claims']:
        if c['verdict'] != 'undecided' and not timed_claim(name, c['text']):
            n['claims'] += 1
            if c['verdict'] != verdicts.get(c['text']):
                lines.append(f'{c["verdict"]}, published {verdicts.get(c["text"])}: {c["text"]}')
    return lines, n


def tampered(name, old, new):
    """(what was changed, copy of the published files)"""
    columns = old['cells'][0]
    again_run = {publish.parts(r, columns) for r in new['cells'] if r['status'] in FINISHED}

    def cell(files, figure):
        return next((r for r in files['cells'] if publish.parts(r, columns) in again_run and r['status'] in FINISHED
                     and r[figure] and float(r[figure]) > 1e-3), None)
    figure = next(f for f in publish.STUDIES[name]['figures'] if f not in ROUNDS and cell(old, f))
    files = copy.deepcopy(old)
    files['environment'] = new['environment']
    cell(files, figure)[figure] = repr(float(cell(files, figure)[figure]) * (1 + 1e-5))
    yield f'{figure} of a cell by 1e-5', files
    files = copy.deepcopy(old)
    cell(files, figure)[figure] = repr(float(cell(files, figure)[figure]) * (1 + 2 * FAR))
    yield f'{figure} of a cell by 10 %', files
    files = copy.deepcopy(old)
    files['environment'] = new['environment']
    cell(files, figure)['status'] = 'diverged'
    yield 'a status', files
    files = copy.deepcopy(old)
    files['cells'].remove(cell(files, figure))
    yield 'a cell that is left out', files
    files = copy.deepcopy(old)
    decided = {c['text'] for c in new['answer']['claims'] if c['verdict'] != 'undecided' and not timed_claim(name, c['text'])}
    next(c for c in files['answer']['claims'] if c['text'] in decided)['verdict'] = 'undecided'
    yield 'the verdict of a claim', files
    files = copy.deepcopy(old)
    for a, b in zip(files['answer']['answers'], new['answer']['answers']):
        if a['kind'] == 'best' and not by_clock(a['asked']):
            files['environment'] = new['environment']
            losers = {(c['for'], c['condition']): [w for w in b['who'] if w not in c['best']] for c in b['comparisons']}
            c = next(c for c in a['comparisons'] if losers.get((c['for'], c['condition'])))
            c['best'] = losers[c['for'], c['condition']][:1]
            yield 'who is best', files
            break


def again(name, perp, out):
    folder = os.path.join(out, name)
    # the clock is not compared: no rounds for it
    call = [perp, 'run', name, '--set', 'profile=full', '--set', 'measure.repeats=0', '--only', AGAIN[name], '-o', folder,
            '--fresh', '--no-report', '-q']
    done = subprocess.run(call, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    # exit status 7: cells of the full study are missing, as is meant
    if not ok(done.returncode in (0, 7), f'{name}: its part runs', f'exit status {done.returncode}', *done.stderr.splitlines()):
        return
    old, new = published(name), {'cells': publish.table(name, folder), 'answer': publish.answers(folder),
                                 'environment': publish.environment(name, folder, '')}
    lines, n = differences(name, old, new)
    ok(not lines and min(n['statuses'], n['figures'], n['claims']) > 0,
       f'{name}: as published ({", ".join(f"{v} {k}" for k, v in n.items())})', f'{len(lines)} differences', *lines)
    for what, files in tampered(name, old, new):
        before, _ = differences(name, {**old, 'environment': files['environment']}, new)
        ok(len(differences(name, files, new)[0]) > len(before), f'{name}: {what}, changed, is found')


# ---- the page ---------------------------------------------------------------------------------------------------------

UNITS = {'': 1, 'm': 1, 'cm': 1e-2, 'mm': 1e-3, 'µm': 1e-6, 'nm': 1e-9, 'pm': 1e-12, '%': 1e-2, 's': 1, 'ms': 1e-3, 'µs': 1e-6}
NUMBER = r'(?<![\w.])(\d+(?:\.\d+)?(?:e[+-]?\d+)?)'
CITED = re.compile(NUMBER + r'(?: ?(' + '|'.join(u for u in UNITS if u) + r'))?(?:\*\*)?<!-- ([\w-]+): (.*?) -->', re.S)


def database(name):
    """The published files as tables."""
    files, db = published(name), sqlite3.connect(':memory:')
    columns = list(files['cells'][0])

    def typed(text):
        try:
            return float(text) if text else None
        except ValueError:
            return text
    db.execute(f'create table cells ({", ".join(chr(34) + c + chr(34) for c in columns)})')
    db.executemany(f'insert into cells values ({", ".join("?" * len(columns))})',
                   [[typed(r[c]) for c in columns] for r in files['cells']])
    db.execute('create table best (ask, apart, condition, who, value)')
    for i, a in enumerate(files['answer']['answers']):
        for c in a.get('comparisons', []):
            db.executemany('insert into best values (?, ?, ?, ?, ?)',
                           [(i + 1, c['for'], c['condition'], w, c.get('value')) for w in c['best']])
    db.execute('create table claims (text, verdict)')
    db.executemany('insert into claims values (?, ?)', [(c['text'], c['verdict']) for c in files['answer']['claims']])
    return db


def agrees(text, unit, value):
    """Is a number of the page the value, to the digits that the page gives?"""
    if not isinstance(value, (int, float)):
        return False
    mantissa, _, exponent = text.partition('e')
    last = 10.0 ** (int(exponent or 0) - len(mantissa.partition('.')[2]))
    return abs(float(text) - value / UNITS[unit]) <= 0.5001 * last


def written(match, bases):
    """A cited number as the published files have it, in as many digits as before, at least two; counts are whole."""
    number, unit, name, query = match.groups()
    value = bases[name].execute(f'select {query}').fetchone()[0] / UNITS[unit or '']
    n = max(2, len(number.partition('e')[0].replace('.', '').lstrip('0')))
    new = f'{value:.0f}' if value == round(value) and abs(value) < 1e9 else f'{value:.{n}g}'
    if 'e' in new and 1e-4 < abs(value) < 1e9:
        new = f'{value:.0f}'
    return match.group(0).replace(number, re.sub(r'e([+-])0', r'e\1', new).replace('e+', 'e'), 1)


def write_page():
    bases = {name: database(name) for name in os.listdir(publish.PUBLISHED) if name in publish.STUDIES}
    for page in PAGES:
        with open(page, encoding='utf-8') as f:
            text = f.read()
        with open(page, 'w', encoding='utf-8') as f:
            f.write(CITED.sub(lambda m: written(m, bases) if m.group(3) in bases else m.group(0), text))


def bare_numbers(text):
    """Numbers under "Results" that say no source.  Those in `names` and in the words of titles and links are none."""
    found = []
    for part in re.findall(r'^### Results\n(.*?)(?=^##)', text + '\n##', re.S | re.M):
        part = CITED.sub('', part)
        part = re.sub(r'<!--.*?-->|`[^`]*`|\]\([^)]*\)|^\|[-:| ]*$', '', part, flags=re.M | re.S)
        found += [m.group(0) for m in re.finditer(NUMBER, part)]
    return found


def cited(name, text, bases):
    """the numbers of a page against the published files"""
    page, wrong, changed, n = name, [], 0, 0
    for number, unit, name, query in CITED.findall(text):
        n += 1
        try:
            value = bases[name].execute(f'select {query}').fetchone()[0]
        except (KeyError, sqlite3.Error, TypeError) as e:
            wrong.append(f'{name}: {query}: {e!r}')
            continue
        if not agrees(number, unit, value):
            wrong.append(f'{number} {unit}: {name} says {value} ({query})')
        digit = number[-1] if 'e' not in number else number.partition('e')[0][-1]
        other = re.sub(r'\d(?=e|$)', str((int(digit) + 5) % 10), number, count=1)
        changed += isinstance(value, (int, float)) and not agrees(other, unit, value)
    if n != text.count('<!--'):
        wrong.append(f'{text.count("<!--")} comments, but {n} numbers with a query')
    ok(n > 0 and not wrong, f'{page}: its {n} numbers are those of results/published', *wrong)
    ok(changed == n, f'another last digit would be found ({changed} of {n})')


def tokens_shown(what, svg, header):
    texts = re.findall(r'<text[^>]*>(.*?)</text>', svg, re.S)
    shown = {c for c in header if '.' in c and any(c in t for t in texts)}
    ok(len(texts) > 9 and not shown, f'{what} has words, no tokens of metrics', *shown)


def page():
    bases = {name: database(name) for name in os.listdir(publish.PUBLISHED) if name in publish.STUDIES}
    for path in reversed(PAGES):  # the last text is that of the results
        with open(path, encoding='utf-8') as f:
            text = f.read()
        cited(os.path.relpath(path, ROOT), text, bases)
    bare = bare_numbers(text)
    ok(not bare, 'docs/explanation/results.md: every number that came out says from where', *bare)
    ok(bare_numbers('### Results\n3 of `h=4`\n') == ['3'], 'one that does not is found')
    for name in publish.STUDIES:
        folder, where = os.path.join(publish.PUBLISHED, name), f'results/published/{name}'
        if not ok(os.path.isdir(folder), f'{where} is there'):
            continue
        ok(f'](../../{where}/figure.svg)' in text, f'{name}: its figure is on the page')
        with open(f'{folder}/answer.json', encoding='utf-8') as f:
            leading = [s['text'] for s in json.load(f).get('findings', []) if s['lead']]
        ok(len(leading) == 3 and not any(s.startswith('These runs') for s in leading), f'{name}: three findings lead', *leading)
        size = sum(os.path.getsize(f'{folder}/{f}') for f in os.listdir(folder))
        ok(size <= LIMIT, f'{name}: {size} bytes are small')
        open_claims = [c['text'] for c in published(name)['answer']['claims'] if c['verdict'] != 'proved']
        ok(not open_claims, f'{name}: its claims hold', *open_claims)
        env = published(name)['environment']
        ok(not {'host', 'kernel'} & set(env) and not re.search(r'/(home|root|work|tmp|usr)\b', json.dumps(env)),
           f'{name}: its environment names no machine and no path')
    # the table of symptoms: its words are those of the study, its rows in README.md those of the page
    shown = publish.get_table(publish.COMPLAINTS)
    ok(shown.count('\n') > 20 and publish.reworded(shown) == shown, 'complaints.md: its rows have the words of the study',
       'results/publish.py --complaints --texts writes them')
    ok(publish.get_table(publish.README) == publish.verdicts(shown), 'README.md: its rows of symptoms are those of complaints.md',
       'results/publish.py --complaints --texts writes them')
    other = re.sub(r'\*\*[-+.e\d]+\*\*', '5.5e-9', shown)
    ok(other != shown and publish.verdicts(other) != publish.verdicts(shown), 'another verdict would be found')
    with open(publish.FRONT_FIGURE, encoding='utf-8') as f:
        svg = f.read()
    with open(os.path.join(publish.PUBLISHED, 'chain6-stab/cells.csv'), encoding='utf-8') as f:
        tokens_shown('README.md: its figure', svg, f.readline().strip().split(','))
    ok(all(words in svg for words, *_ in publish.BANDS.values()), 'README.md: its figure names its curves')
    # a table or a map that was edited by hand or written by another program
    for name in bases:
        with open(os.path.join(publish.PUBLISHED, name, 'cells.csv'), newline='', encoding='utf-8') as f:
            header = next(csv.reader(f))
        if 'panels' not in publish.STUDIES[name]:
            with open(os.path.join(publish.PUBLISHED, name, 'figure.svg'), encoding='utf-8') as f:
                ok(f.read() == publish.who_solves_what(name, published(name)['cells']), f'{name}: its map is that of its table')
        else:
            with open(os.path.join(publish.PUBLISHED, name, 'figure.svg'), encoding='utf-8') as f:
                tokens_shown(f'{name}: its figure', f.read(), header)
        ok(all(f in header for f in publish.STUDIES[name]['figures']), f'{name}: its columns are those that are published today')


def main():
    if sys.argv[1:] == ['page', '--write']:
        write_page()
    if sys.argv[1:2] == ['page']:
        page()
    elif sys.argv[1:2] == ['again'] and len(sys.argv) > 3:
        for name in sys.argv[4:] or publish.STUDIES:
            again(name, sys.argv[2], sys.argv[3])
    else:
        sys.exit(__doc__)
    print(f'1..{count}')


if __name__ == '__main__':
    main()
