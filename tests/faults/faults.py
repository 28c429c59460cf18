#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""faults.py INJECT PRELOAD PERP [--points N | --all] [--only COMMAND] [--kind KIND] [--list]

Commands of perp in which one allocation or one system call fails, for each number of it. Required: no crash in perp's own code, no
end by a signal, exit status 0 only with complete output, else a message that names the cause, and no file left half written. A
study that was hit is resumed: its results are those of an undisturbed run, byte by byte. Prints TAP; --list prints each
point that fails. Crashes inside of libraries are counted apart, by the innermost frame outside of libc.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
KINDS = {'alloc': 'memory', 'open': 'Too many open files', 'read': 'Input/output error', 'write': 'No space left on device',
         'fsync': 'Input/output error', 'rename': 'Input/output error', 'close': 'Input/output error'}
MODELS = os.path.join(ROOT, 'tests/import/models')
EXAMPLES = os.path.join(ROOT, 'experiments/scenes/examples')

# name: variants of (arguments, files that it writes). @ stands for the folder of what was made beforehand.
COMMANDS = {
    'simulate': [(['simulate', '@/scene.yaml', '--series', 's.csv', '--forces', '--json'], ['s.csv']),
                 (['simulate', MODELS + '/arm.xml', '--t-end', '10ms', '--h', '1ms', '--view', '-o', 'v.html', '--no-open'], ['v.html'])],
    'lcp solve': [(['lcp', 'solve', '@/problem.lcp', '--json'], []),
                  (['lcp', 'solve', '@/problem.lcp', '--lcp', 'admm', '--json'], []),
                  (['lcp', 'solve', '@/problem.lcp', '--lcp', 'lemke', '--friction', 'pyramid:4', '--trace'], [])],
    'run': [(['run', '@/study.yaml', '-o', 'out', '-q', '--no-report', '-j', '1'], ['out/derived/cells.csv', 'out/plan.jsonl', 'out/scenes/*', 'out/series/*', 'out/replay/*'])],
    'report': [(['report', '@/finished', '-o', 'page.html'], ['page.html', 'report.json'])],
    'import': [(['import', MODELS + '/gantry.urdf', '-o', 'r.yaml'], ['r.yaml']),
               (['import', MODELS + '/humanoid.xml', '-o', 'r.yaml'], ['r.yaml']),
               (['import', EXAMPLES + '/bow.bvh', '-o', 'r.yaml'], ['r.yaml'])],
    'other': [(['check', '@/study.yaml'], []),
              (['export-scene', '@/scene.yaml', '-o', 'e.yaml'], ['e.yaml']),
              (['export', '@/finished', '--to', 'csv', '-o', 'table.csv'], ['table.csv']),
              (['answer', '@/finished'], []),
              (['lcp', 'generate', 'wall-cone', '-n', '12', '-o', 'w.lcp'], ['w.lcp'])],
}


def plain(text):
    """Without what differs from run to run: times, and shares that are computed of them."""
    text = re.sub(r'"time[^"]*": ("[^"]*"|[^,}{]+)', '"time": 0', text)
    text = re.sub(r'"(cpu|wall|step|collision|assembly|kkt|lcp|integrate|seconds)[^"]*": [-+.e0-9]+', '"time": 0', text)
    text = re.sub(r', [-+.e0-9]+ s\b', ', 0 s', text)
    text = re.sub(r'(?m)^(time|within| +median).*(\n +[a-z0-9].*)*$', '', text)
    return re.sub(r'/tmp/perp-faults-\w+/\w+', '/tmp', text)


def files(folder, names):
    out = {}
    for pattern in names:
        for path in sorted(glob.glob(os.path.join(folder, pattern))) or [os.path.join(folder, pattern)]:
            try:
                with open(path, 'rb') as f:
                    out[os.path.relpath(path, folder)] = f.read()
            except OSError:
                out[os.path.relpath(path, folder)] = None
    return out


def same_page(name, made, calm):
    """Pages hold times of runs, whose digits differ."""
    return name.endswith('.html') and made is not None and abs(len(made) - len(calm)) < 200


class Suite:
    def __init__(self, a, base):
        self.inject, self.preload, self.perp, self.base = a.inject, a.preload, a.perp, base
        self.made = os.path.join(base, 'made')
        os.mkdir(self.made)
        for name in ('scene.yaml', 'scene.csv', 'study.yaml'):
            shutil.copy(os.path.join(HERE, name), self.made)
        self.env = dict(os.environ, OPENBLAS_NUM_THREADS='1', LC_ALL='C.UTF-8', TMPDIR=base, HOME=base)
        self.plain(['lcp', 'generate', 'wall-cone', '-n', '24', '-o', self.made + '/problem.lcp'])
        self.plain(['run', self.made + '/study.yaml', '-o', self.made + '/finished', '-q', '--no-report'])

    def plain(self, arguments, cwd=None):
        p = subprocess.run([self.perp] + arguments, cwd=cwd or self.made, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if p.returncode:
            raise RuntimeError('%s: exit %d: %s' % (' '.join(arguments), p.returncode, p.stderr.decode()))
        return p

    def one(self, variant, kind, n, folder):
        """Runs it in a new folder; returns (exit status or 'hang', output, errors, files, stacks, count, path)."""
        arguments, names = variant
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder + '/tmp')
        arguments = [x.replace('@', self.made) for x in arguments]
        if '@/finished' in variant[0]:
            shutil.copytree(self.made + '/finished', folder + '/finished')
            arguments = [x.replace(self.made + '/finished', 'finished') for x in arguments]
        report = folder + '/tmp/report'
        command = [self.inject, self.preload, report, kind, str(n), self.perp] + arguments
        try:
            p = subprocess.run(command, cwd=folder, env=dict(self.env, TMPDIR=folder + '/tmp'), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
            status, out, err = p.returncode, p.stdout.decode('utf-8', 'replace'), p.stderr.decode('utf-8', 'replace')
        except subprocess.TimeoutExpired:
            status, out, err = 'hang', '', ''
        text = ''
        if os.path.exists(report):
            with open(report, errors='replace') as f:
                text = f.read()
        m = re.search(r'^%s \d+ of (\d+): (.*)$' % kind, text, re.M)
        return status, out, err, files(folder, names), text, int(m.group(1)) if m else 0, m.group(2) if m else ''

    def origin(self, stacks):
        """perp or the library whose function is innermost in a crash; libc only passes on what it was given."""
        for line in stacks.split('crash\n', 1)[1].split('\n'):
            module = os.path.basename(line.split('(')[0].split('[')[0].strip())
            if module and not module.startswith(('libc.so', 'faults_preload', 'libpthread', 'ld-linux', 'linux-vdso', 'libm.so')):
                return module.split('.so')[0]
        return '?'

    def judge(self, name, variant, kind, n, calm, folder):
        status, out, err, made, text, _, path = self.one(variant, kind, n, folder)
        found = []
        if 'crash\n' in text:
            origin = self.origin(text)
            found.append(('crash' if origin == os.path.basename(self.perp) else 'crash of ' + origin, text.split('crash\n', 1)[1][:3000]))
        elif status == 'hang' or status >= 128:
            found.append(('hang' if status == 'hang' else 'signal', str(status)))
        elif kind == 'read' and path.startswith('socket:'):
            pass # the ends of perp's own lines: no medium that fails
        elif status == 0:
            told = KINDS[kind] in ' '.join((err + out).split()) or 'crash:' in out or 'oom:' in out
            if plain(out) != calm[0] and not told and name not in ('run', 'report'):
                a, b = plain(out).splitlines(), calm[0].splitlines()
                other = [x for x in a if x not in b][:3] + ['-'] + [x for x in b if x not in a][:3]
                found.append(('silent', 'other output at exit 0: %s; %s' % (err[-100:], ' | '.join(other)[:400])))
            wrong = [k for k in calm[1] if made.get(k) != calm[1][k] and not same_page(k, made.get(k), calm[1][k])]
            if wrong and not told:
                found.append(('silent', 'exit 0, but %s: %s' % (wrong[:3], err[-200:])))
            elif kind == 'fsync' and not told:
                found.append(('silent', 'exit 0'))
        else:
            said = ' '.join((err + out).split())
            if KINDS[kind] not in said and not (kind == 'write' and 'disk full' in said):
                found.append(('unnamed', 'exit %s: %s' % (status, said[-300:])))
            # a reader in a child that needs too much may be the file's fault
            if status not in ((5, 3) if 'the reader' in said else (5,) if kind == 'alloc' else (1, 3, 5)):
                found.append(('status', 'exit %s: %s' % (status, said[-300:])))
        left = [x for d in (folder, folder + '/out', folder + '/tmp') for x in glob.glob(d + '/*') + glob.glob(d + '/.*')
                if re.search(r'perp-[0-9a-zA-Z]+(\.tmp)?$', x)]
        if left and not (status == 'hang' or found and found[0][0].startswith('crash')):
            found.append(('left', ' '.join(os.path.basename(x) for x in left)))
        if name == 'run' and status != 'hang':
            try: # runs that crashed or had no memory are results: --retry repeats them
                self.plain([x.replace('@', self.made) for x in variant[0]] + ['--retry', 'crash,oom,setup-failed'], folder)
                again = files(folder, variant[1])
                wrong = [k for k in set(calm[1]) | set(again) if again.get(k) != calm[1].get(k)]
                if wrong:
                    found.append(('lost', 'after the resumed run: %s' % wrong[:4]))
            except RuntimeError as e:
                found.append(('lost', 'cannot be resumed: %s' % str(e)[-300:]))
        return kind, n, path, found


def points(count, most):
    if count <= most:
        return list(range(1, count + 1))
    return sorted({1 + int(i * count / most) for i in range(most)})


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ('inject', 'preload', 'perp'):
        p.add_argument(name)
    p.add_argument('--points', type=int, default=100, help='per command')
    p.add_argument('--all', action='store_true', help='every system call, and so many allocations that there are 2200 points or more')
    p.add_argument('--only', choices=list(COMMANDS))
    p.add_argument('--kind', choices=list(KINDS))
    p.add_argument('--list', action='store_true')
    p.add_argument('--jobs', type=int, default=2)
    a = p.parse_args()
    a.inject, a.preload, a.perp = (os.path.abspath(x) for x in (a.inject, a.preload, a.perp))
    tests = 0
    with tempfile.TemporaryDirectory(prefix='perp-faults-') as base:
        suite = Suite(a, base)
        status = suite.one((['version'], []), 'write', 0, base + '/try')[0]
        if status == 125:
            print('1..0 # SKIP no ptrace or no seccomp filter on this machine')
            return 0
        for name, variants in COMMANDS.items():
            if a.only and name != a.only:
                continue
            counts = [(v, k, suite.one(v, k, 0, base + '/calm')[5]) for v in variants for k in KINDS if a.kind in (None, k)]
            calm = []
            for v in variants:
                r = suite.one(v, 'write', 0, base + '/calm')
                if r[0] != 0:
                    print('# %s: exit %s: %s' % (' '.join(v[0]), r[0], r[2][-300:]))
                calm.append((plain(r[1]), r[3]))
            jobs = []
            calls = sum(c for _, k, c in counts if k != 'alloc')
            for v, k, c in counts:
                total = sum(x for _, y, x in counts if (y == 'alloc') == (k == 'alloc'))
                share = a.points // 2 if not a.all else max(1000, 2200 - calls) if k == 'alloc' else total
                some = max(3, -(-share * c // max(1, total)))
                jobs += [(v, k, n) for n in points(c, c if a.all and c <= 1200 else some)]
            with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
                def judge(numbered):
                    i, (v, k, n) = numbered
                    folder = '%s/w%d' % (base, i)
                    try:
                        return suite.judge(name, v, k, n, calm[variants.index(v)], folder) + (v,)
                    finally:
                        shutil.rmtree(folder, ignore_errors=True)
                results = list(pool.map(judge, enumerate(jobs)))
            total = {}
            seen = set()
            for kind, n, path, found, v in results:
                for what, text in found:
                    total[what] = total.get(what, 0) + 1
                    key = (what, re.sub(r'\[0x\w+\]|0x\w+', '', text)[:400], kind)
                    if (a.list or not what.startswith('crash of')) and key not in seen:
                        seen.add(key)
                        print('# %s: %s %d %s: %s: %s' % (' '.join(v[0][:3]), kind, n, path, what, text.replace('\n', '\n#    ')))
            own = {k: x for k, x in total.items() if not k.startswith('crash of')}
            tests += 1
            print('%s %d - %s: %d points; %s' % ('not ok' if own else 'ok', tests, name, len(results),
                                                   ', '.join('%s %d' % x for x in sorted(total.items())) or 'nothing found'), flush=True)
    print('1..%d' % tests)
    return 0


sys.exit(main())
