#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""module.py OUT TEXT PRIVATE CLANG LD: perp as a WebAssembly module, the file OUT, and compressed as a text in TEXT.

Compiles solvers/, models/ and what the playground needs of experiments/ by clang for wasm32-wasi, and links them with wasi-libc.
Libraries that Debian does not build for WebAssembly are replaced by the small files of module/ (BLAS, LAPACK, GMP, KLU, some of
GSL), or what needs them is left out (LEFT_OUT). Objects stay in PRIVATE: a file is compiled again after a change of it or of a
header that it includes. OUT.d lists all inputs for ninja."""
import base64
import concurrent.futures
import glob
import gzip
import os
import pathlib
import re
import subprocess
import sys

# methods whose library is not there, by kind: they are taken out of the lists of plug-ins
LEFT_OUT = {'ode': r'gsl_|sundials_', 'kkt': r'schur_sparse$|kkt_sparse$|null_space$|udwadia_kalaba$', 'lcp': r'pdas$|siconos_', 'engine': r'(?!perp$)',
            'formulation': r'sundials_|tangent_coordinates$|ipc$'}
LEFT_FILES = '''solvers/ode/gsl.c solvers/kkt/schur_sparse.c solvers/kkt/kkt_sparse.c solvers/kkt/sparse.c solvers/kkt/elimination.c
solvers/kkt/null_space.c solvers/kkt/orthogonal.c solvers/kkt/udwadia_kalaba.c
solvers/lcp/pivoting/pdas.c solvers/lcp/pivoting/coarse.c solvers/lcp/io/condense.c solvers/lcp/io/io_fclib.c solvers/lcp/io/io_hdf5.c solvers/core/library.c
solvers/lcp/newton/bodylu_order.c models/formulations/dae/ida.c models/formulations/dae/tangent_coordinates.c models/formulations/schemes/ipc.c
models/formulations/schemes/ipc_energy.c models/formulations/schemes/ipc_shapes.c models/formulations/schemes/ipc_touch.c models/engines/load.c
models/scenes/truth_file.c models/scenes/truth_reduced.c models/stepping/derivative.c models/stepping/derivative_smooth.c
models/stepping/variational.c models/contact/step/velocity_derivative.c models/contact/step/velocity_derivative_residual.c
models/contact/step/velocity_derivative_rows.c models/formulations/reduced/reduced_derivative.c models/formulations/gradient.c
experiments/scenes/shipped.c experiments/scenes/scene_file.c'''.split()
FURTHER = '''experiments/base/memory.c experiments/base/messages.c experiments/base/numbers.c experiments/base/tree.c
experiments/base/warnings.c experiments/base/json.c experiments/simulate/replay_model.c experiments/lessons/pivots.c
experiments/lessons/pivots_json.c'''.split()
# nothing in these is hot, or vectors are written out
SMALL = ('experiments/', 'models/scenes/', 'models/engines/', 'solvers/lcp/io/', 'solvers/lcp/problems/', 'solvers/core/option', 'solvers/core/registry',
         'models/formulations/dae/', 'models/formulations/schemes/', 'models/multibody/build', 'models/multibody/catalogue', 'models/multibody/joint_compile', 'solvers/lcp/backward', 'solvers/lcp/judge',
         'solvers/lcp/scales', 'solvers/lcp/unique', 'solvers/lcp/pivoting/sensitivity', 'solvers/lcp/pivoting/enumerate', 'solvers/lcp/pivoting/lemke_howson')
LISTS = ('solvers/plugins.def', 'models/models.def')


def write(path, text):
    """Unless it says so already: its time is then that of its content."""
    if not path.is_file() or path.read_text(encoding='utf-8') != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='utf-8')


def sources(root):
    found = []
    for pattern in ('solvers/**/*.c', 'models/**/*.c', 'experiments/metrics/*.c', 'experiments/scenes/*.c', 'experiments/expr/*.c', 'experiments/live/module/*.c'):
        found += glob.glob(pattern, root_dir=root, recursive=True)
    return sorted(f for f in found + FURTHER if f not in LEFT_FILES and '/peers/' not in f and '/adapters/' not in f)


def lists(root, private):
    for name in LISTS:
        lines = []
        for line in (root / name).read_text(encoding='utf-8').splitlines(True):
            entry = re.match(r'PERP_PLUGIN\((\w+), (\w+)\)', line)
            if not entry or not re.match(LEFT_OUT.get(entry[1], '$.'), entry[2]):
                lines.append(line)
        write(private / 'lists' / name, ''.join(lines))
    write(private / 'lists/solvers/optional_here.h', '')


def inputs(depfile):
    return depfile.read_text(encoding='utf-8').replace('\\\n', ' ').split(':', 1)[1].split()


def compile_one(root, private, clang, build, name):
    """The object of a file, and an error or None."""
    object_file = private / (name.replace('/', '_') + '.o')
    depfile = object_file.with_suffix('.d')
    if object_file.is_file() and depfile.is_file():
        made = object_file.stat().st_mtime_ns
        try:
            if all(os.stat(f if os.path.isabs(f) else root / f).st_mtime_ns <= made for f in inputs(depfile)):
                return object_file, None
        except OSError:
            pass
    shim = 'experiments/live/module/shim'
    flags = ['--target=wasm32-wasi', '-nostdlibinc', '-isystem', '/usr/include/wasm32-wasi', '-isystem', shim, '-Os' if name.startswith(SMALL) else '-O2', '-msimd128', '-std=gnu11',
             '-ffp-contract=off', '-fno-math-errno', '-D_GNU_SOURCE', f'-I{private}/lists', '-I.', f'-I{build}', '-MD', '-MF', str(depfile)]
    run = subprocess.run([clang, *flags, '-c', name, '-o', str(object_file)], cwd=root, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        object_file.unlink(missing_ok=True)
        return object_file, run.stderr
    return object_file, None


def main():
    out, text, private = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
    clang, ld = sys.argv[4:6]
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    build = pathlib.Path.cwd()
    private.mkdir(parents=True, exist_ok=True)
    lists(root, private)
    names = sources(root)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        made = list(pool.map(lambda name: compile_one(root, private, clang, build, name), names))
    errors = [error for _, error in made if error]
    if errors:
        sys.exit('\n'.join(error.split('\n', 2)[0] + error.split('\n', 2)[1] for error in errors))
    runtime = subprocess.run([clang, '--target=wasm32-wasi', '--print-libgcc-file-name'], capture_output=True, text=True, check=True).stdout.strip()
    here = '/usr/lib/wasm32-wasi'
    linked = subprocess.run([ld, '--no-entry', '-z', 'stack-size=4194304', '--stack-first', '--gc-sections', '--strip-all', '-o', str(out), f'{here}/crt1-reactor.o',
                    *(str(o) for o, _ in made), f'-L{here}', '-lc', '-lm', '-lc-printscan-long-double', '-lwasi-emulated-signal', runtime,
                    '--export=_initialize'], check=False)
    if linked.returncode != 0:
        sys.exit(1)
    text.write_text(base64.b64encode(gzip.compress(out.read_bytes(), 9, mtime=0)).decode('ascii'), encoding='ascii')
    used = set()
    for object_file, _ in made:
        used.update(f if os.path.isabs(f) else str(root / f) for f in inputs(object_file.with_suffix('.d')))
    pathlib.Path(f'{out}.d').write_text(f'{out}: ' + ' '.join(sorted(f for f in used if str(private) not in f)) + '\n', encoding='utf-8')


if __name__ == '__main__':
    main()
