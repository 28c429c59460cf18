#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""make_models.py PERP AGREE FOLDER...: writes docs/models.md, what perp makes of public models of robots.

The models are not a part of perp: FOLDER has copies of the repositories that the list names (MUJOCO_MENAGERIE and so on, each
in a folder of the last part of its name).  A model that is in none of the folders is listed as not there.  AGREE is the
program tests/import/test_import_robots of the build."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

MODELS = {
    'google-deepmind/mujoco_menagerie': [
        'agility_cassie/cassie.xml', 'anybotics_anymal_c/anymal_c.xml', 'boston_dynamics_spot/spot.xml',
        'franka_emika_panda/panda.xml', 'franka_fr3/fr3.xml', 'google_barkour_vb/barkour_vb.xml', 'kuka_iiwa_14/iiwa14.xml',
        'robotiq_2f85/2f85.xml', 'robotis_op3/op3.xml', 'shadow_hand/right_hand.xml', 'trossen_vx300s/vx300s.xml',
        'ufactory_xarm7/xarm7.xml', 'unitree_a1/a1.xml', 'unitree_g1/g1.xml', 'unitree_go1/go1.xml', 'unitree_go2/go2.xml',
        'unitree_h1/h1.xml', 'universal_robots_ur5e/ur5e.xml', 'wonik_allegro/right_hand.xml'],
    'google-deepmind/dm_control': [
        'dm_control/suite/%s.xml' % name for name in
        ('acrobot', 'cartpole', 'cheetah', 'dog', 'finger', 'fish', 'hopper', 'humanoid', 'humanoid_CMU',
         'manipulator', 'pendulum', 'point_mass', 'quadruped', 'reacher', 'stacker', 'swimmer', 'walker')],
    'clear-nus/MuMMI': ['dm_control/suite/ball_in_cup.xml'],
    'Farama-Foundation/Gymnasium': [
        'gymnasium/envs/mujoco/assets/%s.xml' % name for name in
        ('hopper', 'humanoid', 'inverted_double_pendulum', 'inverted_pendulum', 'pusher', 'reacher', 'swimmer', 'walker2d')],
    'openai/gym': ['gym/envs/mujoco/assets/ant.xml', 'gym/envs/mujoco/assets/half_cheetah.xml'],
    'google-deepmind/mujoco': [
        'model/' + name for name in
        ('humanoid/humanoid.xml', 'humanoid100/humanoid100.xml', 'tendon_arm/arm26.xml', 'slider_crank/slider_crank.xml',
         'mug/mug.xml', 'adhesion/active_adhesion.xml', 'hammock/hammock.xml', 'composite/rope.xml', 'car/car.xml')],
    'bulletphysics/bullet3': [
        'data/' + name for name in
        ('cartpole.urdf', 'humanoid/nao.urdf', 'husky/husky.urdf', 'kuka_iiwa/model.urdf', 'pr2_gripper.urdf',
         'quadruped/minitaur.urdf', 'r2d2.urdf', 'racecar/racecar.urdf', 'widowx/widowx.urdf', 'kuka_iiwa/kuka_world.sdf')],
    'Gepetto/example-robot-data': [
        'robots/' + name for name in
        ('anymal_b_simple_description/robots/anymal.urdf', 'panda_description/urdf/panda.urdf', 'ur_description/urdf/ur5_robot.urdf',
         'iris_description/robots/iris_simple.urdf --floating', 'double_pendulum_description/urdf/double_pendulum_simple.urdf',
         'solo_description/robots/solo12.urdf', 'allegro_hand_description/urdf/allegro_left_hand.urdf',
         'talos_data/robots/talos_reduced.urdf', 'tiago_description/robots/tiago.urdf', 'romeo_description/urdf/romeo.urdf')],
    'dartsim/dart': [
        'data/' + name for name in
        ('urdf/wam/wam.urdf', 'urdf/KR5/KR5 sixx R650.urdf', 'urdf/drchubo/drchubo.urdf', 'urdf/test/issue838.urdf',
         'sdf/atlas/atlas_v3.urdf', 'sdf/atlas/atlas_v3_no_head.urdf', 'sdf/atlas/atlas_v3_no_head.sdf', 'sdf/quad.sdf',
         'sdf/double_pendulum.world', 'sdf/double_pendulum_with_base.world', 'sdf/benchmark.world')],
    'simbody/simbody': ['examples/src/Gazebo2Simbody/models/%s.sdf' % name for name in
                        ('double_pendulum', 'ragdoll', 'revolute_joint_test_merged')],
}
MOST_BODIES = 45  # for the comparison of motions, which takes n^3 a step


def run(*words, limit=120):
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return None


def find(folders, repository, path):
    for folder in folders:
        for file in (folder / repository / path, folder / repository.split('/')[1] / path, folder / path, folder / pathlib.Path(path).name):
            if file.is_file():
                return file
    return None


def without_contacts(text):
    """The scene without shapes and limits, which are soft in MuJoCo."""
    text = re.sub(r'(?ms)^(shapes|no_contact|pairs|materials):\n(  .*\n|\n)*', '', text)
    text = re.sub(r'^  - \{ kind: coupling.*\n', '', text, flags=re.M)
    text = re.sub(r'^  - \{ name: "[^"]*, dry friction".*\n', '', text, flags=re.M)
    text = re.sub(r', (lower|upper): [^,}]+(?=[,}])', '', text)
    drive = r'^  - \{ name: "[^"]*", joint: "[^"]*", axis: \w+, zero: [^,}]+\}\n'  # only limits
    return re.sub(drive, '', text, flags=re.M)


def agreement(agree, file, scene, folder):
    """The largest difference of masses, centres and inertias at the start, and of centres after 0.5 s."""
    if file.suffix not in ('.xml', '.urdf'):
        return 'no MuJoCo format', ''
    plain = folder / 'plain.yaml'
    plain.write_text(without_contacts(scene.read_text()))
    done = run(agree, plain, file, 'start')
    if done is None or 'Bail out' in done.stdout:
        return 'MuJoCo 2.2.2 does not read it', ''
    got = [float(x) for x in re.findall(r': ([0-9.e+-]+)(?: m)?$', done.stdout, re.M)]
    if not got or re.search('^not ok.*bodies move', done.stdout, re.M):
        return 'other bodies in MuJoCo', ''
    start = '%.1e' % max(got)
    if int(re.search(r': (\d+) bodies move', done.stdout).group(1)) > MOST_BODIES:
        return start, 'too large'
    if re.search('^  - .kind: (ball|fixed),.*equality', scene.read_text(), re.M):
        return start, 'loops'
    done = run(agree, plain, file, 'published', limit=600)
    if done is None:
        return start, 'more than 600 s'
    moved = re.search(r' does: ([0-9.e+-]+) m$', done.stdout, re.M)
    if moved is None or not float(moved.group(1)) < 1e3:  # damping of light links: the explicit method diverges
        return start, 'too stiff for Runge-Kutta'
    return start, '%.1e m' % float(moved.group(1))


def row(perp, agree, file, folder, options):
    scene = folder / 'scene.yaml'
    scene.unlink(missing_ok=True)
    done = run(perp, 'import', file, '-o', scene, *options)
    if done is None:
        return 'no: more than 120 s', '', '', '', ''
    if done.returncode != 0:
        why = next((line for line in done.stderr.splitlines() if 'error:' in line), 'error: ?')
        return 'no: ' + why.split('error:', 1)[1].strip().replace('|', '/')[:110], '', '', '', ''
    lost = sum('lost:' in line for line in done.stderr.splitlines())
    done = run(perp, 'simulate', scene, '--t-end', '0.2s', '--json')
    try:
        status = json.loads(done.stdout)['status']
    except (AttributeError, ValueError, KeyError):
        status = 'more than 120 s' if done is None else 'failed'
    return ('yes', str(lost), status, *agreement(agree, file, scene, folder))


HEAD = '''# Public models of robots

Made by `docs/make_models.py` from copies of public repositories, which are not a part of perp. *lost*: lines of physics that the
scene does not have ([import](how-to/import.md)). *run*: the status of 0.2 s with default methods, contacts included.

Agreement with MuJoCo 2.2.2: *bodies* is the largest relative difference of masses and inertias, or of centres of mass in metres,
at the start. *motion* is the largest difference of centres of mass after 0.5 s, from a random pose with random velocities, without contacts, limits,
dry friction, equality constraints and a medium. MuJoCo diagonalizes inertias to about 1e-8, and reads meshes as 32-bit numbers; MuJoCo 2 has another
mass of meshes with a density ([import](how-to/import.md#how-an-mjcf-file-is-read)). Lost elements with a force, such as actuators on tendons and
muscles, make a difference, too.

'''


def main(perp, agree, folders):
    out, counts = [HEAD], {'there': 0, 'all': 0, 'yes': 0, 'ok': 0}
    with tempfile.TemporaryDirectory() as temp:
        for repository, paths in MODELS.items():
            out.append(f'## {repository}\n\n| model | imported | lost | run | bodies | motion |\n|---|---|---|---|---|---|\n')
            missing = []
            for entry in paths:
                path, *options = entry.split(' --')
                options = ['--' + option for option in options]
                counts['all'] += 1
                file = find(folders, repository, path)
                if file is None:
                    missing.append(f'`{path}`')
                    continue
                cells = row(perp, agree, file, pathlib.Path(temp), options)
                print(repository, path, *cells, flush=True)
                counts['there'] += 1
                counts['yes'] += cells[0] == 'yes'
                counts['ok'] += cells[2] == 'ok'
                out.append(f'| `{entry}` | ' + ' | '.join(cells) + ' |\n')
            if missing:
                if len(missing) == len(paths):
                    out[-1] = f'## {repository}\n\n'
                out.append(('\n' if len(missing) < len(paths) else '') + 'Not there when this page was made: ' + ', '.join(missing) + '.\n')
            out.append('\n')
    out[0] += (f'{counts["yes"]} of {counts["there"]} models that were there are imported, {counts["ok"]} run `ok`; '
               f'{counts["all"] - counts["there"]} of the list were not there.\n\n')
    page = pathlib.Path(__file__).parent / 'models.md'
    page.write_text(''.join(out).rstrip() + '\n')


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2], [pathlib.Path(f) for f in sys.argv[3:]])
