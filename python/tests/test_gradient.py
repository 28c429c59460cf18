# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulation.gradient: against differences with Richardson extrapolation, and the verdict at a kink."""
import math

import pytest

import perp

np = pytest.importorskip('numpy')


def pendulum(start=1.0, rate=0.0, mass=1.0, gravity=9.81, **parts):
    return perp.Simulation({'scene': {'dim': 2, 'gravity': gravity}, 'bodies': [
        {'name': 'bob', 'mass': mass, 'inertia': [0.1 * mass] * 3, 'x': [math.cos(start), math.sin(start)], 'angle': start,
         'v': [-rate * math.sin(start), rate * math.cos(start)], 'w': rate}],
        'joints': [{'kind': 'hinge', 'a': 'world', 'b': 0, 'at': [0, 0]}]}, **parts)


def richardson(f, h):
    """(f(h) - f(-h)) / 2h, without its terms h^2 and h^4."""
    d = [(f(k) - f(-k)) / (2 * k) for k in (h, h / 2, h / 4)]
    e = [(4 * d[1] - d[0]) / 3, (4 * d[2] - d[1]) / 3]
    return (16 * e[1] - e[0]) / 15


METHODS = [dict(formulation='acceleration', ode='rk4', h=2e-3), dict(formulation='velocity', h=2e-3)]


@pytest.mark.parametrize('parts', METHODS, ids=['acceleration', 'velocity'])
def test_of_a_pendulum(parts):
    def end(**more):
        sim = pendulum(**more, **parts)
        sim.step(150)
        return np.concatenate([sim.q, sim.v])

    sim = pendulum(**parts)
    g = sim.gradient('v', 'gravity', 'mass')
    assert g.columns[3:] == [('gravity', 0), ('mass', 0)] and g.dq.shape == (3, 5)
    sim.step(150)
    plain = pendulum(**parts)
    plain.step(150)
    assert sim.q.tobytes() == plain.q.tobytes()  # the steps are the same
    own = np.concatenate([g.dq, g.dv])
    turn = np.array([-math.sin(1.0), math.cos(1.0), 1.0])  # velocities of the hinge
    for mine, other in ((own[:, :3] @ turn, richardson(lambda x: end(rate=x), 1e-2)),
                        (own[:, 3], richardson(lambda x: end(gravity=9.81 + x), 1e-2)),
                        (own[:, 4], richardson(lambda x: end(mass=1 + x), 1e-2))):
        assert abs(mine - other).max() < 1e-6 * max(1, abs(other).max())
    assert g.worst == 'smooth' and g.sides == ['both'] * 5 and g.kinks == []
    assert np.allclose(g.pull(wv=[0, 0, 1]), g.dv[2]) and np.allclose(g.pull(wq=[1, 0, 0], wv=[0, 0, 1]), g.dq[0] + g.dv[2])


def test_a_box_at_rest_that_is_about_to_slide_is_a_kink():
    """A push of mu m g is the end of sticking: right of it the box slides, left of it it does not."""
    def box(push):
        sim = perp.Simulation({'scene': {'dim': 2, 'gravity': 10}, 'bodies': [
            {'mass': 1, 'inertia': [1, 1, 1], 'x': [0, 0.5], 'shape': {'kind': 'box', 'size': [1, 1], 'mu': 0.5}}],
            'shapes': [{'body': 'world', 'kind': 'plane', 'mu': 0.5}]}, h=1e-3, lcp='dantzig')
        sim.on_control(lambda s: s.apply(0, force=[push, 0], point=[0, -0.5]))
        return sim

    for push, verdict, slope in ((2.0, ('smooth', 'singular'), 0.0), (8.0, ('smooth', 'singular'), 1e-3), (5.0, ('kink', 'ambiguous'), None)):
        sim = box(push)
        g = sim.gradient(('force', 0))
        sim.step()
        assert g.verdict in verdict, (push, g.verdict, g.kinks)
        if slope is not None:
            assert abs(g.dv[0, 0] - slope) < 1e-9


def test_what_makes_no_sense_is_refused():
    sim = pendulum()
    for wrt, says in ((('w',), 'derivatives are by'), ((('mass', 7),), 'no body 7'), ((('q', 99),), '99'), ((('target', 0),), 'no drive')):
        with pytest.raises(perp.Error, match=says):
            sim.gradient(*wrt)
    old = sim.gradient('q')
    sim.gradient('v')
    with pytest.raises(perp.Error, match='older request'):
        old.dq
    with pytest.raises(perp.Error, match='no bodies'):
        perp.Simulation('oscillator').gradient('q')
    with pytest.raises(perp.Error):
        perp.Simulation('stack:boxes=2', formulation='xpbd').gradient('q')
