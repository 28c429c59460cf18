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
        ('acrobot', 'ball_in_cup', 'cartpole', 'cheetah', 'dog', 'finger', 'fish', 'hopper', 'humanoid', 'humanoid_CMU',
         'manipulator', 'pendulum', 'point_mass', 'quadruped', 'reacher', 'stacker', 'swimmer', 'walker')],
    'Farama-Foundation/Gymnasium': [
        'gymnasium/envs/mujoco/assets/%s.xml' % name for name in
        ('ant', 'half_cheetah', 'hopper', 'humanoid', 'inverted_double_pendulum', 'inverted_pendulum', 'pusher', 'reacher',
         'swimmer', 'walker2d')],
    'google-deepmind/mujoco': ['model/humanoid/humanoid.xml', 'model/car/car.xml', 'model/tendon_arm/arm26.xml'],
    'bulletphysics/bullet3': [
        'data/' + name for name in
        ('cartpole.urdf', 'humanoid/nao.urdf', 'husky/husky.urdf', 'kuka_iiwa/model.urdf', 'pr2_gripper.urdf',
         'quadruped/minitaur.urdf', 'r2d2.urdf', 'racecar/racecar.urdf', 'widowx/widowx.urdf', 'kuka_iiwa/kuka_world.sdf')],
    'Gepetto/example-robot-data': [
        'robots/' + name for name in
        ('anymal_b_simple_description/robots/anymal.urdf', 'panda_description/urdf/panda.urdf', 'ur_description/urdf/ur5_robot.urdf',
         'iris_description/robots/iris_simple.urdf', 'double_pendulum_description/urdf/double_pendulum_simple.urdf',
         'solo_description/robots/solo12.urdf', 'allegro_hand_description/urdf/allegro_left_hand.urdf',
         'talos_data/robots/talos_reduced.urdf', 'tiago_description/robots/tiago.urdf', 'romeo_description/urdf/romeo.urdf')],
    'simbody/simbody': ['examples/src/Gazebo2Simbody/models/%s.sdf' % name for name in
                        ('double_pendulum', 'ragdoll', 'revolute_joint_test_merged')],
}


def run(*words, limit=120):
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return None


def find(folders, repository, path):
    for folder in folders:
        for file in (folder / repository.split('/')[1] / path, folder / path, folder / pathlib.Path(path).name):
            if file.is_file():
                return file
    return None


def agreement(agree, file, scene, folder):
    """The largest relative difference of masses, centres and inertias at the start."""
    if file.suffix not in ('.xml', '.urdf'):
        return 'no MuJoCo format'
    text = scene.read_text()
    plain = folder / 'plain.yaml'  # without shapes: contacts are off
    plain.write_text(re.sub(r'(?ms)^shapes:\n(  .*\n|\n)*', '', text))
    done = run(agree, plain, file, 'start')
    if done is None or 'Bail out' in done.stdout:
        return 'MuJoCo 2.2.2 does not read it'
    got = [float(x) for x in re.findall(r': ([0-9.e+-]+)(?: m)?$', done.stdout, re.M)]
    if not got or re.search('^not ok.*bodies move', done.stdout, re.M):
        return 'not compared'
    return '%.1e' % max(got)


def row(perp, agree, file, folder):
    scene = folder / 'scene.yaml'
    scene.unlink(missing_ok=True)
    done = run(perp, 'import', file, '-o', scene)
    if done is None:
        return 'no: more than 120 s', '', '', ''
    if done.returncode != 0:
        why = next((line for line in done.stderr.splitlines() if 'error:' in line), 'error: ?')
        return 'no: ' + why.split('error:', 1)[1].strip().replace('|', '/')[:110], '', '', ''
    lost = sum('lost:' in line for line in done.stderr.splitlines())
    done = run(perp, 'simulate', scene, '--t-end', '0.2s', '--json')
    try:
        status = json.loads(done.stdout)['status']
    except (AttributeError, ValueError, KeyError):
        status = 'more than 120 s' if done is None else 'failed'
    return 'yes', str(lost), status, agreement(agree, file, scene, folder)


def main(perp, agree, folders):
    head = '''# Public models of robots

Made by `docs/make_models.py` from copies of public repositories, which are not a part of perp. *lost*: lines of physics that the
scene does not have ([import](how-to/import.md)). *run*: the status of 0.2 s with default methods, contacts included.
*agreement*: the largest relative difference of masses and inertias from MuJoCo 2.2.2, or of centres of mass in metres, all at
the start.

'''
    out, counts = [head], {'there': 0, 'all': 0, 'yes': 0}
    with tempfile.TemporaryDirectory() as temp:
        for repository, paths in MODELS.items():
            out.append(f'## {repository}\n\n| model | imported | lost | run | agreement |\n|---|---|---|---|---|\n')
            missing = []
            for path in paths:
                counts['all'] += 1
                file = find(folders, repository, path)
                if file is None:
                    missing.append(f'`{path}`')
                    continue
                cells = row(perp, agree, file, pathlib.Path(temp))
                counts['there'] += 1
                counts['yes'] += cells[0] == 'yes'
                out.append(f'| `{path}` | ' + ' | '.join(cells) + ' |\n')
            if missing:
                if len(missing) == len(paths):
                    out[-1] = f'## {repository}\n\n'
                out.append(('\n' if len(missing) < len(paths) else '') + 'Not there when this page was made: ' + ', '.join(missing) + '.\n')
            out.append('\n')
    out[0] += f'{counts["yes"]} of {counts["there"]} models that were there are imported; {counts["all"] - counts["there"]} of the list were not there.\n\n'
    page = pathlib.Path(__file__).parent / 'models.md'
    page.write_text(''.join(out).rstrip() + '\n')


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2], [pathlib.Path(f) for f in sys.argv[3:]])
