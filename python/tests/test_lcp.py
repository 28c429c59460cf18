# SPDX-License-Identifier: GPL-3.0-or-later
"""perp.lcp and perp.LCP: dense, sparse, factored; sequences."""
import pytest

import perp

np = pytest.importorskip('numpy')
rng = np.random.default_rng(7)


def conditions(A, b, x, lo=0.0, hi=np.inf):
    """How far x is from a solution: the natural map, by its definition."""
    return np.abs(x - np.clip(x - (A @ x + b), lo, hi)).max()


def parts(bodies=5, rows=8):
    """Blocks of masses, and rows that touch one or two of them."""
    M = [np.diag(rng.uniform(1, 2, 3)) for _ in range(bodies - 1)] + [np.array([[2, 0.3], [0.3, 1]])]
    J = np.zeros((rows, 3 * (bodies - 1) + 2))
    for i in range(rows):
        for b in rng.choice(bodies, 2, replace=False):
            J[i, 3 * b:3 * b + (3 if b < bodies - 1 else 2)] = rng.normal(size=3 if b < bodies - 1 else 2)
    return M, J


def test_dense_sparse_and_factored_agree():
    scipy = pytest.importorskip('scipy.sparse')
    linalg = pytest.importorskip('scipy.linalg')
    M, J = parts()
    s, b = rng.uniform(0.01, 0.1, 8), rng.normal(size=8)
    A = J @ np.linalg.inv(linalg.block_diag(*M)) @ J.T + np.diag(s)
    F = perp.Factored(M, J, s)
    assert abs(F.dense() - A).max() < 1e-13
    for solver in ('dantzig', 'pgs', 'auto'):
        answers = [perp.lcp(form, b, solver=solver) for form in (A, scipy.csr_matrix(A), F, perp.Factored(M, scipy.csr_matrix(J), s))]
        for answer in answers:
            assert answer and conditions(A, b, answer.x) < 1e-8, solver
            assert abs(answer.x - answers[0].x).max() < 1e-7 and abs(answer.w - (A @ answer.x + b)).max() < 1e-7


def test_factored_refuses_what_makes_no_sense():
    M, J = parts()
    for bad, says in (((M, J[:, 1:]), 'J must have 14 columns'), (([np.zeros((2, 3))], J), 'square blocks'),
                      (([np.array([[1, 2], [2, 1]])], np.zeros((1, 2))), 'not positive definite'), ((M, J, -1.0), 'negative')):
        with pytest.raises(perp.Error, match=says):
            perp.Factored(*bad)


def test_a_sequence_keeps_its_solver_and_starts_warm():
    n = 60
    G = rng.normal(size=(n, n))
    A = np.asfortranarray(G @ G.T / n + np.eye(n))
    b = rng.normal(size=n)
    sequence = [b + 1e-3 * k * rng.normal(size=n) for k in range(6)]
    warm, cold = perp.LCP(A, solver='pgs'), perp.LCP(A, solver='pgs', warm=False)
    a, c = warm.solve_all(sequence), cold.solve_all(sequence)
    for b, s, t in zip(sequence, a, c):
        assert s and t and conditions(A, b, s.x) < 1e-8 and abs(s.x - t.x).max() < 1e-7
    assert sum(s.iterations for s in a[1:]) < sum(t.iterations for t in c[1:])
    again = perp.lcp(A, sequence[3], solver='pgs')
    assert (again.x == c[3].x).all() and again.iterations == c[3].iterations  # the state of a cold one is that of a new one
    warm.forget()
    assert (warm.solve(sequence[3]).x == c[3].x).all()


def test_a_matrix_in_the_order_of_fortran_is_not_copied():
    A = np.asfortranarray([[2.0, 1.0], [1.0, 2.0]])
    p = perp.LCP(A, solver='dantzig')
    assert np.allclose(p.solve([-5, -6]).x, [4 / 3, 7 / 3])
    A[:] = [[1, 0], [0, 1]]
    assert np.allclose(p.solve([-5, -6]).x, [5, 6])
    p.update([[2, 0], [0, 2]])
    assert np.allclose(p.solve([-5, -6]).x, [2.5, 3])
    with pytest.raises(perp.Error, match='2 rows'):
        p.update([[1]])
    s = p.solve([-5, -6])
    p.solve([-1, -1])
    assert np.allclose(s.x, [2.5, 3])  # an answer is the caller's own


def test_bounds_friction_and_cones_of_a_sequence():
    p = perp.LCP(np.eye(3), friction_of=[-1, 0, 0], mu=0.5, cone=[0, 1, 0], solver='block-gs')
    assert np.allclose(p.solve([-2, -3, -4]).x, [2, 0.6, 0.8], atol=1e-8)
    assert np.allclose(p.solve([-1, -0.3, 0]).x, [1, 0.3, 0], atol=1e-8)
    with pytest.raises(perp.Error, match='b must have 3 numbers'):
        p.solve([1, 2])
    with pytest.raises(perp.Error, match='did you mean'):
        perp.LCP(np.eye(2), solver='lemk')
    with pytest.raises(perp.Error, match='stay of its kind'):
        p.update(perp.Factored([np.eye(3)], np.eye(3)))


def test_sensitivity_is_that_of_differences():
    G = rng.normal(size=(6, 6))
    A, b = G @ G.T + np.eye(6), rng.normal(size=6)
    p = perp.LCP(A, solver='lemke', warm=False)
    with pytest.raises(perp.Error, match='solve the problem first'):
        p.sensitivity(None)
    s = p.solve(b)
    d = p.sensitivity(s)
    assert d.verdict == 'regular' and d.kind == ['smooth'] * 6
    for i in range(6):
        e = np.zeros(6)
        e[i] = 1e-6
        assert np.allclose(d.db[:, i], (p.solve(b + e).x - p.solve(b - e).x) / 2e-6, atol=1e-6)
        assert d.least[i] < b[i] < d.most[i] or d.least[i] < 0 < d.most[i]
    q = perp.LCP([[1.0]])
    at = q.sensitivity(q.solve([0.0]))  # x = max(0, -b): a kink
    assert at.verdict == 'degenerate' and at.kind == ['sides'] and at.db[0, 0] == 0 and at.db_down[0, 0] == -1


def test_all_solutions_of_a_game_of_two():
    p = perp.LCP([[0, 1], [1, 0]])
    every = p.solutions([-1, -1])  # (1, 1) and nothing else
    assert every.complete and np.allclose(every.x, [[1, 1]])
    every = perp.LCP([[1, 2], [2, 1]]).solutions([-1, -1])
    assert {tuple(x.round(9)) for x in every.x} == {(1, 0), (0, 1), (round(1 / 3, 9), round(1 / 3, 9))} and len(every) == 3
    segment = perp.LCP([[1, 1], [1, 1]]).solutions([-1, -1])  # x1 + x2 = 1
    assert [part[1:] for part in segment.parts] == [(1, True)]
