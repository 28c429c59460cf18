#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every shipped scene by its default command, some for a shorter time, against scenes.txt: status, and each error within a tenth.

    tests/golden/scenes.py            TAP ($PERP_BIN is the program)
    tests/golden/scenes.py --accept   write what does not agree anew

The table holds errors against references, closed forms and invariants, so that a change of a default that costs accuracy is seen.
It is no reference itself.  Errors below FLOOR are rounding: they must stay below it.  A metric marked ~ differs between compilers
(the motion is chaotic or decided by rounding): it is not compared. least..most: so does this, between these bounds; so does a
status with |."""
import concurrent.futures
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'python'))
import tap  # noqa: E402

TABLE = os.path.join(HERE, 'scenes.txt')
FLOOR = 1e-8  # of SI units, or relative
MORE = 0.1
ERRORS = ('err.q.max', 'err.v.max', 'err.tip.max', 'err.place.max', 'err.turn.max', 'truth.err', 'accel.rel.err', 'speed.rel.err',
          'impact.rel.err', 'impact.together.err', 'path.err.max', 'event.err', 'apex.rel.err', 'force.rel.err', 'pose.drift.max',
          'creep.vel.max', 'verdict.err', 'statics.err.max', 'period.rel.err', 'symmetry.err.max', 'invariant.rel.max',
          'drift.pos.max', 'pen.max', 'energy.gain.rel', 'energy.rel.max', 'momentum.lin.max', 'momentum.ang.max')
SLOW = {'falling'}  # minutes
# where seconds are enough for the errors of a default: --t-end
SHORT = {'flyball': '3s', 'gears': '0.3s', 'pulled-brick': '0.5s', 'pyramid': '0.7s', 'tree': '0.3s', 'wall': '0.6s'}


def scenes():
    return sorted(entry['name'] for entry in json.loads(tap.perp('list', 'scenes', '--json')[1]))


def run(scene):
    status, out, err = tap.perp('simulate', scene, '--json', *(['--t-end', SHORT[scene]] if scene in SHORT else []), timeout=600)
    if not out.startswith('{'):
        return scene, f'exit-{status}', {'': err}
    result = json.loads(out)
    return scene, result['status'].replace(' ', '-'), {m: float(x) for m, x in result['metrics'].items() if m in ERRORS}


def measured():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(run, (s for s in scenes() if s not in SLOW)))


def shown(x):
    return '<' if x < FLOOR else f'{x:.3g}'


def read():
    """{scene: (status, {metric: text})}"""
    table = {}
    with open(TABLE, encoding='utf-8') as f:
        for line in f:
            if line.strip() and not line.startswith('#'):
                scene, status, *pairs = line.split()
                table[scene] = status, dict(p.split('=') for p in pairs)
    return table


def agrees(text, x):
    if text == '~':
        return True
    if text == '<':
        return x < FLOOR
    if '..' in text:  # between kernels of BLAS
        least, most = map(float, text.split('..'))
        return (1 - MORE) * least <= x <= (1 + MORE) * most
    return abs(x - float(text)) <= MORE * float(text) + FLOOR


def accept():
    # a figure that agrees stays as it is in the table; a metric stays marked ~ until that is taken out by hand
    table = read() if os.path.exists(TABLE) else {}
    runs = measured()
    with open(TABLE, 'w', encoding='utf-8') as f:
        f.write('# Errors of the shipped scenes by `perp simulate SCENE`, of some until a time of its own (scenes.py).  <: below 1e-8; ~: decided by rounding, not compared.\n'
                '# Made by `ninja -C build accept-errors`; a figure that grows needs its reason in the commit.\n')
        for scene, status, errors in runs:
            before = table.get(scene, ('', {}))
            old = before[1]
            status = before[0] if status in before[0].split('|') else status
            texts = {m: old[m] if m in old and agrees(old[m], x) else shown(x) for m, x in errors.items()}
            f.write(' '.join([scene, status] + [f'{m}={text}' for m, text in texts.items()]) + '\n')


def main():
    if sys.argv[1:] == ['--accept']:
        return accept()
    table = read()
    runs = measured()
    missing = sorted(set(table) - {r[0] for r in runs})
    tap.ok(not missing, 'every scene of the table is shipped', *missing)
    for scene, status, errors in runs:
        was, texts = table.get(scene, ('not in the table', {}))
        wrong = [f'{m}: {shown(x)}, table {texts.get(m, "-")}' for m, x in errors.items() if m not in texts or not agrees(texts[m], x)]
        wrong += [f'{m}: table {x}, not measured' for m, x in texts.items() if m not in errors]
        tap.ok(status in was.split('|') and not wrong, f'{scene}: {was}', f'status {status}', *wrong)
    tap.done()


if __name__ == '__main__':
    main()
