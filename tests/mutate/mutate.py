#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random mutants of the sources, one at a time, and which test notices each.

  tests/mutate/mutate.py --seed 1 --number 200      (CONTRIBUTING.md says more)

The checkout is never touched: its files, committed or not, are copied to --dir and built and changed there.
Mutants that survive are listed at the end; those that change nothing stand in equivalent.txt with a reason.
Needs Python 3.8 and nothing beyond what perp itself needs."""
import argparse
import copy
import fcntl
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDERS = ('solvers/', 'models/', 'experiments/metrics/')
# tests of the runner alone, which wait for disks
ELSEWHERE = ('journal', 'plan', 'robust', 'report', 'study', 'replay', 'expr', 'fuzz_study_read', 'fuzz_fclib_read')
SUITES = ('unit', 'contract', 'guard', 'invariant', 'golden', 'agree', 'fuzz', 'oracle', 'physics')

# (name, what is found, what stands there instead)
SWAPS = [
    ('compare', r' < ', ' <= '), ('compare', r' <= ', ' < '), ('compare', r' > ', ' >= '),
    ('compare', r' >= ', ' > '), ('compare', r' < ', ' > '), ('compare', r' > ', ' < '),
    ('equal', r' == ', ' != '), ('equal', r' != ', ' == '),
    ('logic', r' && ', ' || '), ('logic', r' \|\| ', ' && '),
    ('sum', r' \+ ', ' - '), ('sum', r' - ', ' + '),
    ('product', r' \* ', ' / '), ('product', r' / ', ' * '),
    ('assign', r' \+= ', ' -= '), ('assign', r' -= ', ' += '),
    ('assign', r' \*= ', ' /= '), ('assign', r' /= ', ' *= '),
    ('function', r'\bfabs\(', '('), ('function', r'\bfmax\(', 'fmin('), ('function', r'\bfmin\(', 'fmax('),
    ('function', r'\bsqrt\(', '('),
    ('negation', r'(?<=[(\s])!(?=[a-zA-Z(])', ''), ('sign', r'(?<=[(=,?:] )-(?=[a-zA-Z(])', ''),
    ('sign', r'(?<=\()-(?=[a-zA-Z(])', ''), ('truth', r'\btrue\b', 'false'), ('truth', r'\bfalse\b', 'true'),
    ('return', r'\bcontinue;', ';'),
]
JOBS = 1  # compilers and tests at a time
NUMBER = re.compile(r'(?<![\w.\]\[])(\d+\.\d+(?:e-?\d+)?|\d+e-?\d+|\d+)(?![\w.])')


def blanked(text):
    """The text with comments, strings, preprocessor lines and error messages as spaces, same length."""
    out = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])\'',
                 lambda m: re.sub(r'[^\n]', ' ', m.group()), text, flags=re.S)
    out = re.sub(r'^[ \t]*#(?:[^\n\\]|\\.|\\\n)*', lambda m: re.sub(r'[^\n]', ' ', m.group()), out, flags=re.M | re.S)
    # arguments of messages, and rows of option tables, which tests of the tables see
    return re.sub(r'\bPERP_(?:FAIL|REAL|INT|TRACE|CARVE)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)',
                  lambda m: re.sub(r'[^\n]', ' ', m.group()), out)


def sites(path, text):
    code = blanked(text)
    for name, pattern, new in SWAPS:
        for m in re.finditer(pattern, code):
            yield path, m.start(), m.end(), name, new
    for m in NUMBER.finditer(code):
        old = m.group()
        if re.search(r'\b(enum|static const char|\.caps|\.reference)\b[^;\n]*$', code[code.rfind('\n', 0, m.start()) + 1:m.start()]):
            continue
        if '.' in old or 'e' in old:
            yield path, m.start(), m.end(), 'constant', repr(float(old) / 2)
        else:
            yield path, m.start(), m.end(), 'constant', str(int(old) + 1)
            if int(old) > 0:
                yield path, m.start(), m.end(), 'constant', str(int(old) - 1)


def line_of(text, at):
    start, end = text.rfind('\n', 0, at) + 1, text.find('\n', at)
    return text[start:end if end >= 0 else len(text)].strip(), text.count('\n', 0, at) + 1


def shuffled(every, texts, seed):
    """By a hash of what a mutant says: a change of one file leaves those of the others in their order."""
    seen, out = {}, []
    for path, start, end, name, new in every:
        text = texts[path]
        before, after = text[text.rfind('\n', 0, start) + 1:start], text[end:text.find('\n', end)]
        said = '|'.join((str(seed), path, before.strip(), text[start:end], new, after.strip()))
        seen[said] = seen.get(said, 0) + 1
        out.append((hashlib.sha256(('%s|%d' % (said, seen[said])).encode()).digest(), (path, start, end, name, new)))
    return [s for _, s in sorted(out)]


class Mutant:
    def __init__(self, path, text, start, end, name, new):
        self.path, self.name = path, name
        self.text = text[:start] + new + text[end:]
        self.before, self.line = line_of(text, start)
        self.after = line_of(self.text, start)[0]

    def key(self):
        return '%s | %s | %s' % (self.path, self.before, self.after)


def read(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def write(tree, path, text):
    with open(os.path.join(tree, path), 'w', encoding='utf-8') as f:
        f.write(text)


def copy_tree(to):
    """Tracked and new files of the checkout; times are kept where nothing changed, so that builds are short."""
    names = subprocess.run(['git', '-C', ROOT, 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
                           stdout=subprocess.PIPE, check=True).stdout.decode().split('\0')
    wanted = set()
    for name in filter(None, names):
        source, target = os.path.join(ROOT, name), os.path.join(to, name)
        if not os.path.isfile(source):
            continue
        wanted.add(name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.exists(target) or open(source, 'rb').read() != open(target, 'rb').read():
            shutil.copy(source, target)
    for folder in ('solvers', 'models', 'experiments', 'tests'):
        for base, _, files in os.walk(os.path.join(to, folder)):
            for f in files:
                if os.path.relpath(os.path.join(base, f), to) not in wanted:
                    os.remove(os.path.join(base, f))


def build(tree, log, *targets):
    return subprocess.run(['ninja', '-C', os.path.join(tree, 'build'), '-k', '1', '-j', str(JOBS)] + list(targets), stdout=log,
                          stderr=subprocess.STDOUT, env=dict(os.environ, NINJA_STATUS='')).returncode == 0


def objects(tree):
    """Source file -> its objects, as the build names them."""
    inside, out = os.path.join(tree, 'build'), {}
    for c in json.loads(subprocess.run(['ninja', '-C', inside, '-t', 'compdb'], stdout=subprocess.PIPE,
                                       check=True).stdout):
        if c['output'].endswith('.o'):
            out.setdefault(os.path.relpath(os.path.join(inside, c['file']), tree), []).append(c['output'])
    return out


def digest(tree, names):
    """What the compiler made of a file: a mutant with the same code is no mutant."""
    h = hashlib.sha256()
    for name in names:
        with open(os.path.join(tree, 'build', name), 'rb') as f:
            h.update(f.read())
    return h.digest()


class Test:
    def __init__(self, t):
        suite = [s.split(':')[-1] for s in t['suite']]
        self.suite = next((s for s in suite if s in SUITES), None)
        self.slow = 'slow' in suite
        self.name, self.cmd, self.env = '%s/%s' % (self.suite, t['name']), t['cmd'], t['env']
        self.cwd, self.seconds = t.get('workdir') or None, 0.0

    def moved(self, inside, to, **env):
        """The same test in another build of the tree."""
        other = copy.copy(self)
        other.cmd = [re.sub('^' + re.escape(inside) + '(?=/|$)', to, x) for x in self.cmd]
        # libraries are found by a path in the environment
        other.env = {k: v.replace(inside + ':', to + ':').replace(inside + '/', to + '/') for k, v in self.env.items()}
        other.env = dict({k: to if v == inside else v for k, v in other.env.items()}, **env)
        return other

    def start(self, cpu, cwd):
        """cpu: seconds of a processor that each of its processes may take; they do not depend on who else works."""
        env = dict(os.environ, **self.env)
        env.pop('PERP_TAP', None)  # exit status 1 on failure
        space = 4 << 30 if 'ASAN_OPTIONS' not in env else resource.RLIM_INFINITY  # it reserves most of what there is

        def bounded():  # a mutant may ask for memory without end, or leave a large core
            resource.setrlimit(resource.RLIMIT_AS, (space, space))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
        self.out, self.at, self.until = tempfile.TemporaryFile(), 0, time.time() + 10 * cpu
        self.process = subprocess.Popen(self.cmd, cwd=self.cwd or cwd, env=env, stdout=self.out,
                                        stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=bounded)

    def ended(self, wait=os.WNOHANG):
        pid, status, used = os.wait4(self.process.pid, wait)
        if pid == 0:
            if time.time() > self.until or self.failed():
                self.stop()
                return True
            return False
        self.process.returncode = self.code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        self.last = used.ru_utime + used.ru_stime
        self.stop_group()  # what it left behind
        return True

    def failed(self):
        """A check failed: the rest of the test says nothing more."""
        more = os.pread(self.out.fileno(), 1 << 24, self.at)  # the offset of the file is the test's own
        self.at += more.rfind(b'\n') + 1
        return re.search(rb'^not ok .*\n', more, re.M) is not None

    def stop_group(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def stop(self):
        self.stop_group()
        self.ended(0)

    def verdict(self):
        """Of one that ended: None when it passed, else how it failed."""
        self.out.seek(0)
        m = re.search(rb'^not ok \d+ - (.*)$', self.out.read(), re.M)
        self.out.close()
        if m:
            return m.group(1).decode('utf-8', 'replace')[:90]
        if self.code == 0:
            return None
        return 'no end' if self.code in (-signal.SIGKILL, -signal.SIGXCPU) else 'status %d' % self.code


def run_all(tests, jobs, cpu, cwd, told):
    """Some at a time; told(test, None or how it failed) after each: true when the rest need not run."""
    waiting, running, enough = list(tests), [], False
    while not enough and (waiting or running):
        while waiting and len(running) < jobs:
            running.append(waiting.pop(0))
            running[-1].start(int(cpu(running[-1])), cwd)
        time.sleep(0.01)
        for t in [x for x in running if x.ended()]:
            running.remove(t)
            enough = told(t, t.verdict()) or enough
    for t in running:
        t.stop()
        t.out.close()


def first_to_fail(tests, jobs, budget, cwd):
    """(the test, how) or None, and how many were to be run; what the budget of seconds leaves out is not run."""
    those, spent, found = [], 0.0, []
    for t in tests:
        if not budget or spent + t.seconds <= budget:
            those.append(t)
            spent += t.seconds

    def told(t, why):
        if why is not None:
            found.append((t.name, why))
        else:
            t.seconds = t.last
        return why is not None
    run_all(those, jobs, lambda t: 10 + 5 * t.seconds, cwd, told)
    return found[0] if found else None, len(those)


class Sanitized:
    """A third build, under the sanitizers, for what survives: writing past an end may change no figure.

    The suite as it is passes there; .ci/run says so."""
    STATUS = 86

    def __init__(self, tree, log):
        self.tree, self.build = tree, os.path.join(tree, 'build-sanitized')
        if not os.path.exists(os.path.join(self.build, 'build.ninja')):
            subprocess.run(['meson', 'setup', self.build, tree, '-Ddefault_library=shared', '-Doptimization=1',
                            '-Db_sanitize=address,undefined', '-Db_lundef=false'], stdout=log, stderr=subprocess.STDOUT, check=True)
        if subprocess.run(['ninja', '-C', self.build, '-j', str(JOBS)], stdout=log, stderr=subprocess.STDOUT).returncode != 0:
            sys.exit('the tree does not build with sanitizers: see %s' % log.name)

    def first_to_fail(self, tests, jobs, budget):
        said = 'exitcode=%d:halt_on_error=1:allocator_may_return_null=1:detect_leaks=0' % self.STATUS
        if subprocess.run(['ninja', '-C', self.build, '-j', str(JOBS)], stdout=subprocess.DEVNULL).returncode != 0:
            return None
        there = [t.moved(os.path.join(self.tree, 'build'), self.build, ASAN_OPTIONS=said, UBSAN_OPTIONS=said)
                 for t in tests]
        found, spent = [], 0.0

        def told(t, _):
            if t.code == self.STATUS:
                found.append((t.name, 'sanitizer'))
            return t.code == self.STATUS
        for i, t in enumerate(there):
            spent += t.seconds
            if budget and spent > budget:
                there = there[:i]
                break
        run_all(there, jobs, lambda t: 20 + 20 * t.seconds, self.tree, told)
        return found[0] if found else None


class Coverage:
    """Which lines each test reaches, from a second build: the others need not run."""

    def __init__(self, tree, tests, log, limit, jobs, again):
        self.build, self.data, self.lines = os.path.join(tree, 'build-lines'), os.path.join(tree, 'lines'), {}
        self.good, index = [], os.path.join(tree, 'lines.json')
        if again and os.path.exists(index):
            seconds = json.loads(read(index))
            for t in tests:  # new ones are run always
                t.seconds = seconds.get(t.name, 1.0)
            self.good = [t for t in tests if t.seconds is not None]
            self.new = set(t.name for t in tests if t.name not in seconds)
        else:
            self.new = set()
            self.collect(tree, tests, log, limit, jobs)
            with open(index, 'w') as f:
                json.dump(dict([(t.name, None) for t in tests] + [(t.name, t.seconds) for t in self.good]), f)
        self.gcda = {}  # stem of an object -> [(test, path)]
        for base, _, files in os.walk(self.data):
            for f in files:
                if f.endswith('.gcda'):
                    test = os.path.relpath(base, self.data).split(os.sep)[0]
                    self.gcda.setdefault(f[:-5], []).append((test, os.path.join(base, f)))

    def collect(self, tree, tests, log, limit, jobs):
        if not os.path.exists(os.path.join(self.build, 'build.ninja')):
            subprocess.run(['meson', 'setup', self.build, tree, '-Ddefault_library=shared', '-Doptimization=2',
                            '-Db_coverage=true'], stdout=log, stderr=subprocess.STDOUT, check=True)
        if subprocess.run(['ninja', '-C', self.build, '-j', str(JOBS)], stdout=log, stderr=subprocess.STDOUT).returncode != 0:
            sys.exit('the tree does not build with coverage: see %s' % log.name)
        shutil.rmtree(self.data, ignore_errors=True)
        inside, others = os.path.join(tree, 'build'), []
        for t in tests:
            others.append(t.moved(inside, self.build, GCOV_PREFIX=os.path.join(self.data, t.name.replace('/', '.'))))
            others[-1].of = t

        def told(other, why):
            if why is None:
                other.of.seconds = other.last / 6  # what counting lines costs; the first run says it better
                self.good.append(other.of)
            else:
                print('# fails without any mutant, left out: %s (%s)' % (other.of.name, why), flush=True)
        run_all(others, jobs, lambda t: limit, tree, told)

    def reach(self, path, line, text):
        """Names of the tests (with . for /) that come to this line; None: not known."""
        stem = path.replace('/', '_')
        folder = 'experiments/' if path.startswith('experiments/') else ''
        if path not in self.lines:
            found = {}
            stems = [k for k in self.gcda if k in (stem + '', path[len(folder):].replace('/', '_'))]
            for k in stems:
                for test, data in self.gcda[k]:
                    # the notes of the compiler lie in the build, beside where the data would have been
                    note = '/' + os.path.relpath(data, os.path.join(self.data, test))[:-5] + '.gcno'
                    link = data[:-5] + '.gcno'
                    if not os.path.exists(link):
                        os.symlink(note, link)
                    out = subprocess.run(['gcov', '--json-format', '--stdout', data], stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL, cwd=self.build).stdout
                    for doc in out.split(b'\n'):
                        if not doc.startswith(b'{'):
                            continue
                        for f in json.loads(doc)['files']:
                            if os.path.normpath(os.path.join(self.build, f['file'])).endswith('/' + path):
                                for x in f['lines']:
                                    if x['count'] > 0:
                                        found.setdefault(x['line_number'], set()).add(test)
                                    else:
                                        found.setdefault(x['line_number'], set())
            self.lines[path] = found
        found = self.lines[path]
        rows = text.split('\n')
        for at in range(line, max(line - 8, 0), -1):  # a statement of several lines counts at one of them
            if at in found:
                return found[at]
            if rows[at - 1].strip() in ('', '}', '};') or not rows[at - 1].startswith(' '):
                break
        return None  # a table, a constant


def words(text):
    return set(w for w in re.split(r'[^a-z0-9]+', text.lower()) if len(w) > 2)


def order(tests, mutant, killers):
    """What killed mutants of this file before, then tests of a like name, then the short ones."""
    w = words(mutant.path)

    def score(t):
        alike = len(w & (words(t.name) | set(x.rstrip('s') for x in words(t.name))))
        alike += 2 * (t.suite in ('guard', 'physics'))  # these see most
        return (-killers.get((mutant.path, t.name), 0), t.seconds / (1 + 3 * alike) ** 2)
    return sorted(tests, key=score)


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('--seed', type=int, default=1)
    a.add_argument('--number', type=int, default=200, help='mutants that compile')
    a.add_argument('--dir', default=os.path.join(ROOT, 'build-mutate'), help='the copy, its build and the log')
    a.add_argument('--only', default='', help='files whose path begins so')
    a.add_argument('--again', metavar='FILE', help='the mutants of this list: lines of "path | before | after", made at random or by hand')
    a.add_argument('--all', action='store_true', help='run tests that do not reach the mutant, too')
    a.add_argument('--same-lines', action='store_true', help='tests reach the lines, and take the time, that they did the last time')
    a.add_argument('--tests', default='', help='only these, as suite/name,suite/name: how good are they on --only?')
    a.add_argument('--limit', type=float, default=300, help='seconds; tests that take longer are left out')
    a.add_argument('--jobs', type=int, default=1, help='compilers and tests at a time')
    a.add_argument('--budget', type=float, default=0,
                   help='seconds of tests a mutant, likely ones first; one that lives through them counts as survived')
    a.add_argument('--sanitize', action='store_true', help='survivors run again under the sanitizers')
    a.add_argument('--minutes', type=float, default=0, help='stop after; 0: never')
    o = a.parse_args()
    global JOBS
    JOBS = o.jobs
    tree = os.path.abspath(o.dir)
    started = time.time()
    os.makedirs(tree, exist_ok=True)
    alone = open(os.path.join(tree, 'lock'), 'w')
    try:
        fcntl.flock(alone, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit('another run is at work in %s' % tree)
    copy_tree(tree)
    with open(os.path.join(tree, 'build.log'), 'w') as log:
        if not os.path.exists(os.path.join(tree, 'build', 'build.ninja')):
            # one shared library: a mutant links that, and no test
            subprocess.run(['meson', 'setup', os.path.join(tree, 'build'), tree, '-Ddefault_library=shared', '-Doptimization=2'],
                           stdout=log, stderr=subprocess.STDOUT, check=True)
        if not build(tree, log):
            sys.exit('the tree does not build: see %s' % log.name)
    known = set()
    for text in read(os.path.join(ROOT, 'tests/mutate/equivalent.txt')).split('\n'):
        if text.strip() and not text.startswith((' ', '#')):
            known.add(text.strip())

    tests = [Test(t) for t in json.loads(subprocess.run(
        ['meson', 'introspect', '--tests', os.path.join(tree, 'build')], stdout=subprocess.PIPE, check=True).stdout)]
    tests = [t for t in tests if t.suite is not None and not t.slow and t.name.split('/')[1] not in ELSEWHERE]
    if o.tests:
        tests = [t for t in tests if t.name in o.tests.split(',')]
    lines = None
    if not o.all and not o.tests and shutil.which('gcov'):
        with open(os.path.join(tree, 'lines.log'), 'w') as log:
            lines = Coverage(tree, tests, log, o.limit, o.jobs, o.same_lines)
        good = lines.good
    else:
        index, seconds = os.path.join(tree, 'seconds.json'), {}
        if o.same_lines and os.path.exists(index):
            seconds = json.loads(read(index))

        def told(t, why):
            seconds[t.name] = t.last if why is None else None
            if why is not None:
                print('# fails without any mutant, left out: %s (%s)' % (t.name, why), flush=True)
        run_all([t for t in tests if t.name not in seconds], o.jobs, lambda t: o.limit, tree, told)
        write(tree, 'seconds.json', json.dumps(seconds))
        good = [t for t in tests if seconds[t.name] is not None]
        for t in good:
            t.seconds = seconds[t.name]
    print('# %d tests, %.0f s all together; ready after %.0f s' % (
        len(good), sum(t.seconds for t in good), time.time() - started), flush=True)

    with open(os.path.join(tree, 'sanitized.log'), 'w') as log:
        sanitized = Sanitized(tree, log) if o.sanitize else None

    names = sorted(n for f in FOLDERS for base, _, files in os.walk(os.path.join(tree, f))
                   for n in (os.path.relpath(os.path.join(base, x), tree) for x in files)
                   if n.endswith('.c') and n.startswith(o.only))
    texts = {n: read(os.path.join(tree, n)) for n in names}
    every = [s for n in names for s in sites(n, texts[n])]
    if o.again:
        wanted = [x.strip() for x in read(o.again).split('\n') if ' | ' in x and not x.startswith((' ', '#'))]
        by_key = {}
        for s in every:
            m = Mutant(s[0], texts[s[0]], *s[1:])
            by_key.setdefault(m.key(), []).append(s)
        for x in wanted:
            if x not in by_key:  # made by hand: any text in the place of any line
                path, before, after = (x.split(' | ', 2) + [''])[:3]
                text = texts.get(path, '')
                by_key[x] = [(path, m.start(1), m.end(1), 'hand', after)
                             for m in re.finditer(r'^[ \t]*(%s)$' % re.escape(before), text, re.M)]
            if not by_key[x]:
                print('# not found: %s' % x)
        chosen = [s for x in wanted for s in by_key[x]]
    else:
        chosen = shuffled(every, texts, o.seed)
    print('# %d places, seed %d' % (len(every), o.seed), flush=True)

    count = {'killed': 0, 'survived': 0, 'equivalent': 0, 'same': 0}
    made = objects(tree)
    by_test, by_folder, killers, survivors, original = {}, {}, {}, [], {}
    devnull = open(os.devnull, 'w')
    current = None
    try:
        for s in chosen:
            if sum(count.values()) >= o.number or (o.minutes and time.time() - started > 60 * o.minutes):
                break
            m = Mutant(s[0], texts[s[0]], *s[1:])
            if m.key() in known:
                count['equivalent'] += 1
                print('equivalent  %s:%d  %s' % (m.path, m.line, m.after), flush=True)
                continue
            current = m.path
            begun = time.time()
            if m.path not in original:
                original[m.path] = digest(tree, made[m.path])
            write(tree, m.path, m.text)
            if not build(tree, devnull, *made[m.path]):
                pass  # does not compile: no mutant
            elif digest(tree, made[m.path]) == original[m.path]:
                count['same'] += 1
                print('same code   %s:%d  %s  ->  %s' % (m.path, m.line, m.before, m.after), flush=True)
            elif build(tree, devnull):
                reached = lines.reach(m.path, m.line, texts[m.path]) if lines is not None else None
                those = [t for t in good if reached is None or t.name in lines.new or t.name.replace('/', '.') in reached]
                those = order(those, m, killers)
                killed, n = first_to_fail(those, o.jobs, o.budget, tree)
                if killed is None and sanitized is not None:
                    killed = sanitized.first_to_fail(those, o.jobs, o.budget)
                of_folder = by_folder.setdefault(os.path.dirname(m.path), [0, 0])
                of_folder[0] += killed is not None
                of_folder[1] += 1
                if killed is not None:
                    count['killed'] += 1
                    by_test[killed[0]] = by_test.get(killed[0], 0) + 1
                    killers[(m.path, killed[0])] = killers.get((m.path, killed[0]), 0) + 1
                    print('killed by %s (%s; %.0f s)  %s:%d  %s  ->  %s' % (
                        killed + (time.time() - begun, m.path, m.line, m.before, m.after)), flush=True)
                else:
                    count['survived'] += 1
                    survivors.append(m)
                    print('SURVIVED (%d of %d tests, %.0f s)  %s:%d  %s  ->  %s' % (
                        n, len(those), time.time() - begun, m.path, m.line, m.before, m.after), flush=True)
            write(tree, m.path, texts[m.path])
            current = None
    finally:
        if current is not None:
            write(tree, current, texts[current])
        with open(os.path.join(tree, 'survivors.txt'), 'w', encoding='utf-8') as f:
            f.writelines(m.key() + '\n' for m in survivors)
    print('\nkilled by')
    for name, n in sorted(by_test.items(), key=lambda x: -x[1]):
        print('  %4d %s' % (n, name))
    print('survivors (also in %s)' % os.path.join(tree, 'survivors.txt'))
    for m in survivors:
        print('  ' + m.key())
    print('killed of those that change anything, by folder')
    for folder, (killed, n) in sorted(by_folder.items()):
        print('  %3d of %3d  %s' % (killed, n, folder))
    n = count['killed'] + count['survived']
    print('%d killed, %d survived, %d equivalent, %d of the same code: %.1f %% of those that change anything are killed' % (
        count['killed'], count['survived'], count['equivalent'], count['same'], 100.0 * count['killed'] / max(n, 1)))


if __name__ == '__main__':
    main()
