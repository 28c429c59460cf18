# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the wheel of perp for pip (PEP 517), with the standard library alone: the package, and where libperp is.

libperp: that which PERP_LIBRARY names, of the build beside this folder, or of the system.  Where it is of the system, or
PERP_LIBRARY is its bare name (libperp.so.0), no path is written into the package.
"""
import base64
import ctypes
import hashlib
import json
import os
import pathlib
import re
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
SONAME = 'libperp.so.0'
TEXT = (HERE / 'pyproject.toml').read_text(encoding='utf-8')


def field(key):
    return re.search(rf'^{key} = "(.*)"$', TEXT, re.M)[1]


NAME, VERSION = field('name'), field('version')
INFO = f'{NAME}-{VERSION}.dist-info'


def place():
    """Where library and program are; {} where the system knows."""
    named, tree = os.environ.get('PERP_LIBRARY'), HERE.parent
    build = pathlib.Path(os.environ.get('PERP_BUILD') or tree / 'build')
    library = named or (str(build / SONAME) if (build / SONAME).exists() else SONAME)
    try:
        lib = ctypes.CDLL(library)
        lib.perp_abi()
    except (OSError, AttributeError) as why:
        raise SystemExit(f'perp: {library} cannot be loaded ({why}).  Build it (./perp version), install it (apt-get install '
                         f'libperp0), or name it with PERP_LIBRARY') from None
    if '/' not in library:
        return {}
    program = os.environ.get('PERP_PROGRAM') or str(build / 'experiments/perp')
    home = str(tree) if (tree / 'meson.build').exists() else ''
    return {'library': os.path.abspath(library), 'program': os.path.abspath(program), 'home': home}


def metadata():
    return (f'Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\nSummary: {field("description")}\n'
            f'License: GPL-3.0-or-later\nRequires-Python: {field("requires-python")}\n')


def write(folder, files):
    """A wheel of {path: bytes}."""
    wheel = f'{NAME}-{VERSION}-py3-none-any.whl'
    files = {**files, f'{INFO}/METADATA': metadata().encode(),
             f'{INFO}/WHEEL': b'Wheel-Version: 1.0\nGenerator: perp\nRoot-Is-Purelib: true\nTag: py3-none-any\n'}
    record = []
    with zipfile.ZipFile(pathlib.Path(folder, wheel), 'w', zipfile.ZIP_DEFLATED) as out:
        for path, content in files.items():
            out.writestr(zipfile.ZipInfo(path, (2000, 1, 1, 0, 0, 0)), content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()
            record.append(f'{path},sha256={digest},{len(content)}')
        record.append(f'{INFO}/RECORD,,')
        out.writestr(zipfile.ZipInfo(f'{INFO}/RECORD', (2000, 1, 1, 0, 0, 0)), '\n'.join(record) + '\n')
    return wheel


# ---- what pip calls

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    files = {f'perp/{p.name}': p.read_bytes() for p in sorted((HERE / 'perp').iterdir())
             if p.suffix == '.py' or p.name == 'py.typed'}
    found = place()
    if found:
        files['perp/_place.json'] = json.dumps(found).encode()
    return write(wheel_directory, files)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    place()
    return write(wheel_directory, {'perp.pth': f'{HERE}\n'.encode()})


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit('perp: the package comes with the source tree of perp: pip install ./python there')
