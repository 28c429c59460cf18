#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/gallery: scene files, a picture of each, and the page that shows both.

    docs/make_gallery.py make PERP [NAME...]   # pictures (of these scenes) and README.md anew; needs Chromium
    docs/make_gallery.py check PERP            # TAP: the scenes run, the page is that of the files, pictures are small
"""
import os
import struct
import subprocess
import sys
import tempfile
import zlib

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'gallery')
SIZE, MOST = (480, 320), 25000  # pixels; bytes of a picture
# in the order of the page, with the time of the picture
SCENES = {'pendulum': 0.4, 'four-bar': 0.7, 'springs': 0.6, 'billiard': 0.45, 'chain': 0.45, 'top': 0.6, 'helix': 0.7, 'rope': 0.5, 'cloth': 0.45,
          'stack': 1, 'pyramid': 1, 'incline': 0.3, 'dominoes': 0.3, 'balls': 0.8}

HEAD = """# Gallery

Each kind of scene as a picture, and the file that makes it: [scene files](../reference/scene-files.md) has all of their words. Each runs as
it is, `perp simulate docs/gallery/chain.yaml:links=12`, and moves on a page of its own, `perp view docs/gallery/chain.yaml`.
More scenes come with perp: [scenes](../reference/scenes.md). This page is made by `docs/make_gallery.py make build/experiments/perp`.
"""


def text_of(name):
    with open(os.path.join(HERE, name + '.yaml'), encoding='utf-8') as f:
        return f.read()


def page():
    parts = [HEAD]
    for name in SCENES:
        first, rest = text_of(name).split('\n', 1)
        title = first.removeprefix('# ')
        parts.append(f'## {title}\n\n![{title}]({name}.png)\n\n```yaml\n# {name}.yaml\n{rest.rstrip()}\n```\n')
    return '\n'.join(parts)


def read_png(data):
    """Width, height and the pixels (r, g, b) of an 8-bit PNG without interlace."""
    at, idat, width, height, per = 8, b'', 0, 0, 3
    while at < len(data):
        size, kind = struct.unpack('>I4s', data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b'IHDR':
            width, height, depth, colour = struct.unpack('>IIBB', body[:10])
            if depth != 8 or colour not in (2, 6):
                raise SystemExit('an unexpected kind of PNG')
            per = 3 if colour == 2 else 4
        if kind == b'IDAT':
            idat += body
        at += 12 + size
    raw, line = zlib.decompress(idat), width * per
    above, pixels = bytearray(line), []
    for y in range(height):
        method, now = raw[y * (line + 1)], bytearray(raw[y * (line + 1) + 1:(y + 1) * (line + 1)])
        for x in range(line):
            a, b = (now[x - per] if x >= per else 0), above[x]
            if method == 1:
                now[x] = (now[x] + a) & 255
            elif method == 2:
                now[x] = (now[x] + b) & 255
            elif method == 3:
                now[x] = (now[x] + ((a + b) >> 1)) & 255
            elif method == 4:
                c = above[x - per] if x >= per else 0
                p = a + b - c
                da, db, dc = abs(p - a), abs(p - b), abs(p - c)
                now[x] = (now[x] + (a if da <= db and da <= dc else b if db <= dc else c)) & 255
        pixels += [tuple(now[x:x + 3]) for x in range(0, line, per)]
        above = now
    return width, height, pixels


def small_png(width, height, pixels, colours):
    """With a palette: the most frequent colours, the others as the nearest of them."""
    count = {}
    for p in pixels:
        key = tuple(min(255, (v + 4) // 8 * 8) for v in p)
        count[key] = count.get(key, 0) + 1
    palette = sorted(count, key=count.get, reverse=True)[:colours]
    index = {c: i for i, c in enumerate(palette)}
    for c in count:
        if c not in index:
            index[c] = min(range(len(palette)), key=lambda i: sum((a - b) ** 2 for a, b in zip(c, palette[i])))
    lines = bytearray()
    for y in range(height):
        lines.append(0)
        lines += bytes(index[tuple(min(255, (v + 4) // 8 * 8) for v in p)] for p in pixels[y * width:(y + 1) * width])

    def chunk(kind, body):
        return struct.pack('>I', len(body)) + kind + body + struct.pack('>I', zlib.crc32(kind + body))

    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, 8, 3, 0, 0, 0)) +
            chunk(b'PLTE', bytes(v for c in palette for v in c)) + chunk(b'IDAT', zlib.compress(bytes(lines), 9)) + chunk(b'IEND', b''))


def make(perp, names):
    for name in names or SCENES:
        with tempfile.TemporaryDirectory() as folder:
            shot = os.path.join(folder, 'shot.png')
            subprocess.run([perp, 'view', os.path.join(HERE, name + '.yaml'), '-o', os.path.join(folder, 'page.html'), '--png', shot,
                            '--at', str(SCENES[name]), '--size', '%dx%d' % SIZE], check=True, stdout=subprocess.DEVNULL)
            with open(shot, 'rb') as f:
                picture = read_png(f.read())
        for colours in (200, 100, 60, 30):
            data = small_png(*picture, colours)
            if len(data) <= MOST:
                break
        with open(os.path.join(HERE, name + '.png'), 'wb') as f:
            f.write(data)
        print(f'{name}.png: {len(data)} bytes')
    with open(os.path.join(HERE, 'README.md'), 'w', encoding='utf-8') as f:
        f.write(page())


def check(perp):
    results = []

    def ok(good, what):
        results.append(good)
        print(f'{"ok" if good else "not ok"} {len(results)} - {what}')

    with open(os.path.join(HERE, 'README.md'), encoding='utf-8') as f:
        ok(f.read() == page(), 'the page is that of the files')
    files = sorted(f.removesuffix('.yaml') for f in os.listdir(HERE) if f.endswith('.yaml'))
    ok(files == sorted(SCENES), 'all scene files are on it')
    for name in SCENES:
        run = subprocess.run([perp, 'simulate', os.path.join(HERE, name + '.yaml'), '--rounds', '0', '--t-end', '0.1s'], capture_output=True, text=True)
        ok(run.returncode == 0, f'{name}.yaml runs {run.stderr.strip()[:200]}')
        with open(os.path.join(HERE, name + '.png'), 'rb') as f:
            data = f.read()
        width, height = struct.unpack('>II', data[16:24])
        ok(data[:8] == b'\x89PNG\r\n\x1a\n' and (width, height) == SIZE and len(data) <= MOST, f'{name}.png: {width} x {height}, {len(data)} bytes')
    print(f'1..{len(results)}')
    return 0 if all(results) or 'PERP_TAP' in os.environ else 1


if __name__ == '__main__':
    if len(sys.argv) < 3 or sys.argv[1] not in ('make', 'check'):
        raise SystemExit(__doc__)
    if sys.argv[1] == 'check':
        sys.exit(check(sys.argv[2]))
    make(sys.argv[2], sys.argv[3:])
