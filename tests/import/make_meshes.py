#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""make_meshes.py FOLDER: one wedge in every format that perp reads, and meshes that lie.

The wedge is a prism over the triangle (0, 0), (0.3, 0), (0, 0.2) from z = 0.1 to z = 0.5 m: volume 0.012 m^3,
centre (0.1, 1/15, 0.3).  No symmetry: a wrong axis or unit shows."""
import base64
import json
import pathlib
import struct
import sys

POINT = [(x, y, z) for z in (0.1, 0.5) for x, y in ((0, 0), (0.3, 0), (0, 0.2))]
FACE = [(0, 2, 1), (3, 4, 5), (0, 1, 4), (0, 4, 3), (1, 2, 5), (1, 5, 4), (2, 0, 3), (2, 3, 5)]


def stl(point=POINT, face=FACE, claim=None):
    out = bytearray(b'wedge'.ljust(80, b' ') + struct.pack('<I', len(face) if claim is None else claim))
    for f in face:
        out += struct.pack('<3f', 0, 0, 0)
        for k in f:
            out += struct.pack('<3f', *point[k])
        out += b'\0\0'
    return bytes(out)


def stl_text(point=POINT):
    lines = ['solid wedge']
    for f in FACE:
        lines += ['facet normal 0 0 0', 'outer loop']
        lines += ['vertex %s %s %s' % point[k] for k in f]
        lines += ['endloop', 'endfacet']
    return '\n'.join(lines + ['endsolid wedge', ''])


def obj(point=POINT, face=None):
    quads = face or [(0, 2, 1), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5)]
    return '\n'.join(['mtllib none.mtl', 'o wedge'] + ['v %s %s %s' % tuple(p) for p in point] +
                     ['f ' + ' '.join(str(k + 1) for k in f) for f in quads] + [''])


def dae(unit, up, matrix, point, head=''):
    numbers = ' '.join(repr(x) for p in point for x in p)
    index = ' '.join(str(k) for f in FACE for k in f)
    return f'''<?xml version="1.0" encoding="utf-8"?>
{head}<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="unit" meter="{unit}"/><up_axis>{up}</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="pa" count="18">{numbers}</float_array><technique_common>
<accessor source="#pa" count="6" stride="3"><param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/></accessor>
</technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="8"><input semantic="VERTEX" source="#v" offset="0"/><p>{index}</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node id="n"><matrix>{matrix}</matrix><instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene>
</COLLADA>
'''


def gltf_parts(point):
    flat = [x for p in point for x in p]
    index = [k for f in FACE for k in f]
    data = struct.pack('<%df' % len(flat), *flat) + struct.pack('<%dH' % len(index), *index)
    low = [min(p[i] for p in point) for i in range(3)]
    high = [max(p[i] for p in point) for i in range(3)]
    doc = {'asset': {'version': '2.0'}, 'scene': 0, 'scenes': [{'nodes': [0]}], 'nodes': [{'mesh': 0, 'translation': [0, 0, 0]}],
           'meshes': [{'primitives': [{'attributes': {'POSITION': 0}, 'indices': 1, 'mode': 4}]}],
           'accessors': [{'bufferView': 0, 'componentType': 5126, 'count': len(point), 'type': 'VEC3', 'min': low, 'max': high},
                         {'bufferView': 1, 'componentType': 5123, 'count': len(index), 'type': 'SCALAR'}],
           'bufferViews': [{'buffer': 0, 'byteOffset': 0, 'byteLength': 12 * len(point)},
                           {'buffer': 0, 'byteOffset': 12 * len(point), 'byteLength': 2 * len(index)}],
           'buffers': [{'byteLength': len(data)}]}
    return doc, data


def glb(doc, data):
    text = json.dumps(doc).encode()
    text += b' ' * (-len(text) % 4)
    data += b'\0' * (-len(data) % 4)
    body = struct.pack('<II', len(text), 0x4E4F534A) + text + struct.pack('<II', len(data), 0x004E4942) + data
    return struct.pack('<III', 0x46546C67, 2, 12 + len(body)) + body


def main(folder):
    put = lambda name, what: (folder / name).write_bytes(what if isinstance(what, bytes) else what.encode())
    put('wedge.stl', stl())
    put('wedge-text.stl', stl_text())
    put('wedge.obj', obj())
    one = '1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1'
    put('wedge.dae', dae(1, 'Z_UP', one, POINT))
    # centimetres; y up, which ROS does not heed; a node that puts back what the numbers are moved by
    moved = [(100 * x - 7, 100 * y, 100 * z + 3) for x, y, z in POINT]
    put('wedge-cm.dae', dae(0.01, 'Y_UP', '1 0 0 7 0 1 0 0 0 0 1 -3 0 0 0 1', moved))
    doc, data = gltf_parts([(x, z, -y) for x, y, z in POINT])  # y up
    put('wedge.glb', glb(doc, data))
    doc['buffers'][0]['uri'] = 'data:application/octet-stream;base64,' + base64.b64encode(data).decode()
    put('wedge.gltf', json.dumps(doc))
    doc['buffers'][0]['uri'] = 'wedge.bin'
    put('wedge-beside.gltf', json.dumps(doc))
    put('wedge.bin', data)
    put('wedge.msh', struct.pack('<4i', 6, 0, 0, 8) + b''.join(struct.pack('<3f', *p) for p in POINT) +
        b''.join(struct.pack('<3i', *f) for f in FACE))
    # what lies
    put('lies-claim.stl', stl(claim=1_000_000_000))
    put('lies-nan.stl', stl(point=[(float('nan'), 0, 0)] + POINT[1:]))
    put('lies-infinite.stl', stl_text(point=[('1e400', 0, 0)] + POINT[1:]))
    put('lies-index.obj', obj(face=[(0, 1, 2), (0, 1, 70)]))
    put('lies-flat.stl', stl(face=[(0, 0, 0)]))
    put('lies-empty.stl', b'')
    put('lies-empty.obj', '# nothing\n')
    put('lies-name.step', 'ISO-10303-21;\n')
    put('lies-short.glb', glb(doc, data)[:60])
    put('lies-index.msh', struct.pack('<4i', 3, 0, 0, 1) + struct.pack('<9f', *range(9)) + struct.pack('<3i', 0, 1, 3))
    put('lies-claim.msh', struct.pack('<4i', 2_000_000_000, 0, 0, 1))
    bomb = '<!DOCTYPE c [<!ENTITY a "1 1 1 1 1 1 1 1 1 1">' + ''.join(
        '<!ENTITY %s "%s">' % (b, ('&%s;' % a) * 10) for a, b in zip('abcdefgh', 'bcdefghi')) + ']>\n'
    put('lies-bomb.dae', dae(1, 'Z_UP', one, POINT, bomb).replace('<p>', '<p>&i; '))
    doc['buffers'][0]['uri'] = '../../../../../../../../etc/passwd.bin'
    put('lies-outside.gltf', json.dumps(doc))
    doc['buffers'][0]['uri'] = 'wedge.bin'
    doc['accessors'][0]['count'] = 1_000_000_000
    put('lies-claim.gltf', json.dumps(doc))
    doc['accessors'][0]['count'] = 6
    doc['nodes'][0]['children'] = [0]
    put('lies-circle.gltf', json.dumps(doc))


if __name__ == '__main__':
    main(pathlib.Path(sys.argv[1]))
