# SPDX-License-Identifier: GPL-3.0-or-later
"""Test anything protocol, and the program as a user meets it."""
import os
import subprocess
import sys

count = failed = 0


def ok(passed, what, *more):
    global count, failed
    count += 1
    failed += not passed
    print(f"{'' if passed else 'not '}ok {count} - {' '.join(what.split())}", flush=True)  # a line, whatever it quotes
    for line in () if passed else '\n'.join(str(m) for m in more).splitlines()[:30]:
        print('#', line, flush=True)
    return passed


def skip(why, what):
    global count
    count += 1
    print(f'ok {count} - {what} # SKIP {why}', flush=True)


def done():
    print(f'1..{count}')
    sys.exit(failed > 0 and not os.environ.get('PERP_TAP'))


def raises(kind, text, call, what):
    """call() raises kind with text in its message, in one line."""
    try:
        answer = call()
    except kind as why:
        ok(text in str(why) and '\n' not in str(why), what, f'it says: {why}')
    else:
        ok(False, what, f'it answers: {answer!r}')


def perp(*words, timeout=120):
    """Run the program: (status, stdout, stderr)."""
    done = subprocess.run([os.environ['PERP_BIN'], *words], capture_output=True, text=True, errors='replace', timeout=timeout,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr
