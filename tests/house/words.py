#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""User-facing sentences, against the rules that a program can check.

  tests/house/words.py                  all checks, as TAP
  tests/house/words.py --list [PATH...] the findings, one a line, of all files or of those under PATH
  --program FILE                        the program to ask (default: $PERP_BIN, else build/experiments/perp)

Checked: the form of option helps and summaries, the length of sentences (README, tutorial, helps, --help), and
the private words of words.txt in everything that a user reads.  Each check is first tried on bad sentences."""
import argparse
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.environ.get('PERP_SOURCE') or os.path.dirname(os.path.dirname(HERE))
if not os.path.exists(os.path.join(ROOT, 'experiments')):
    ROOT = os.getcwd()
LONGEST = 30  # words of a sentence
LAYERS = ('solvers', 'models', 'experiments')
# first words of a help that continues another sentence, and subjects that name nothing
CONTINUES = ('of', 'and', 'or', 'but', 'that', 'those', 'this', 'these', 'it', 'its', 'they', 'their', 'what', 'who', 'which',
             'else', 'otherwise', 'ditto')
# a summary may begin with these in lower case: they are names
NAMES = ('perp',)
# keys of YAML files whose values are sentences
PROSE = ('summary', 'help', 'text', 'title', 'question', 'ask', 'because', 'story', 'end', 'hint', 'reason', 'choices', 'symptom', 'note',
         'label', 'caption', 'description', 'answer_text')


class Text:
    """A piece of text that a user reads: where it is, and what kind of text it is."""

    def __init__(self, file, line, text, kind, name=''):
        self.file, self.line, self.text, self.kind, self.name = file, line, text, kind, name

    def where(self):
        return '%s:%d' % (self.file, self.line) + (' (%s)' % self.name if self.name else '')


# ---- C ---------------------------------------------------------------------------------------------

C_TOKEN = re.compile(r'\\\n|/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|[A-Za-z_]\w*|\n|[^\S\n]+|.', re.S)
C_ESCAPE = {'n': '\n', 't': ' ', '"': '"', '\\': '\\'}


def c_literals(source):
    """(line, text) of the string literals; adjacent ones are one, as the compiler joins them."""
    line, text, begun, joined = 1, None, 0, False
    for m in C_TOKEN.finditer(source):
        token = m.group()
        if token[0] == '"':
            if text is None:
                text, begun = '', line
            text += re.sub(r'\\(.)', lambda e: C_ESCAPE.get(e.group(1), ''), token[1:-1])
        elif text is not None and not token.isspace() and token[:2] not in ('/*', '//', '\\\n') and not re.match('PRI[a-z]', token):
            yield begun, text
            text = None
        line += token.count('\n')
    if text is not None:
        yield begun, text


def c_comments(source):
    line = 1
    for m in C_TOKEN.finditer(source):
        token = m.group()
        if token[:2] in ('/*', '//'):
            yield line, re.sub(r'\s+', ' ', token.strip('/*'))
        line += token.count('\n')


def is_sentence(text):
    """At least three words, and not a list of JSON members, a path, an expression or markup alone."""
    if re.fullmatch(r'(?:\s*[\w.*]+\?? %\S+?,?)+', text) or re.fullmatch(r'[^ ]*', text):
        return False
    plain = re.sub(r'<[^>]*>|%[-+ #0-9.*]*[a-zA-Z]+|`[^`]*`', ' ', text)
    return len(re.findall(r"(?<![\w.])[A-Za-z][a-z]+(?=[\s,;:.!?)]|$)", plain)) >= 3


# ---- YAML ------------------------------------------------------------------------------------------

def yaml_texts(source):
    """(line, text, key) of the values of PROSE keys.  Not a parser of YAML: it reads the files of this tree."""
    lines = source.split('\n')
    stack, i = [], 0  # (indent, key) of the keys that are open
    flow = re.compile(r'(?<![\w.-])(%s):\s+("(?:[^"\\]|\\.)*"|\'(?:[^\']|\'\')*\'|\[[^\]]*\]|[^,}\]]+)' % '|'.join(PROSE))
    while i < len(lines):
        raw, at = lines[i], i + 1
        i += 1
        if not raw.strip() or raw.lstrip().startswith('#'):
            continue
        indent = outer = len(raw) - len(raw.lstrip(' '))
        body = raw.strip()
        while body.startswith('- '):
            outer = indent
            indent += 2
            body = body[2:].lstrip()
        stack = [s for s in stack if s[0] < indent]
        key = re.match(r'([\w.-]+):(?:\s+(.*))?$', body)
        if key is not None and not body.startswith('{'):
            stack.append((indent, key.group(1)))
            outer = indent
            value = key.group(2) or ''
        else:
            value = body
        prose = bool(stack) and stack[-1][1] in PROSE
        if re.match(r'[>|][-+]?$', value):
            block = []
            while i < len(lines) and (not lines[i].strip() or len(lines[i]) - len(lines[i].lstrip(' ')) > outer):
                block.append(lines[i].strip())
                i += 1
            if prose:
                yield at, ' '.join(block), stack[-1][1]
            continue
        if value.startswith('{') or (value.startswith('[') and not prose):
            # the mapping may go on in the lines below
            while value.count('{') > value.count('}') and i < len(lines):
                value += ' ' + lines[i].strip()
                i += 1
            for m in flow.finditer(value):
                yield at, m.group(2).strip().strip('\'"[]'), m.group(1)
            continue
        if prose:
            value = re.sub(r'\s+#.*', '', value) if value[:1] not in '"\'' else value
            if value.strip():
                yield at, value.strip().strip('\'"[]'), stack[-1][1]
        elif '{' in value:
            for m in flow.finditer(value):
                yield at, m.group(2).strip().strip('\'"[]'), m.group(1)


def hash_comments(source):
    for n, line in enumerate(source.split('\n'), 1):
        m = re.search(r'(?:^|\s)#+\s(.*)', line)
        if m is not None:
            yield n, m.group(1)


# ---- Markdown --------------------------------------------------------------------------------------

def markdown_texts(source):
    """(line, text, is it a cell of a table) of paragraphs, headings, list items and cells of tables."""
    out, held, begun, fence, after_blank, in_list = [], [], 0, False, True, False

    def flush():
        if held:
            out.append((begun, ' '.join(held), False))
            held.clear()
    source = re.sub(r'<!--.*?-->', lambda m: '\n' * m.group().count('\n'), source, flags=re.S)
    for n, line in enumerate(source.split('\n'), 1):
        if re.match(r'\s*(```|~~~)', line):
            flush()
            fence, after_blank = not fence, False
            continue
        if fence:
            continue
        if not line.strip():
            flush()
            after_blank = True
            continue
        item = re.match(r'\s*(?:[-*+]|\d+[.)])\s+', line)
        if line.startswith('    ') and after_blank and not item and not in_list:
            continue  # code
        if line.lstrip().startswith('|'):
            flush()
            if not re.fullmatch(r'[\s|:-]+', line):
                cells = [cell.strip() for cell in re.split(r'(?<!\\)\|', line.strip().strip('|'))]
                if re.fullmatch('`[^`]*`', cells[0]):  # the row of an option: unit, default and range are tokens
                    cells = [c for c in cells if len(c.split()) > 2 and '\\|' not in c]
                out.extend((n, cell, True) for cell in cells)
            continue
        if item or line.startswith('#'):
            flush()
        if item:
            in_list = True
        elif not line.startswith(' ') and after_blank:
            in_list = False
        if not held:
            begun = n
        held.append(re.sub(r'^\s*(?:#+|[-*+]|\d+[.)]|>)\s+', '', line).strip())
        after_blank = False
        if line.startswith('#'):
            flush()
    flush()
    return out


# ---- words -----------------------------------------------------------------------------------------

KNOWN = set()  # names of scenes and methods, as `jam`: at the beginning of a message they are no words


def plain(text):
    """Without what is not prose: code, addresses, markup, tokens, file names, formats."""
    text = re.sub(r'`[^`]*`', ' CODE ', text)
    text = re.sub(r"(?<!\w)'[\w.-]+'(?!\w)", ' CODE ', text)
    text = re.sub(r'!?\[([^\]]*)\]\([^)]*\)', r'\1', text)
    text = re.sub(r'\\\w+\{[^}]*\}|<[^>\s][^>]*>', ' ', text)
    if text.split(':')[0] in KNOWN:
        text = 'CODE' + text[text.index(':'):] if ':' in text else 'CODE'
    text = re.sub(r'%[-+ #0-9.*]*(?:hh|h|ll|l|z|j)?[diouxXeEfgGsc]', 'CODE', text)
    text = re.sub(r'https?://\S+', 'CODE', text)
    text = re.sub(r'(?<![\w])[\w-]*(?:\w[._/:=]|[_/=])[\w.:/=,<>*+-]*\w', 'CODE', text)  # a.b, a_b, a:b=c, a/b
    text = re.sub(r'(?<!\w)--?[a-z][\w-]*', 'CODE', text)
    return re.sub(r'\s+', ' ', text).strip()


def sentences(text):
    text = re.sub(r'\b(e\.g|i\.e|cf|vs|fig|eq|sec|no|St|approx)\.', r'\1', text)
    return [s for s in re.split(r'(?<=[.!?])["\')]*\s+(?=[A-Z0-9"\'(`])', text) if s]


def length(sentence):
    return len([w for w in sentence.split() if re.search(r'[A-Za-z]', w)])


def read_list(path):
    """Rows `EXPRESSION -> WHAT TO WRITE | SENTENCE THAT IT FINDS`."""
    rows = []
    with open(path, encoding='utf-8') as f:
        for n, line in enumerate(f, 1):
            if line.strip() and not line.startswith('#'):
                m = re.fullmatch(r'(.+?)\s+->\s+(.+?)\s+\|\s+(.+)', line.strip())
                if m is None:
                    sys.exit('%s:%d: not EXPRESSION -> WORD | EXAMPLE' % (path, n))
                rows.append((re.compile(m.group(1), re.I), m.group(2), m.group(3)))
    return rows


def private(text, rows):
    clean = plain(text)
    for expression, instead, _ in rows:
        for m in expression.finditer(clean):
            if m.group().isupper():
                continue  # an argument: CELL
            yield '"%s": write %s' % (clean[max(0, m.start() - 25):m.end() + 15].strip(), instead)


def wrong_help(text):
    words = re.findall(r"[^\W\d_][\w'-]*", text)
    if not re.match(r'[A-Z]', text):
        yield 'a help begins with a capital letter'
    if not text.endswith('.'):
        yield 'a help ends with a full stop'
    if len(words) < 2 or words[0].lower() in CONTINUES:
        yield 'a help stands alone: it names its quantity or effect'


def wrong_summary(text):
    first = re.match(r'\S*', text).group()
    if first.lower() in ('what', 'who', 'that', 'whatever') and not text.endswith('?'):
        yield 'a noun is the subject of a summary'
    if not re.match(r'[A-Z0-9]', text) and first.rstrip(':,') not in NAMES:
        yield 'a summary begins with a capital letter'
    if text.endswith('.'):
        yield 'a summary has no full stop'
    if not text.strip():
        yield 'a summary is missing'


def wrong_length(text):
    for s in sentences(plain(text)):
        if length(s) > LONGEST:
            yield '%d words in "%s ..."' % (length(s), ' '.join(s.split()[:6]))


# ---- what there is ---------------------------------------------------------------------------------

def read(name):
    with open(os.path.join(ROOT, name), encoding='utf-8') as f:
        return f.read()


def files(folder, *ends):
    for here, folders, names in os.walk(os.path.join(ROOT, folder)):
        folders[:] = sorted(f for f in folders if f != 'node_modules')
        for n in sorted(names):
            if n.endswith(ends):
                yield os.path.relpath(os.path.join(here, n), ROOT)


class Program:
    def __init__(self, path):
        self.path = path
        self.env = {k: v for k, v in os.environ.items() if k != 'PERP_PLUGIN_PATH'}

    def __call__(self, *words):
        done = subprocess.run([self.path, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env, cwd=ROOT)
        if done.returncode != 0:
            sys.exit('perp %s: exit status %d\n%s' % (' '.join(words), done.returncode, done.stderr.decode()))
        return done.stdout.decode()


def help_texts(program):
    """--help of perp and of every command, below it those of its own commands."""
    def commands(text):
        m = re.search(r'^Commands\n((?:  .*\n)+)', text, re.M)
        return re.findall(r'^  ([a-z][\w-]*)', m.group(1), re.M) if m else []
    top = program('--help')
    yield [], top
    for c in commands(top):
        text = program(c, '--help')
        yield [c], text
        for d in commands(text):
            yield [c, d], program(c, d, '--help')


HELP_COLUMN = 28  # of the helps of options, as perp prints them


def help_blocks(text):
    """(line, text, kind) of one --help; not its first line and its example, which are commands."""
    section, block, begun, kind = '', [], 0, '--help'
    for n, line in enumerate(text.split('\n') + [''], 1):
        title = re.fullmatch(r'[A-Z][a-z]+( with)?', line)
        option = section == 'Options' and re.match(r' +(-\w, )?--[a-z]', line)
        row = section in ('Commands', 'Start with') and line.startswith('  ') or re.match(r' +\d+  \S', line)
        if (not line.strip() or title or option or row) and block:
            yield begun, ' '.join(block), kind
            block, kind = [], '--help'
        if title or not line.strip():
            section = title.group() if title else section if section == 'Example' else ''
        elif n > 1 and section != 'Example':
            if not block:
                begun = n
            if option:
                kind = 'flag'
                alone = line[HELP_COLUMN - 2:HELP_COLUMN] != '  '  # its help begins in the next line
                line = '' if alone else line[HELP_COLUMN:]
            elif row:
                kind = 'command' if section == 'Commands' else '--help'
                line = re.sub(r'^  (?:perp .*? ) +|^  [a-z][\w-]* +', '', line)
            if line.strip():
                block.append(line.strip())


def collect(program):
    texts, found_at = [], {}

    def place(text, where, part):
        """The file and line of a help or summary; where several have the same text, in the file of the part."""
        places = found_at.get(text, [(where, 1)])
        stem = re.sub(r'\W', '_', part)
        own = [p for p in places if re.sub(r'\W', '_', os.path.splitext(os.path.basename(p[0]))[0]) == stem]
        return (own or places)[0]
    for layer in LAYERS:
        for name in files(layer, '.c', '.h', '.cpp', '.def'):
            for line, text in c_literals(read(name)):
                found_at.setdefault(text, []).append((name, line))
                if is_sentence(text):
                    texts.append(Text(name, line, text, 'literal'))
        for name in files(layer, '.yaml'):
            for line, text, key in yaml_texts(read(name)):
                found_at.setdefault(text, []).append((name, line))
                texts.append(Text(name, line, text, 'yaml'))
                if name.startswith('experiments/scenes/') and key in ('help', 'summary'):
                    texts.append(Text(name, line, text, key))
    for name in files('experiments/templates', '.in'):
        source = read(name)
        if name.endswith('.md.in'):
            texts += [Text(name, n, t, 'template') for n, t, _ in markdown_texts(source)]
            continue
        if name.endswith('.c.in'):
            texts += [Text(name, n, t, 'template') for n, t in c_comments(source)]
            texts += [Text(name, n, t, 'template') for n, t in c_literals(source) if is_sentence(t)]
            for row in re.finditer(r'PERP_(?:REAL|INT|BOOL)\((.*?)\)[,;\s]|\.summary = ("[^;]*?),\n', source, re.S):
                t = list(c_literals(row.group(1) or row.group(2)))[-1][1]
                texts.append(Text(name, 1 + source[:row.start()].count('\n'), t, 'help' if row.group(1) else 'summary'))
            continue
        texts += [Text(name, n, t, 'template') for n, t in hash_comments(source)]
        if name.endswith('.yaml.in'):
            for n, t, key in yaml_texts(source):
                texts.append(Text(name, n, t, key if key in ('help', 'summary') else 'template'))
    for kind in json.loads(program('list', '--json')):
        texts.append(Text('perp list', 1, kind['summary'], 'summary', kind['kind']))
        for part in json.loads(program('list', kind['kind'], '--json')):
            where = 'perp list %s' % kind['kind']
            KNOWN.add(part['name'])
            summary = part.get('summary', part.get('title', ''))
            file, line = place(summary, where, part['name'])
            texts.append(Text(file, line, summary, 'summary', part['name']))
            for o in part.get('options', []):
                file, line = place(o['help'], where, part['name'])
                texts.append(Text(file, line, o['help'], 'help', '%s:%s' % (part['name'], o['name'])))
    for words, text in help_texts(program):
        where = ' '.join(['perp'] + words + ['--help'])
        for n, block, kind in help_blocks(text):
            file, line = place(block, where, '') if block in found_at else (where, n)
            texts.append(Text(file, line, block, kind))
    tutorial = [n for n in ('docs/tutorials/first-study.md', 'docs/tutorials/first-study.md') if os.path.exists(os.path.join(ROOT, n))]
    if not tutorial:
        sys.exit('there is no tutorial: docs/tutorials/first-study.md')
    for name in ['README.md'] + list(files('docs', '.md')):
        for line, text, cell in markdown_texts(read(name)):
            kind = 'page' if not cell and (name == 'README.md' or name in tutorial) else 'docs'
            texts.append(Text(name, line, text, kind))
    # the same text may come from two sources: it is found once
    seen, once = set(), []
    for t in texts:
        if (t.file, t.line, t.text, t.kind) not in seen:
            seen.add((t.file, t.line, t.text, t.kind))
            once.append(t)
    return once


def check(texts, rows):
    """Name of a check -> findings (text, message)."""
    found = {'option helps': [], 'summaries': [], 'length of sentences': [], 'private words': []}
    for t in texts:
        if t.kind in ('help', 'flag'):
            found['option helps'] += [(t, m) for m in wrong_help(t.text)]
        if t.kind in ('summary', 'command'):
            found['summaries'] += [(t, m) for m in wrong_summary(t.text)]
        if t.kind in ('help', 'flag', 'command', '--help', 'page'):
            found['length of sentences'] += [(t, m) for m in wrong_length(t.text)]
        found['private words'] += [(t, m) for m in private(t.text, rows)]
    # an option help or a summary is also a literal: one finding is enough
    seen, once = set(), []
    for t, m in found['private words']:
        if (t.file, t.line, m) not in seen:
            seen.add((t.file, t.line, m))
            once.append((t, m))
    found['private words'] = once
    return found


# ---- bad sentences, which must be found, and good ones, which must pass ------------------------------

BAD_HELPS = ('of that spring', 'Of that spring.', 'damping of the spring', 'Damping of the spring', 'Damping.', '1: critical.',
             'And dampers of joints.', 'That of a spring.', 'What is not solved by then.', '')
GOOD_HELPS = ('Damping ratio of the soft contact (see frequency); 1 is critical.', 'Step size.', 'LCP solver of the contact problem.')
BAD_SUMMARIES = ('integrators of others', 'Integrators.', 'What drives the joints of a figure', '', 'of the world')
GOOD_SUMMARIES = ('Explicit Euler', '2-norm of the residual', 'perp: its own formulations', 'Which solver is the fastest?')
BAD_LENGTH = 'Take the ' + 'very ' * LONGEST + 'long sentence.'
GOOD_LENGTH = 'Short ' * (LONGEST - 1) + 'sentence. ' + 'Another ' * (LONGEST - 1) + 'one. Use `a b c d` or a.b.c here.'
GOOD_WORDS = (
    'Problems that exceed the budget count as unsolved.', 'The contact is active, opens, or closes.', 'Cells of a table; a grid of cells.',
    'Every method is measured against ground truth.', 'Controllers drive the joints along a motion; a vehicle drives off.',
    'The key `truth:` of a scene, drift.pos.max, cells.csv, `gauge`.', 'A sliding body is jammed between others.', 'Steady precession.',
    'The largest part of the error.', 'CELL is an id.', 'A pile of stones holds together.', 'What does it do?', 'Two threads take part.',
    'This solution is given by Newton; perp answer DIR prints it.', 'The figure walks; 12 March 2024.', 'A motor stands in for it.')
BAD_C = '#define X "one" \\\n "two"\nint x; /* "not this one" */ f("first words of it, " PRId64 /* c */ " and\\nthe rest", \'"\', "kind %s, count %d", "a.b"); // "nor this"'
BAD_YAML = """schema: perp-study/1
study:
  name: no
  question: >-
    Which one is
    the best?
grid: { h: [1 ms] }
claims:
  - text: a plain one
    expr: 'not this == one'
  - { text: "in a map", expr: 'nor this' }
story:
  - >-
    first of the story
  - second of it
"""
BAD_PAGE = """# A heading
Two lines
of a paragraph.

    code of four blanks

* an item
  goes on

```sh
code in a fence
```

| a | table |
|---|---|
| one cell | `code` |
"""
BAD_HELP = """perp run STUDY [options]

Runs a study.
On two lines.

Options
  -o, --output DIR          results folder (default
                            results/NAME)
      --very-long-option='A B ...'
                            help below it
  -q, --quiet               no progress

It goes on.

Commands
  run         run a study

Start with
  perp run chain6-stab      the main study

Exit status
   0  done
  10  not done

Example
  perp run chain6-stab
"""


def self_test(rows):
    """What is wrong with the checks themselves."""
    for t in BAD_HELPS:
        if not list(wrong_help(t)):
            yield 'the bad help "%s" is not found' % t
    for t in GOOD_HELPS:
        for m in wrong_help(t):
            yield 'the good help "%s": %s' % (t, m)
    for t in BAD_SUMMARIES:
        if not list(wrong_summary(t)):
            yield 'the bad summary "%s" is not found' % t
    for t in GOOD_SUMMARIES:
        for m in wrong_summary(t):
            yield 'the good summary "%s": %s' % (t, m)
    if len(list(wrong_length('One. ' + BAD_LENGTH + ' Two.'))) != 1:
        yield 'a long sentence is not found'
    for m in wrong_length(GOOD_LENGTH):
        yield 'no long sentence: %s' % m
    for row in rows:
        if not any(True for _ in private(row[2], [row])):
            yield '%s does not find "%s"' % (row[0].pattern, row[2])
    for t in GOOD_WORDS:
        for m in private(t, rows):
            yield 'the good sentence "%s": %s' % (t, m)
    if len(rows) < 40:
        yield 'the list has %d rows only' % len(rows)
    expected = (
        ('C', [t for _, t in c_literals(BAD_C)], ['onetwo', 'first words of it,  and\nthe rest', 'kind %s, count %d', 'a.b']),
        ('sentences', [t for _, t in c_literals(BAD_C) if is_sentence(t)], ['first words of it,  and\nthe rest']),
        ('YAML', [t for _, t, _ in yaml_texts(BAD_YAML)],
         ['Which one is the best?', 'a plain one', 'in a map', 'first of the story', 'second of it']),
        ('Markdown', [t for _, t, _ in markdown_texts(BAD_PAGE)],
         ['A heading', 'Two lines of a paragraph.', 'an item goes on', 'a', 'table', 'one cell', '`code`']),
        ('--help', [(t, k) for _, t, k in help_blocks(BAD_HELP)],
         [('Runs a study. On two lines.', '--help'), ('results folder (default results/NAME)', 'flag'), ('help below it', 'flag'),
          ('no progress', 'flag'), ('It goes on.', '--help'), ('run a study', 'command'), ('the main study', '--help'), ('Exit status', '--help'), ('0  done', '--help'), ('10  not done', '--help')]))
    for what, got, want in expected:
        if got != want:
            yield '%s: read %s, not %s' % (what, got, want)


# ---- the test --------------------------------------------------------------------------------------

def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--program', default=os.environ.get('PERP_BIN') or os.path.join(ROOT, 'build/experiments/perp'))
    parser.add_argument('--list', nargs='*', metavar='PATH')
    parser.add_argument('--words', default=os.path.join(HERE, 'words.txt'), help='another list')
    a = parser.parse_args()
    rows = read_list(a.words)
    broken = list(self_test(rows))
    texts = collect(Program(a.program))
    found = check(texts, rows)
    if a.list is not None:
        n = 0
        for name, those in found.items():
            for t, m in those:
                if not a.list or any(t.file == p.rstrip('/') or t.file.startswith(p.rstrip('/') + '/') or t.file.startswith(p + ' ')
                                     for p in map(relative, a.list)):
                    print('%s: %s%s' % (t.where(), m, '' if name == 'private words' else ': ' + t.text.replace('\n', ' ')[:100]))
                    n += 1
        print('%d findings' % n)
        for b in broken:
            print('self-test: %s' % b)
        return 1 if n or broken else 0
    kinds = {}
    for t in texts:
        kinds[t.kind] = kinds.get(t.kind, 0) + 1
    # an extractor that reads nothing would find nothing
    least = {'help': 500, 'flag': 150, 'summary': 250, 'command': 30, '--help': 50, 'page': 40, 'docs': 1000, 'literal': 2500, 'yaml': 800, 'template': 100}
    broken += ['only %d texts of kind %s' % (kinds.get(k, 0), k) for k, n in least.items() if kinds.get(k, 0) < n]
    checks = [('bad sentences are found, good ones pass', broken)]
    checks += [(name, ['%s: %s' % (t.where(), m) for t, m in those]) for name, those in found.items()]
    print('1..%d' % len(checks))
    for i, (name, wrong) in enumerate(checks, 1):
        print('%sok %d - %s' % ('not ' if wrong else '', i, name))
        for w in wrong[:200]:
            print('# %s' % w)
        if len(wrong) > 200:
            print('# ... %d in all; tests/house/words.py --list shows them' % len(wrong))
    return 0


def relative(path):
    return path if path.startswith('perp') else os.path.relpath(os.path.abspath(path), ROOT)


if __name__ == '__main__':
    sys.exit(main())
