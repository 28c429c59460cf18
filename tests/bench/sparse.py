#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""perp on large sparse complementarity problems beside a primal-dual active set method on scipy's sparse LU, and Siconos.

    bench_sparse PERP [--repeat N] [--large] [--limit S] [--keep DIR]

An American put (one implicit step, tridiagonal), a membrane over an obstacle and a journal bearing are written as Matrix Market
files. Each is solved by `auto`, `pdas`, `cone-newton` and `prox` of perp, by scipy, and by the two LCP solvers of Siconos that take a
sparse matrix (PGS and the projected gradient; its Newton and pivoting methods end at once without a dense one), in turns, N times, at
a tolerance of 1e-10. Printed: the least CPU time of each in seconds, without reading the file, and the largest difference from the
answer of scipy. Siconos gets S seconds of CPU a problem (30). --large: an obstacle of 10^6 rows as well, by auto, pdas and scipy. Needs scipy
(python3-scipy); Siconos where libsiconos-numerics is installed. Nothing is tested: times are those of the machine."""
import argparse
import ctypes
import ctypes.util
import multiprocessing
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
    import scipy.sparse as sp
    import scipy.sparse.linalg as linalg
except ImportError:
    sys.exit("bench_sparse: this benchmark needs scipy: apt install python3-scipy")


def put(n, step=1.0, sigma=0.3, rate=0.05):
    """(I + step L) u >= payoff in log prices, u >= payoff; lambda = u - payoff."""
    x = np.linspace(-3, 3, n + 2)[1:-1]
    h = 6 / (n + 1)
    half, drift = sigma**2 / 2 / h**2, (rate - sigma**2 / 2) / 2 / h
    down, up = -step * (half - drift), -step * (half + drift)
    A = sp.diags([np.full(n - 1, down), np.full(n, 1 + step * (2 * half + rate)), np.full(n - 1, up)], [-1, 0, 1])
    pay = np.maximum(1 - np.exp(x), 0)
    b = A @ pay - pay
    b[0] += down * (1 - np.exp(-3))
    return A.tocsc(), b


def obstacle(k):
    """-laplace u >= -10 on the unit square over 1/2 - 2 |x - c|^2."""
    T = sp.diags([-np.ones(k - 1), 2 * np.ones(k), -np.ones(k - 1)], [-1, 0, 1])
    A = (sp.kron(T, sp.identity(k)) + sp.kron(sp.identity(k), T)).tocsc()
    x, y = np.meshgrid(np.arange(1, k + 1) / (k + 1), np.arange(1, k + 1) / (k + 1))
    psi = (0.5 - 2 * ((x - 0.5) ** 2 + (y - 0.5) ** 2)).ravel()
    return A, A @ psi + 10 * np.ones(k * k) / (k + 1) ** 2


def bearing(k, l, eccentricity=0.8):
    """Reynolds' equation with cavitation: -div(H^3 grad p) + H' >= 0, p >= 0."""
    hx, hy = 2 * np.pi / (k + 1), 1 / (l + 1)
    x = (np.arange(k) + 1) * hx
    film = lambda t: (1 + eccentricity * np.cos(t)) ** 3
    left, right = film(x - hx / 2), film(x + hx / 2)
    along = sp.diags([-right[:-1], left + right, -right[:-1]], [-1, 0, 1]) / hx**2
    across = sp.diags([-np.ones(l - 1), 2 * np.ones(l), -np.ones(l - 1)], [-1, 0, 1]) / hy**2
    A = (sp.kron(sp.identity(l), along) + sp.kron(across, sp.diags(film(x)))).tocsc()
    return A, -np.tile(eccentricity * np.sin(x), l)


def active_sets(A, b):
    """The rival: Hintermueller, Ito and Kunisch's iteration from all rows free."""
    free, diagonal, rows = np.ones(len(b), bool), A.diagonal(), A.tocsr()
    while True:
        index = np.flatnonzero(free)
        z = np.zeros(len(b))
        z[index] = linalg.spsolve(rows[index][:, index].tocsc(), -b[index])
        w = rows @ z + b
        w[index] = 0
        after = z - w / diagonal > 0
        if (after == free).all():
            return z
        free = after


def write(path, A, b):
    A = A.tocoo()
    with open(path + ".mtx", "w") as f:
        f.write("%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n" % (*A.shape, A.nnz))
        np.savetxt(f, np.column_stack((A.row + 1, A.col + 1, A.data)), fmt="%d %d %.17g")
    with open(path + "_b.mtx", "w") as f:
        f.write("%%%%MatrixMarket matrix array real general\n%d 1\n" % len(b))
        np.savetxt(f, b, fmt="%.17g")


def perp(program, path, solver):
    """Seconds of the solver, its answer, and how it ended."""
    run = subprocess.run([program, "lcp", "solve", path + ".mtx", "--lcp", solver, "--memory", "8GB"],
                         capture_output=True, text=True, env=dict(os.environ, OPENBLAS_NUM_THREADS="1"))
    if run.returncode not in (0, 10):
        sys.exit("bench_sparse: " + run.stderr)
    head = run.stdout.split("\n", 1)[0]
    answer = np.array([float(line) for line in run.stdout.split("\n") if line and line[0] != "#"])
    return float(re.search(r", ([0-9.e+-]+) s$", head).group(1)), answer, head.startswith("# solved")


# ---- Siconos: numbers of its enumerations in lcp_cst.h and NumericsMatrix.h, in a process of its own ----

SICONOS = {"siconos PGS": 202, "siconos PG": 222}


class Options(ctypes.Structure):  # the head of SolverOptions
    _fields_ = [("id", ctypes.c_int), ("set", ctypes.c_bool), ("n_int", ctypes.c_int), ("int", ctypes.POINTER(ctypes.c_int)),
                ("n_real", ctypes.c_int), ("real", ctypes.POINTER(ctypes.c_double))]


class Problem(ctypes.Structure):
    _fields_ = [("size", ctypes.c_int), ("M", ctypes.c_void_p), ("q", ctypes.c_void_p)]


def siconos_child(library, A, b, method, limit, out):
    pointer, number = ctypes.c_void_p, ctypes.c_int
    lib = ctypes.CDLL(library)
    for name, result, arguments in (("NM_create", pointer, [number] * 3), ("NM_triplet_alloc", None, [pointer, ctypes.c_long]),
                                    ("NM_zentry", None, [pointer, number, number, ctypes.c_double, ctypes.c_double]),
                                    ("solver_options_create", pointer, [number]),
                                    ("linearComplementarity_driver", number, [pointer] * 4)):
        getattr(lib, name).restype, getattr(lib, name).argtypes = result, arguments
    T, n = A.tocoo(), len(b)
    M = lib.NM_create(2, n, n)
    lib.NM_triplet_alloc(M, T.nnz)
    for i, j, v in zip(T.row.tolist(), T.col.tolist(), T.data.tolist()):
        lib.NM_zentry(M, i, j, v, 0.0)
    options = lib.solver_options_create(method)
    Options.from_address(options).real[0] = 1e-10
    Options.from_address(options).int[0] = 10**8
    z, w, q = np.zeros(n), np.zeros(n), b.copy()
    start = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(start + limit) + 1,) * 2)
    info = lib.linearComplementarity_driver(ctypes.byref(Problem(n, M, q.ctypes.data)), z.ctypes.data, w.ctypes.data, options)
    out.send((time.process_time() - start, z, info == 0))


def siconos(library, A, b, method, limit):
    """As perp(); None where it takes longer than the limit, or ends without an answer."""
    here, there = multiprocessing.Pipe(False)
    child = multiprocessing.Process(target=siconos_child, args=(library, A, b, method, limit, there))
    child.start()
    there.close()
    answer = None
    try:
        answer = here.recv()
    except EOFError:
        pass
    child.join()
    return answer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("perp")
    parser.add_argument("--repeat", type=int, default=3, metavar="N")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--limit", type=float, default=30, metavar="S")
    parser.add_argument("--keep", metavar="DIR")
    args = parser.parse_args()
    problems = [("put 20 000", put(20000)), ("put 50 000", put(50000)), ("obstacle 300 x 300", obstacle(300)),
                ("bearing 200 x 100", bearing(200, 100))]
    if args.large:
        problems.append(("obstacle 1000 x 1000", obstacle(1000)))
    solvers = ["auto", "pdas", "cone-newton", "prox"]
    library = ctypes.util.find_library("siconos_numerics")
    rivals = list(SICONOS) if library else []
    if not library:
        print("Siconos is not here (libsiconos-numerics-dev)")
    folder = args.keep or tempfile.mkdtemp(prefix="perp-sparse-")
    os.makedirs(folder, exist_ok=True)
    print("%-22s %8s" % ("problem", "scipy") + "".join(" %20s" % c for c in solvers + rivals), flush=True)
    for name, (A, b) in problems:
        path = os.path.join(folder, name.replace(" ", ""))
        write(path, A, b)
        least, off, solved = {}, {}, {}

        def count(who, exact, seconds, answer, done):
            least[who] = min(least.get(who, 1e9), seconds)
            off[who], solved[who] = np.abs(answer - exact).max() / np.abs(exact).max(), done

        for _ in range(args.repeat):
            start = time.process_time()
            exact = active_sets(A, b)
            least["scipy"] = min(least.get("scipy", 1e9), time.process_time() - start)
            for s in solvers if len(b) < 500000 else ["auto", "pdas"]:
                count(s, exact, *perp(args.perp, path, s))
            for s in rivals if len(b) < 500000 else []:
                if s in least and s not in off:
                    continue  # was too slow before
                answer = siconos(library, A, b, SICONOS[s], args.limit)
                if answer is None:
                    least[s] = args.limit
                else:
                    count(s, exact, *answer)
        cells = ["-" if s not in least else "> %g s" % least[s] if s not in off else
                 "%9.3g s %9s" % (least[s], "%.1e" % off[s] if solved[s] else "unsolved") for s in solvers + rivals]
        print("%-22s %8.3g" % (name, least["scipy"]) + "".join(" %20s" % c for c in cells), flush=True)
    if not args.keep:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
