# SPDX-License-Identifier: GPL-3.0-or-later
"""Equations of descriptors, written in ASCII ("M v+ = M v + h f + J' lambda"), as TeX for KaTeX."""
import re

GREEK = ('alpha beta gamma delta eps eta theta kappa lambda mu nu xi rho sigma tau phi psi omega zeta chi '
         'Gamma Delta Theta Lambda Sigma Phi Psi Omega').split()
TEX = {'eps': 'varepsilon', 'phi': 'varphi'}
FUNCTIONS = {'sin', 'cos', 'tan', 'exp', 'log', 'min', 'max', 'det', 'ln'}
OPERATORS = {'clamp', 'diag', 'sign', 'argmin', 'sweep', 'atan', 'sgn', 'mid', 'proj'}
SYMBOLS = {'<=': r'\le ', '>=': r'\ge ', '<-': r'\leftarrow ', '->': r'\to ', '_|_': r'\perp ', '[+]': r'\boxplus ', '[-]': r'\boxminus ',
           '+=': r'\mathrel{+}= ', '-=': r'\mathrel{-}= ', '!=': r'\ne ', '+-': r'\pm ', '%': r'\%', '#': r'\#', '&': r'\&', '~': r'\sim ', '{': r'\{', '}': r'\}',
           '^': r'\hat{\ }', '_': r'\_', '$': r'\$', '\\': r'\backslash '}
TOKEN = re.compile(r"\s+|_\|_|\[[+-]\]|<=|>=|<-|->|\+=|-=|!=|\.\.\.|[A-Za-z]+(?:-[a-z]{3,})*|\d+(?:\.\d+)?(?:e[+-]?\d+)?|.", re.S)


def name(word):
    """A word as a symbol, or None where it is a word of a sentence."""
    if word in GREEK:
        return '\\' + TEX.get(word, word)
    if len(word) == 1:
        return word
    if word in FUNCTIONS:
        return '\\' + word
    if word in OPERATORS:
        return r'\operatorname{%s}' % word
    if word in ('lo', 'hi'):
        return r'\mathrm{%s}' % word
    if word == 'sum':
        return r'\sum'
    if word == 'sqrt':
        return r'\operatorname{sqrt}'
    if word in ('Jdot', 'udot', 'qdot', 'vdot'):
        return r'\dot{%s}' % word[0]
    if len(word) > 1 and word[0] == 'd' and (len(word) == 2 or word[1:] in GREEK):
        return r'\mathrm{d}' + (name(word[1:]) or '')
    return None


def group(text, at):
    """The text in the parentheses that begin at `at`, and where they end; None where they do not."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == '(') - (text[i] == ')')
        if depth == 0:
            return text[at + 1:i], i + 1
    return None, at


def tex(text, transposes=True, crosses=False):
    """transposes: M' is a transpose, not a derivative; crosses: " x " is the product of two vectors."""
    out, i, words = [], 0, []

    def flush():
        if words:
            out.append(r'\text{ %s }' % ' '.join(words).replace('_', r'\_').replace('&', r'\&').replace('%', r'\%').replace('#', r'\#'))
            words.clear()

    text = text.strip()
    while i < len(text):
        token = TOKEN.match(text, i).group()
        at, i = i, i + len(token)
        if token.isspace():
            if len(token) > 1 and not words:
                out.append(r'\quad ')
            continue
        if token[0].isalpha():
            sub = text[i:i + 1] == '_' and text[i + 1:i + 2].isalnum() or text[i:i + 2] == '_('
            symbol = name(token)
            spaced = at > 0 and text[at - 1] == ' ' and text[i:i + 1] == ' '
            if token == 'perp':
                symbol = r'\perp '
            if crosses and token == 'x' and spaced:
                symbol = r'\times '
            if token == 'a' and words and text[i:i + 1] == ' ' or token == 'next' or token == 'of':
                symbol = None  # an article between words
            if symbol is None and (sub or text[i:i + 1] in ("'", '^', '+')):
                symbol = r'\mathrm{%s}' % token
            if symbol is None:
                words.append(token)
                continue
            flush()
            while True:  # what hangs on the symbol
                rest = text[i:]
                if rest.startswith('_(') or rest.startswith('^('):
                    inner, end = group(text, i + 1)
                    if inner is None:
                        break
                    symbol += '%s{%s}' % (rest[0], tex(inner, transposes, crosses))
                    i = end
                elif m := re.match(r'([_^])(-?\d+|[A-Za-z]+|\+)', rest):
                    inner = m.group(2)
                    lower = [(name(inner) or (r'\mathrm{%s}' % inner if len(inner) > 2 else inner)) if inner[0].isalpha() else inner]
                    symbol += '%s{%s}' % (m.group(1), lower[0])
                    i += m.end()
                elif m := re.match(r"'+", rest):
                    if transposes and token[0].isupper() and m.group() == "'" and not rest.startswith("'("):
                        symbol += r'^{\mathsf T}'
                    else:
                        symbol += m.group()
                    i += m.end()
                elif rest.startswith('~'):
                    symbol, i = r'\tilde{%s}' % symbol, i + 1
                elif rest.startswith('..') and not rest.startswith('...'):
                    symbol, i = r'\ddot{%s}' % symbol, i + 2
                elif re.match(r'\.(?=\s|$|;)', rest) and len(token) == 1:
                    symbol, i = r'\dot{%s}' % symbol, i + 1
                elif re.match(r'\+(?=[\s,;:.)\]|]|$)', rest):
                    symbol, i = symbol + '^{+}', i + 1
                else:
                    break
            out.append(symbol + ' ')
            continue
        if words and token in ',;:.' and i < len(text):
            words[-1] += token
            continue
        flush()
        if token in SYMBOLS:
            out.append(SYMBOLS[token])
        elif token == '.':
            spaced = at > 0 and text[at - 1] == ' ' and text[i:i + 1] == ' '
            out.append(r'\cdot ' if spaced or re.match(r'[A-Za-z]', text[i:i + 1]) else '.')
        elif token == '...':
            out.append(r'\dots ')
        elif token == ';':
            out.append(r';\quad ')
        elif token == '*':
            out.append(r'\,')
        elif re.fullmatch(r'\d.*e.*', token):
            mantissa, power = token.split('e')
            out.append(r'%s10^{%d}' % ('' if mantissa == '1' else mantissa + r'\cdot ', int(power)))
        else:
            out.append(token)
    flush()
    return re.sub(r' +', ' ', ''.join(out)).strip()
