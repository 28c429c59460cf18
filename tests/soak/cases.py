# SPDX-License-Identifier: GPL-3.0-or-later
"""Cases of the soak: what is run, and what is required of it. judge(case, tools) returns a list of (name, text) of what fails."""
import json
import math
import random

import judges
import scenes

SMOOTH = ['velocity', 'velocity-midpoint', 'velocity-nonlinear', 'velocity-implicit', 'reduced', 'impulse', 'ggl', 'generalized-alpha', 'hht', 'radau5',
          'phem56', 'bdf', 'variational', 'esdirk', 'augmented-lagrangian', 'coordinate-partitioning', 'tangent-coordinates',
          'acceleration', 'regularized:compliance=1e-12', 'si-ngs', 'small-steps', 'groups', 'moreau-jean', 'nonsmooth-alpha']
ORDERED = SMOOTH[:18]  # errors go with the step
CONTACT = ['velocity', 'velocity', 'velocity-midpoint', 'velocity-nonlinear', 'velocity-implicit', 'reduced', 'impulse', 'acceleration', 'groups', 'regularized',
           'penalty', 'si-baumgarte', 'si-split', 'si-ngs', 'soft-step', 'small-steps', 'xpbd', 'soft-constraints', 'avbd', 'point-mass',
           'tgs', 'moreau-jean', 'moreau-jean:projection=combined', 'nonsmooth-alpha', 'ipc:inset=1']
RIGID = CONTACT[:9]  # solved contact problems of rigid bodies
LCPS = ['dantzig', 'bpp', 'lemke', 'keller', 'auto', 'pgs', 'psor', 'block-gs', 'staggered', 'nncg', 'apgd', 'fischer-newton', 'interior-point', 'minmap-newton',
        'cone-newton', 'prox', 'admm', 'aclm', 'fixed-point', 'jacobi', 'pdas', 'extragradient', 'pgs-subspace', 'shock', 'rescue', 'enumerate', 'murty']
FAMILIES = ['spd', 'spd-degenerate', 'psd', 'pd-nonsymmetric', 'boxed', 'boxed-psd', 'p-matrix', 'stack', 'stack-box', 'stack-cone', 'wall-cone', 'heavy-cone',
            'pushed-cone', 'incline-box', 'incline-cone', 'poisson', 'tridiag', 'harker-pang', 'infeasible', 'nosol']
UNIQUE = ['spd', 'spd-degenerate', 'pd-nonsymmetric', 'boxed', 'p-matrix', 'poisson', 'tridiag', 'harker-pang']


def option(r, o):
    """A random value of an option, as text; None for those that name files or methods."""
    if o['type'] == 'bool':
        return r.choice(['true', 'false'])
    if o['type'] == 'enum':
        return r.choice(o['choices'])
    if o['type'] not in ('real', 'int') or not isinstance(o.get('default'), (int, float)):
        return None
    inside = o['range'].strip('[]()').split(',')
    try:
        lo, hi = float(inside[0]), float(inside[1])
    except (ValueError, IndexError):
        return None
    base = o['default'] if o['default'] else r.choice([0.001, 0.01, 0.1, 1, 10])
    x = base * 10 ** r.uniform(-2, 1.5)
    if r.random() < 0.1:
        x = r.choice([lo, hi])
    x = min(max(x, lo), hi)
    if math.isinf(x) or (o['type'] == 'int' and abs(x) > 5000):
        return None
    if o['type'] == 'int':
        return '%d' % round(x)
    if (x == lo and o['range'][0] == '(') or (x == hi and o['range'][-1] == ')'):
        return None
    return '%.3g' % x


def with_options(r, tools, kind, name):
    """NAME:key=value of one or two random options."""
    plain = name.split(':')[0] if not name.startswith(('gsl:', 'sundials:', 'siconos:')) else name
    known = tools.options(kind, plain)
    picks = {}
    for o in r.sample(known, min(len(known), r.randint(1, 2))):
        v = option(r, o)
        if v is not None and o['name'] not in ('budget', 'rounds', 'substeps'):
            picks[o['name']] = v
    return name + ''.join((',' if i or ':' in name[len(plain):] else ':') + '%s=%s' % kv for i, kv in enumerate(picks.items()))


def make(seed, tools, only=None):
    r = random.Random(seed)
    kind = only or r.choice(scenes.KINDS)
    case = {'seed': seed, 'kind': kind, 'methods': {}, 'options': False}
    if kind == 'shipped':
        case['name'] = r.choice([s for s in tools.names('scenes') if s not in ('tree', 'cloth')])
    elif kind == 'lcp':
        case.update(family=r.choice(FAMILIES), n=r.randint(2, 40), problem=r.randint(1, 10 ** 6), solvers=r.sample(LCPS, 4))
        case['options'] = r.random() < 0.4
        if case['options']:
            case['solvers'] = [with_options(r, tools, 'lcp', s) for s in case['solvers']]
        return case
    elif kind == 'input':
        case['scene'] = scenes.make(r, r.choice(['tree', 'loop', 'driven', 'drop', 'collide']))
        text = json.dumps(case['scene'])
        for _ in range(r.randint(1, 3)):
            i = r.randrange(len(text))
            text = text[:i] + r.choice(['', '-', '0', '1e308', ',', ']', '}', '"', 'e', '9' * 9, '\\u0000', ':', 'nan', '[', text[i:i + r.randint(1, 60)] * 2]) + text[i + r.randint(0, 4):]
        case['text'] = text
        return case
    else:
        case['scene'] = scenes.make(r, kind)
        head = case['scene']['scene']
        head['t_end'] = float('%.12g' % (head['h'] * 20 * max(1, round(head['t_end'] / head['h'] / 20))))
    contact = kind in ('drop', 'slide', 'collide') or (kind == 'shipped' and r.random() < 0.5)
    m = case['methods']
    m['formulation'] = r.choice(CONTACT if contact else SMOOTH)
    if m['formulation'] in ('acceleration', 'reduced', 'penalty') and r.random() < 0.7:
        m['ode'] = r.choice(['rk4', 'dopri5:tol=1e-8', 'heun', 'midpoint', 'implicit-midpoint', 'dop853:tol=1e-10', 'gsl:rkf45:tol=1e-8', 'radau5:tol=1e-8'])
    if r.random() < 0.4:
        m['kkt'] = r.choice([k for k in tools.names('kkt')])
    if r.random() < 0.3:
        m['stab'] = r.choice(tools.names('stab'))
    if contact and r.random() < 0.5:
        m['lcp'] = r.choice(LCPS)
    if contact and r.random() < 0.3:
        m['contact'] = r.choice(['box', 'polyhedral', 'cone', 'frictionless', 'convex'])
    case['options'] = r.random() < 0.35
    if case['options']:
        for key in r.sample(list(m), r.randint(1, len(m))):
            m[key] = with_options(r, tools, key, m[key])
    case['forces'] = r.random() < 0.5
    case['equivalent'] = r.choice(['', '', 'mirrored', 'shuffled', 'reversed'])
    case['rerun'] = r.random() < 0.15
    return case


def flags(methods, **more):
    out = []
    for k, v in {**methods, **more}.items():
        if v not in (None, ''):
            out += ['--' + k.replace('_', '-'), str(v)]
    return out


def together(a, b):
    """Pairs of the rows of two runs at the same times."""
    at = {round(row['t[s]'] * 1e9): row for row in b}
    pairs = [(row, at[round(row['t[s]'] * 1e9)]) for row in a if round(row['t[s]'] * 1e9) in at]
    if not pairs:
        raise ValueError('two runs without a common time')
    return pairs


def apart(scene, a, b):
    return max(judges.distance(scene, x, y) for x, y in together(a.rows, b.rows))


# momentum is not linear in fewer coordinates, and has the error of the integrator
FEWER = ('reduced', 'tangent-coordinates', 'coordinate-partitioning')
EXACT = {'formulation': 'acceleration', 'ode': 'dop853:tol=1e-11'}


def judge_process(run, out):
    """Exit statuses, messages and figures of one run."""
    if run.status in ('hang',):
        out.append(('hang', 'no end within %g s' % run.limit))
    elif run.status not in (0, 2, 3, 9, 10):
        out.append(('exit %s' % run.status, run.errors[-600:]))
    elif run.status in (2, 3) and not run.errors.strip():
        out.append(('no message', 'exit %d without a message' % run.status))
    if run.status in (0, 9, 10):
        if run.result is None:
            out.append(('not JSON', run.output[:200]))
            return
        want = {'ok': 0, 'fixed-work': 0, 'non-unique': 0, 'unsolved': 9}.get(run.result['status'], None)
        if want is not None and want != run.status:
            out.append(('status', 'status %s with exit %d' % (run.result['status'], run.status)))
        if run.status == 0:
            bad = [k for k, v in run.result['metrics'].items() if isinstance(v, float) and v != v]
            bad += ['final.' + k for k in 'qv' for x in run.result['final'][k] if not isinstance(x, (int, float)) or not math.isfinite(x)]
            if bad:
                out.append(('not finite', '%s at exit 0: %s' % (run.result['status'], bad[:4])))
            if abs(run.result['final']['t'] - run.result['t_end']) > 1e-9 * (1 + run.result['t_end']):
                out.append(('end', 'ends at %r, t_end %r' % (run.result['final']['t'], run.result['t_end'])))


def judge_states(case, tools, run, out):
    """Laws that hold for every method with status ok and plain options."""
    s, rows, kind = case['scene'], run.rows, case['kind']
    if len(rows) < 2 or any(not math.isfinite(x) for k, x in rows[-1].items() if k[0] in 'qv' and k[1:].isdigit()):
        return
    f = case['methods'].get('formulation', '').split(':')[0]
    h = run.result['h']
    if kind in ('free', 'collide'):
        P0, L0 = judges.momenta(s, rows[0])
        ps, ls = judges.momentum_scale(s, rows[0])
        m, dim, offs = sum(b['mass'] for b in s['bodies']), s['scene']['dim'], []
        for row in rows:
            P, L = judges.momenta(s, row)
            P[dim - 1] += m * s['scene']['gravity'] * row['t[s]']
            offs.append(math.dist(P, P0) / (ps + m * s['scene']['gravity'] * row['t[s]']))
        off, t = max(zip(offs, (row['t[s]'] for row in rows)))
        if off > 1e-7 and f not in ('point-mass', 'avbd') and not (f in FEWER and off <= 100 * finer(case, tools, run)):
            out.append(('momentum', 'linear momentum off by %.3g of its size at t = %g s' % (off, t)))
    e = [judges.energy(s, row) for row in rows]
    scale = judges.energy_scale(s, rows)
    speed = max(abs(x) for row in rows for k, x in row.items() if k[0] == 'v' and k[1:].isdigit())
    if kind in ('drop', 'slide', 'collide') and f in RIGID and 'stab' not in case['methods']:
        gain = (max(e) - e[0]) / scale
        slack = 0.02 + 3 * h * s['scene']['gravity'] / max(speed, 0.1) * s['scene']['t_end'] / 0.1 + 0.02 * speed * h * 50
        if gain > slack:
            out.append(('energy gain', 'energy gains %.3g of its scale (allowed %.3g)' % (gain, slack)))
    if kind in ('drop', 'slide') and not s.get('soak_tilt') and f in RIGID:
        for i, b in enumerate(s['bodies']):
            low = judges.lowest(s['scene']['dim'], b['shape'], judges.states(s, rows[-1])[i][0])
            if low is not None and low < -(2 * speed * h + 1e-3):
                out.append(('penetration', '%s is %.3g m below the floor at the end' % (b['name'], -low)))
        mu = s['materials']['default']['mu'] if not case['methods'].get('contact', '').startswith('frictionless') else 0.0
        law = case['methods'].get('contact', '')
        slack = math.sqrt(2) if not law.startswith(('cone', 'polyhedral', 'frictionless')) else 1.0
        for row in rows:
            for name, n, t in judges.floor_forces(s, row):
                weight = 9.81 * sum(b['mass'] for b in s['bodies'])
                if n < -1e-6 * weight:
                    out.append(('pulls', 'the floor pulls %s with %.3g N at t = %g s' % (name, -n, row['t[s]'])))
                    return
                if t > slack * mu * n * (1 + 1e-5) + 1e-5 * weight and f != 'impulse':
                    out.append(('Coulomb', '|T| = %.6g N > mu N = %.6g N of %s at t = %g s' % (t, mu * n, name, row['t[s]'])))
                    return
    return


def judge_smooth(case, tools, run, out):
    """Agreement with a second formulation, energy and momenta of the reference, and decrease of errors with the step."""
    s = case['scene']
    tree = case['kind'] in ('tree', 'driven')
    kkt = {'kkt': 'schur-svd'} if case['kind'] == 'loop' and s['scene']['dim'] == 3 else {}
    exact = tools.simulate(case, {**EXACT, **kkt})
    loose = tools.simulate(case, {**EXACT, **kkt, 'ode': 'dop853:tol=1e-9'})
    for e in (exact, loose):
        judge_process(e, out)
    if out or exact.status or loose.status:
        return
    floor = apart(s, exact, loose)
    if floor > 1e-4:
        return  # chaotic, or near a singular position
    if case['kind'] != 'driven':
        e = [judges.energy(s, row) for row in exact.rows]
        el = [judges.energy(s, row) for row in loose.rows]
        scale = judges.energy_scale(s, exact.rows)
        off, offl = max(abs(x - e[0]) for x in e) / scale, max(abs(x - el[0]) for x in el) / scale
        if off > 1e-7 + 10 * offl or off > 1e-5:
            out.append(('energy', 'energy of %s off by %.3g of its scale' % (exact.words, off)))
    if case['kind'] == 'free':
        P0, L0 = judges.momenta(s, exact.rows[0])
        P, L = judges.momenta(s, exact.rows[-1])
        if math.dist(L, L0) / judges.momentum_scale(s, exact.rows[0])[1] > 1e-6:
            out.append(('angular momentum', 'off by %.3g of its size' % (math.dist(L, L0) / judges.momentum_scale(s, exact.rows[0])[1])))
    if case['kind'] == 'driven': # joint coordinates take these only with one evaluation a step
        second = tools.simulate(case, {'formulation': 'velocity-midpoint'}, h='%.17g' % (s['scene']['t_end'] / 2000))
        if second.status == 2:
            second = tools.simulate(case, {'formulation': 'velocity'}, h='%.17g' % (s['scene']['t_end'] / 20000))
    elif tree:
        second = tools.simulate(case, {'formulation': 'reduced', 'ode': 'dop853:tol=1e-11'})
    else:
        second = tools.simulate(case, {'formulation': 'radau5'}, h='%.17g' % (s['scene']['t_end'] / 400))
    judge_process(second, out)
    if second.status == 0:
        off = apart(s, exact, second)
        allowed = 2e-5 + 1000 * floor
        if case['kind'] == 'driven':
            allowed += 5e-3
        if off > allowed and not tree:  # a spring whose ends nearly meet: what the step of 1/400 leaves there falls with it
            finer = tools.simulate(case, {'formulation': 'radau5'}, h='%.17g' % (s['scene']['t_end'] / 1600))
            judge_process(finer, out)
            if finer.status == 0 and 30 * apart(s, exact, finer) < off:
                off = 0
        if off > allowed:
            out.append(('agreement', '%s and %s differ by %.3g (allowed %.3g)' % (exact.words, second.words, off, allowed)))
    f = case['methods'].get('formulation', '').split(':')[0]
    if f not in ORDERED or case['options'] or run.status or run.result['status'] != 'ok' or 'tol=' in case['methods'].get('ode', ''):
        return
    if case['methods'].get('stab', 'post') not in ('post', 'baumgarte') or case['methods'].get('ode', '').startswith(('gsl', 'sundials')):
        return
    h = s['scene']['h']
    runs = [run] + [tools.simulate(case, case['methods'], h='%.17g' % (h / k)) for k in (2, 4, 8)]
    if any(x.status for x in runs):
        return
    errors = [apart(s, exact, x) for x in runs]
    size = judges.travel(s, exact.rows)
    if errors[3] > 0.6 * errors[0] + 2e-5 + 100 * floor and errors[3] > 0.01 * size or errors[3] > 0.2 * size and errors[3] > 0.7 * errors[0]:
        out.append(('convergence', 'errors of %s at h, h/2, h/4, h/8: %s of %.3g (h = %g)' % (run.words, ' '.join('%.3g' % x for x in errors), size, h)))


def finer(case, tools, run):
    """How far the run is from one of half the step."""
    half = tools.simulate(case, case['methods'], h='%.17g' % (case['scene']['scene']['h'] / 2))
    return apart(case['scene'], run, half) if half.status == 0 else math.inf


def judge_equivalent(case, tools, run, out):
    """The same model, written otherwise, gives the same motion while it is not chaotic."""
    if not case['equivalent'] or run.status or case['options'] or run.result['status'] != 'ok':
        return
    s = case['scene']
    if case['kind'] in ('drop', 'collide') and len(s['bodies']) > 1:
        return
    if case['kind'] in ('drop', 'slide') and s['bodies'][0]['shape']['kind'] != 'sphere':
        return
    same = tools.simulate(case, case['methods'], equivalent=case['equivalent'])
    near = tools.simulate(case, case['methods'], perturb=1e-9)
    judge_process(same, out)
    if same.status in (2, 3) or near.status:
        return
    if same.status != run.status:
        out.append(('equivalent', '%s ends with exit %s, %s with %s' % (run.words, run.status, same.words, same.status)))
        return
    off = apart(s, run, same)
    allowed = 1e-5 + 1e4 * apart(s, run, near)
    if case['methods'].get('formulation', '').split(':')[0] in FEWER:  # other coordinates, other errors
        allowed += 10 * finer(case, tools, run)
    if off > allowed:
        out.append(('equivalent', '%s differs from it with --equivalent %s by %.3g (allowed %.3g)' % (run.words, case['equivalent'], off, allowed)))


def judge_lcp(case, tools, out):
    file = tools.problem(case['family'], case['n'], case['problem'])
    solved = []
    for s in case['solvers']:
        run = tools.call(['lcp', 'solve', file, '--lcp', s, '--json'], 60)
        if run.status == 'hang':
            out.append(('hang', s))
        elif run.status not in (0, 2, 10):
            out.append(('exit %s' % run.status, '%s: %s' % (s, run.errors[-300:])))
        elif run.status == 0 and run.result and run.result.get('status') == 'solved':
            solved.append((s, run.result['lambda']))
            if any(not isinstance(x, (int, float)) for x in run.result['lambda']):
                out.append(('not finite', s))
            if case['family'] in ('infeasible', 'nosol'):
                out.append(('solved', '%s solves a problem that has no solution' % s))
    if case['family'] in UNIQUE:
        for s, x in solved[1:]:
            size = max(1e-12, max(abs(a) for a in solved[0][1]))
            off = max(abs(a - b) for a, b in zip(x, solved[0][1])) / size
            if off > 1e-4:
                out.append(('agreement', '%s and %s differ by %.3g on %s' % (solved[0][0], s, off, case['family'])))


def judge(case, tools):
    out = []
    kind = case['kind']
    if kind == 'lcp':
        judge_lcp(case, tools, out)
        return out
    if kind == 'input':
        run = tools.check(case['text'])
        if run.status not in (0, 2, 3, 4):
            out.append(('exit %s' % run.status, run.errors[-600:]))
        elif run.status and not run.errors.strip() and not run.output.strip():
            out.append(('no message', 'exit %s without a message' % run.status))
        return out
    run = tools.simulate(case, case['methods'])
    judge_process(run, out)
    if run.status == 'hang' or (out and run.status not in (0, 9, 10)):
        return out
    if case['rerun'] and run.result:
        again = tools.simulate(case, case['methods'])
        if again.result and again.result['final'] != run.result['final']:
            out.append(('rerun', 'the same command gives other numbers'))
    if kind == 'shipped':
        return out
    if run.status == 0 and not case['options']:
        judge_states(case, tools, run, out)
    if kind in ('tree', 'loop', 'free', 'driven'):
        judge_smooth(case, tools, run, out)
    if run.status == 0:
        judge_equivalent(case, tools, run, out)
    return out
