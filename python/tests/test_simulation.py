# SPDX-License-Identifier: GPL-3.0-or-later
"""perp.Simulation: the steps of `perp simulate`, states, forces and controllers in Python."""
import gc
import json
import math
import pickle
import subprocess
import sys
import time

import pytest

import perp

np = pytest.importorskip('numpy')

# methods of all kinds: with and without history, fixed and adaptive, with and without contacts
CASES = [
    ('pendulum', {}), ('chain:links=4', dict(formulation='acceleration', ode='rk4')),
    ('chain:links=3', dict(formulation='acceleration', ode='dopri5')),
    ('chain:links=3', dict(formulation='acceleration', ode='gsl:msadams:tol=1e-8')), ('stack:boxes=3', dict(lcp='dantzig')),
    ('stack:boxes=3', dict(lcp='pgs', h=0.003)), ('wall', dict(lcp='pgs', stab='baumgarte')), ('four-bar', {}),
    ('double-pendulum', dict(formulation='reduced', ode='rk4')), ('oscillator', dict(ode='rk4')),
    ('bouncing-ball', dict(formulation='acceleration')), ('stack:boxes=2', dict(formulation='velocity-midpoint')),
    ('stack:boxes=2', dict(formulation='velocity:tol=1e-4')), ('stack:boxes=2', dict(formulation='xpbd')),
    ('stack:boxes=2', dict(formulation='groups')), ('motor', {}), ('belt-drive', {}), ('torn-rod', {}), ('enabling', {}),
    ('vehicle', {}), ('pendulum', dict(formulation='radau5')),
]
ids = [f'{scene} {" ".join(map(str, parts.values()))}'.strip() for scene, parts in CASES]


def bits(sim):
    return sim.t, sim.q.tobytes(), sim.v.tobytes()


@pytest.mark.parametrize('scene, parts', CASES, ids=ids)
def test_stepping_is_perp_simulate_to_the_bit(scene, parts):
    sim = perp.Simulation(scene, t_end=0.2, **parts).run()
    run = perp.simulate(scene, t_end=0.2, **parts)
    assert sim.t == run.t and sim.q.tobytes() == run.q.tobytes() and sim.v.tobytes() == run.v.tobytes()
    assert sim.steps == run.metrics['steps'] and sim.methods == run.parts
    assert sim.energy == run.series['energy'][-1] or math.isnan(sim.energy)


def test_single_steps_are_the_rows_of_the_series():
    run = perp.simulate('stack:boxes=2', h=0.004, sample=0.004, t_end=0.2)
    sim = perp.Simulation('stack:boxes=2', h=0.004)
    for row in range(1, 50):
        sim.step()
        assert [run.series[f'q{i}'][row] for i in range(sim.nq)] == list(sim.q)


@pytest.mark.parametrize('scene, parts', CASES, ids=ids)
def test_save_restore_go_on_gives_the_same_bits(scene, parts):
    sim = perp.Simulation(scene, t_end=0.2, **parts)
    sim.step(7)
    sim.advance(sim.t + 0.05)
    saved = pickle.loads(pickle.dumps(sim.state))
    at = bits(sim)
    sim.step(5)
    sim.advance(sim.t + 0.07)
    end = bits(sim)
    sim.state = saved  # here
    assert bits(sim) == at
    sim.step(5)
    sim.advance(sim.t + 0.07)
    assert bits(sim) == end
    other = perp.Simulation(scene, t_end=0.2, **parts)  # and in another one
    other.state = saved
    assert bits(other) == at and other.state == saved
    other.step(5)
    other.advance(other.t + 0.07)
    assert bits(other) == end


def test_a_state_goes_to_another_process(folder):
    sim = perp.Simulation('stack:boxes=3')
    sim.step(30)
    (folder / 'state').write_bytes(sim.state)
    sim.step(30)
    code = ('import perp, sys; sim = perp.Simulation("stack:boxes=3"); sim.state = open("state", "rb").read(); sim.step(30); '
            'sys.stdout.buffer.write(sim.q.tobytes() + sim.v.tobytes())')
    assert subprocess.run([sys.executable, '-c', code], check=True, capture_output=True).stdout == sim.q.tobytes() + sim.v.tobytes()


def test_a_state_of_another_simulation_is_refused():
    saved = perp.Simulation('stack:boxes=3').state
    for other, says in ((perp.Simulation('stack:boxes=2'), 'scene'), (perp.Simulation('stack:boxes=3', lcp='lemke'), 'methods'),
                        (perp.Simulation('stack:boxes=3', h=1e-4), 'h is')):
        with pytest.raises(perp.Error, match=says):
            other.state = saved
    for bad in (b'', b'{}', b'\xff', saved[:-3]):
        with pytest.raises(perp.Error, match='no state'):
            perp.Simulation('stack:boxes=3').state = bad
    told = json.loads(saved)
    told['now'][1][0] += 1e-9
    with pytest.raises(perp.Error, match='cannot be reached'):
        perp.Simulation('stack:boxes=3').state = json.dumps(told).encode()


def test_views_look_at_the_state_without_a_copy():
    sim = perp.Simulation('pendulum')
    q, v = sim.q, sim.v
    before = q.copy()
    assert q is sim.q and not q.flags.owndata
    sim.step(10)
    assert (q != before).any() and (q == sim.q).all()
    with pytest.raises(ValueError):
        q[0] = 1
    end = q.copy()
    del sim
    gc.collect()
    assert (q == end).all() and v.shape == (3,)  # what looks at memory keeps it


def test_restart_and_truth():
    sim = perp.Simulation('pendulum', h=1e-3)
    sim.run()
    q, v = sim.truth()
    assert abs(sim.q - q).max() < 2e-2 and 'closed form' in perp.simulate('pendulum').truth
    start = perp.Simulation('pendulum', h=1e-3)
    sim.restart(0.0, start.q, start.v)
    sim.step(100), start.step(100)
    assert bits(sim) == bits(start)
    with pytest.raises(perp.Error, match='q must have 3 numbers: got 1'):
        sim.restart(q=[1])
    with pytest.raises(perp.Error, match='finite'):
        sim.restart(q=[math.nan, 0, 0])
    with pytest.raises(perp.Error, match='no exact or reference'):
        perp.Simulation('wall').truth()
    with pytest.raises(perp.Error, match='back'):
        sim.advance(0)


def test_contacts_and_forces_of_a_stack():
    sim = perp.Simulation('stack:boxes=3')
    assert len(sim.contacts) == 0
    with pytest.raises(perp.Error, match='before the first step'):
        sim.forces
    sim.step(100)
    c = sim.contacts
    m, g = 1.0, 9.81
    assert c.body.shape == (12, 2) and c.normal.shape == (12, 3) and c.gap.shape == (12,)
    for pair, weight in (((-1, 0), 3), ((0, 1), 2), ((1, 2), 1)):
        rows = (c.body == pair).all(axis=1)
        assert np.allclose(c.force[rows].sum(axis=0), [0, 0, weight * m * g], atol=1e-8)
        assert np.allclose(sim.forces.pairs[pair][0], [0, 0, weight * m * g], atol=1e-8)
    assert (abs(c.point[:, 2] - c.point[:, 2].round()) < 1e-9).all()


def test_forces_of_joints_are_those_of_the_program():
    run = perp.simulate('four-bar', forces=True, t_end=0.1)
    sim = perp.Simulation('four-bar', t_end=0.1).run()
    assert sim.forces.of == 'mean' and sim.forces.force.shape == (sim.joints, 3)
    for i in range(sim.joints):
        for k, axis in enumerate('xy'):
            assert sim.forces.force[i, k] == run.series[f'joint{i}.f{axis}'][-1]


def test_hanging_weight_pulls_by_its_weight():
    sim = perp.Simulation({'scene': {'dim': 2, 'gravity': 9.81}, 'bodies': [{'mass': 2, 'inertia': [1, 1, 1], 'x': [0, -1]}],
                           'joints': [{'kind': 'hinge', 'a': 'world', 'b': 0, 'at': [0, 0]}]}, h=1e-3)
    sim.step(10)
    assert np.allclose(sim.forces.force, [[0, 2 * 9.81, 0]], atol=1e-9)


# ---- forces and controllers


def ball(**parts):
    """A free body of 2 kg in space, without gravity."""
    return perp.Simulation({'scene': {'dim': 3, 'gravity': 0}, 'bodies': [
        {'name': 'ball', 'mass': 2, 'inertia': [0.4, 0.5, 0.6]}]}, **parts)


@pytest.mark.parametrize('parts', [{}, dict(formulation='acceleration', ode='rk4'), dict(formulation='acceleration', ode='dopri5', h='2 ms'),
                                   dict(formulation='acceleration', ode='gsl:msadams:tol=1e-9')])
def test_a_controller_acts_during_the_next_step(parts):
    sim = ball(**{'h': 1e-3, **parts})
    told = []

    @sim.on_control
    def push(s):
        told.append(s.t)
        s.apply('ball', force=[3.0 if s.t < 0.0999999 else -3.0, 0, 0])

    sim.advance(0.1)
    assert told[0] == 0 and len(told) == sim.steps
    assert abs(sim.v[0] - 0.15) < 2e-6, sim.v  # F t / m
    sim.advance(0.2)
    assert abs(sim.v[0]) < 2e-6 and abs(sim.q[0] - 0.015) < 2e-4


def test_a_force_at_a_point_turns():
    sim = ball(h=1e-3)
    sim.on_control(lambda s: s.apply(0, force=[0, 0, 1], point=[0, 0.5, 0], torque=[0, 0.25, 0]))
    sim.step()
    assert np.allclose(sim.v, [0, 0, 0.5e-3, 0.5 / 0.4 * 1e-3, 0.25 / 0.5 * 1e-3, 0], atol=1e-12)


def test_a_force_of_the_state_is_the_spring_of_the_scene():
    k, d = 40.0, 1.5
    sim = ball(formulation='acceleration', ode='rk4', h=1e-2)
    sim.restart(v=[1, 0, 0, 0, 0, 0])
    sim.on_force(lambda t, x, R, v, w: -k * x - d * v, body='ball')
    sim.restart(v=[1, 0, 0, 0, 0, 0])
    sim.advance(1.0)
    a, w = d / 4, math.sqrt(k / 2 - (d / 4) ** 2)
    assert abs(sim.q[0] - math.exp(-a) * math.sin(w) / w) < 1e-5
    implicit = ball(formulation='acceleration', ode='implicit-midpoint', h=1e-2)
    implicit.on_force(lambda t, x, R, v, w: -k * x - d * v)
    implicit.restart(v=[1, 0, 0, 0, 0, 0])
    implicit.advance(1.0)
    assert abs(implicit.q[0] - math.exp(-a) * math.sin(w) / w) < 2e-3


def test_forces_that_are_zero_change_no_bit():
    for scene, parts in (('stack:boxes=2', {}), ('chain:links=3', dict(formulation='acceleration', ode='rk4')), ('four-bar', {})):
        plain, held, asked = (perp.Simulation(scene, **parts) for _ in range(3))
        held.on_control(lambda sim: None)
        asked.on_force(lambda t, x, R, v, w: (0, 0, 0), body=0)
        for sim in (plain, held, asked):
            sim.step(50)
        assert bits(plain) == bits(held) == bits(asked)


def test_a_motor_in_python_holds_a_pendulum():
    scene = {'scene': {'dim': 2, 'gravity': 9.81}, 'bodies': [{'mass': 1, 'inertia': [0.1, 0.1, 0.1], 'x': [1, 0]}],
             'joints': [{'name': 'pivot', 'kind': 'hinge', 'a': 'world', 'b': 0, 'at': [0, 0]}]}
    sim = perp.Simulation(scene, h=1e-3)
    sim.on_control(lambda s: s.drive('pivot', 9.81))
    sim.step(100)
    assert abs(sim.q - [1, 0, 0]).max() < 1e-9
    sim = perp.Simulation(scene, h=1e-3)
    sim.on_control(lambda s: s.drive('pivot', 9.81 * math.cos(s.q[2]) - 40 * (s.q[2] - 0.3) - 13 * s.v[2]))
    sim.advance(3)
    assert abs(sim.q[2] - 0.3) < 1e-3
    with pytest.raises(perp.Error, match="no joint 'elbow': pivot"):
        sim.drive('elbow', 1)


def test_states_with_controllers_are_reached_again():
    def make():
        sim = perp.Simulation('stack:boxes=2')
        sim.on_control(lambda s: s.apply(1, force=[2 * math.sin(20 * s.t), 0, 0]))
        return sim
    sim = make()
    sim.step(20)
    saved = sim.state
    sim.step(20)
    other = make()
    other.state = saved
    other.step(20)
    assert bits(other) == bits(sim)
    calls = []
    sim = perp.Simulation('stack:boxes=2')
    sim.on_control(lambda s: (calls.append(1), s.apply(1, force=[len(calls), 0, 0])))
    sim.step(3)
    with pytest.raises(perp.Error, match='depends on more than the state'):
        sim.state = sim.state


def test_what_callbacks_raise_is_raised():
    sim = ball()
    sim.on_force(lambda t, x, R, v, w: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        sim.step()
    sim = ball()
    sim.on_control(lambda s: s.apply(3, force=[1, 0, 0]))
    with pytest.raises(perp.Error, match='no body 3'):
        sim.step()
    with pytest.raises(perp.Error, match='in a controller'):
        ball().apply(0, [1, 0, 0])
    sim = ball()
    sim.step()
    with pytest.raises(perp.Error, match='before the first step'):
        sim.on_control(print)
    with pytest.raises(perp.Error, match='no bodies'):
        perp.Simulation('oscillator').on_control(print)


MINE = '''from perp.plugin import Answer, lcp

@lcp("mine", summary="of a test", reference="none", declares=["box", "free", "friction", "semidefinite", "iterative", "warm-start"],
     serves="nothing", ties="no ties", cost="nothing", counts="nothing")
def solve(p, x, opt):
    for k in range(3000):
        for i in range(p.n):
            x[i] -= (p.A[i] @ x + p.b[i]) / p.A[i, i]
            x = p.clamp(x)
        if p.merit(x) <= p.tol:
            return Answer(x, "converged", iterations=k + 1)
    return Answer(x, "max-iter", iterations=k)
'''


def test_a_file_of_solvers_serves_several_simulations(folder):
    (folder / 'mine.py').write_text(MINE)
    a = perp.Simulation('stack:boxes=2', lcp='mine', plugins='mine.py')
    b = perp.Simulation('stack:boxes=2', lcp='mine', plugins=['mine.py'])
    a.step(3), b.step(3)
    assert bits(a) == bits(b) and a.methods['lcp'] == 'mine'
    (folder / 'mine.py').write_text(MINE + '# another line')
    with pytest.raises(perp.Error, match='has changed since'):
        perp.Simulation('stack:boxes=2', lcp='mine', plugins='mine.py')


# ---- methods of Python, in this process


def test_methods_in_python_serve_as_those_of_perp():
    from perp import plugin

    @plugin.ode('own-rk4', order=4, stages=4, summary='of a test', reference='none', options=[plugin.Real('one', 1.0, 0, 2, 'x')])
    def rk4(system, t, h, q, v, opt):
        k1 = system.deriv(t, q, v, regular=True)
        k2 = system.deriv(t + h / 2, q + h / 2 * k1[0], v + h / 2 * k1[1])
        k3 = system.deriv(t + h / 2, q + h / 2 * k2[0], v + h / 2 * k2[1])
        k4 = system.deriv(t + h, q + h * k3[0], v + h * k3[1])
        assert opt.one == 1.5
        return (system.project(q + h / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])),
                v + h / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1]))

    own = perp.Simulation('chain:links=3', formulation='acceleration', ode='own-rk4:one=1.5', plugins=[rk4], t_end=0.1).run()
    its = perp.Simulation('chain:links=3', formulation='acceleration', ode='rk4', t_end=0.1).run()
    assert abs(own.q - its.q).max() < 1e-13

    @plugin.contact('own-box', friction=True, summary='of a test', reference='none')
    def law(island, x, opt):
        for k in range(2000):
            old = x.copy()
            for c in range(island.nc):
                n = island.r * c
                x[n] = max(island.lo[n], x[n] - (island.A[n] @ x + island.b[n]) / island.A[n, n])
                for i in range(n + 1, n + island.r):
                    x[i] = np.clip(x[i] - (island.A[i] @ x + island.b[i]) / island.A[i, i], -island.mu[c] * x[n], island.mu[c] * x[n])
            if abs(x - old).max() <= 1e-14 * abs(x).max():
                break
        return plugin.Answer(x, 'converged', iterations=k + 1)

    own = perp.Simulation('stack:boxes=2', contact=law)
    its = perp.Simulation('stack:boxes=2', contact='box')
    own.step(30), its.step(30)
    assert abs(own.q - its.q).max() < 1e-9 and own.methods['contact'] == 'own-box'

    @plugin.lcp('own-bad', summary='of a test', reference='none', declares=['box', 'free', 'friction'], serves='x', ties='x', cost='x',
                counts='x')
    def bad(p, x, opt):
        raise LookupError('no such luck')

    sim = perp.Simulation('stack:boxes=2', lcp=bad)
    with pytest.raises(LookupError, match='no such luck'):
        sim.step()
    with pytest.raises(perp.Error, match="did you mean 'own-rk4'"):
        perp.Simulation('chain:links=3', formulation='acceleration', ode='own-rk', plugins=[rk4])


def test_metrics_of_perp_and_of_python():
    from perp import plugin

    @plugin.metric('own-low', unit='m', better='less', summary='of a test', reference='none')
    def low(run):
        assert run.q.shape == (len(run.t), 21) and run.v.shape == (len(run.t), 18)
        return run.q[:, 2].min() if len(run.t) > 1 else float('nan')

    sim = perp.Simulation('stack:boxes=3', metrics=low, t_end=0.2)
    assert 'own-low' not in sim.metrics
    sim.run()
    run = perp.simulate('stack:boxes=3', t_end=0.2)
    mine = sim.metrics
    assert mine['own-low'] == pytest.approx(0.5, abs=1e-6) and bits(sim)[1] == run.q.tobytes()
    for name in ('steps', 'pen.max', 'energy.gain.rel', 'contacts.max', 'pose.drift.max', 'lcp.solved'):
        assert mine[name] == run.metrics[name], name
    assert not [name for name in mine if name.startswith(('err.', 'time.'))]
    sim.restart()
    assert sim.metrics['steps.rejected'] == 0 and 'own-low' not in sim.metrics

    @plugin.metric('own-bad', summary='of a test', reference='none', motion=False)
    def bad(run):
        assert len(run.t) == 0 and 'drift.pos.max' in run.figures
        raise LookupError('no such luck')

    with pytest.raises(LookupError, match='no such luck'):
        perp.Simulation('pendulum', metrics=[bad]).metrics
    with pytest.raises(perp.Error, match='requested'):
        perp.Simulation('pendulum').metrics
    with pytest.raises(perp.Error, match='better must be'):
        plugin.metric('own', better='most', summary='x', reference='x')


# ---- scenes and errors


def test_scenes_of_files_data_and_robots(folder):
    (folder / 'cart.yaml').write_text('''schema: perp-scene/1
scene: { dim: 2, gravity: 0 }
parameters: { speed: { default: 1, unit: m/s, help: x } }
bodies: [ { name: cart, mass: 2, inertia: [1, 1, 1], v: [speed, 0, 0] } ]
''')
    a = perp.Simulation('cart.yaml:speed=3')
    b = perp.Simulation(perp.Scene('cart.yaml', speed=3.0))
    c = perp.Simulation({'scene': {'dim': 2, 'gravity': 0}, 'bodies': [{'name': 'cart', 'mass': 2, 'inertia': [1, 1, 1], 'v': np.array([3.0, 0])}]})
    for sim in (a, b, c):
        sim.advance(1)
        assert abs(sim.q[0] - 3) < 1e-12 and sim.name('body', 0) == 'cart' and sim.index('body', 'cart') == 0
    (folder / 'arm.xml').write_text('''<mujoco><worldbody><body pos="0 0 1"><joint type="hinge" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.05" mass="1"/></body></worldbody></mujoco>''')
    arm = perp.Simulation('arm.xml', t_end=0.5).run()
    assert arm.bodies == 1 and arm.joints == 1 and arm.q[2] < 1
    assert perp.simulate('arm.xml', t_end=0.5).q.tobytes() == arm.q.tobytes()
    assert perp.simulate(perp.Scene({'scene': {'dim': 2, 'gravity': 0}, 'bodies': [{'mass': 1, 'inertia': [1, 1, 1], 'v': [1, 0]}]}), t_end=1.0).q[0] == pytest.approx(1)


@pytest.mark.parametrize('words, says', [
    (dict(scene='no-such'), 'no-such'), (dict(scene='no-such.yaml'), 'no scene file'), (dict(scene='stack:boxes=x'), 'boxes'),
    (dict(scene='pendulum', lcp='lemke'), 'lcp lemke has no effect'), (dict(scene='stack', lcp='lemk'), "did you mean 'lemke'"),
    (dict(scene='pendulum', h=-1), 'must be positive'), (dict(scene='pendulum', h=99), 'longer than the run'),
    (dict(scene='pendulum', h='1 furlong'), 'a time is'), (dict(scene=3), 'a name, a file or a dict'), (dict(scene=''), 'no scene'),
    (dict(scene={'bodys': []}), 'bodys'), (dict(scene={'bodies': [print]}), 'texts, numbers'),
    (dict(scene='pendulum', plugins=['no.so']), 'no.so'), (dict(scene='stack', lcp=print), 'not declared'),
], ids=lambda v: str(v)[:40])
def test_what_makes_no_sense_is_refused(words, says):
    with pytest.raises(perp.Error, match=says):
        perp.Simulation(**words)


def test_a_failing_step_says_why_and_keeps_the_last_good_state():
    sim = perp.Simulation('pendulum', formulation='acceleration', ode='euler', stab='none', h=0.5)
    with pytest.raises(perp.Error, match='at t ='):
        sim.step(1000)
    assert np.isfinite(sim.q).all() and sim.steps > 0


def test_steps_from_python_cost_little():
    n = 100_000

    def least(run):
        took = []
        for _ in range(5):
            before = time.process_time()
            run()
            took.append(time.process_time() - before)
        return min(took) / n

    sim = perp.Simulation('pendulum', h=1e-3)

    def one_by_one():
        for _ in range(n):
            sim.step()

    def plain():
        for _ in range(n):
            math.sqrt(2.0)

    slow = max(1.0, least(plain) / 40e-9)  # of a machine, beside one of 2020
    beyond = least(one_by_one) - least(lambda: sim.step(n))
    print(f'{beyond * 1e6:.2f} us a step beyond C')
    assert beyond <= 3e-6 * slow


def test_two_simulations_at_a_time():
    import concurrent.futures

    def run(k):
        sim = perp.Simulation('stack:boxes=3', lcp='pgs')
        sim.step(60 + k)
        return bits(sim)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        together = list(pool.map(run, range(4)))
    assert together == [run(k) for k in range(4)]


def test_an_interrupt_ends_a_long_loop():
    code = ('import perp, signal; signal.setitimer(signal.ITIMER_REAL, 0.3); '
            'signal.signal(signal.SIGALRM, lambda *a: (_ for _ in ()).throw(KeyboardInterrupt())); '
            'sim = perp.Simulation("pendulum", h=1e-6)\n'
            'try: sim.step(10**9)\nexcept KeyboardInterrupt: print("ended", sim.steps > 0)')
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == 'ended True', done.stderr
