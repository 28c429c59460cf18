#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every attribute that the reader of MJCF knows (schema_rows of mjcf_schema.c) stands in a model of the tests, which are compared with
libmujoco or whose losses are compared; or a model made here, with it and without, shows that it changes the scene or that a message
says what is lost (of the attribute, or of its element as a whole); or it is in NO_PHYSICS with the reason.

  coverage.py PERP SOURCE"""
import concurrent.futures
import functools
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

PERP, SOURCE = map(os.path.abspath, sys.argv[1:3])

# what no motion depends on
NO_PHYSICS = {
    'model': 'a title', 'name': 'a name', 'class': 'a name', 'user': 'numbers of the user', 'group': 'a layer of the view',
    'material': 'a colour', 'rgba': 'a colour', 'width': 'of a drawn tendon', 'texcoord': 'a picture', 'normal': 'light',
    'smoothnormal': 'light', 'content_type': 'of a file that is known by its name', 'prefix': 'of names', 'texturedir': 'pictures',
    'meshdir': 'where files are searched, see meshes.c', 'strippath': 'where files are searched', 'saveinertial': 'what is written',
    'usethread': 'speed', 'fusestatic': 'speed', 'simple': 'speed', 'fuse': 'speed', 'sleep': 'speed', 'lengthrange': 'of the compiler',
    'discardvisual': 'speed', 'conflict': 'of names', 'maxhullvert': 'speed of contacts', 'convexhull': 'of drawn hulls',
    'exactmeshinertia': 'volumes are exact', 'alignfree': 'the frame of a body, not its motion', 'align': 'as alignfree',
    'nsample': 'of a delay, whose actuator is lost as a whole', 'interp': 'as nsample', 'solmix': 'compliance; contacts are rigid',
    'torquescale': 'compliance; welds are rigid', 'act': 'activations are lost with their actuators',
    'warmstart': 'numerics', 'sensor': 'output', 'midphase': 'speed', 'eulerdamp': 'numerics', 'autoreset': 'numerics', 'nativeccd': 'numerics',
    'island': 'speed', 'multiccd': 'numerics', 'energy': 'output', 'fwdinv': 'output', 'invdiscrete': 'output', 'sensornoise': 'output',
    'diagexact': 'numerics', 'ipc': 'numerics', 'refsafe': 'compliance; constraints are rigid', 'override': 'compliance; see global overrides',
}
# what MuJoCo 3 refuses, too
ENDED = {('compiler', 'coordinate')}

CHILD = '<mujoco><worldbody><frame name="f" pos=".1 0 0"><body name="d"><joint/><geom size=".05"/></body></frame></worldbody></mujoco>'
BASE = '''<mujoco>{compiler}{option}{default}
<asset>{asset}</asset>
<worldbody{worldbody}><geom name="floor" type="plane" size="5 5 .1" pos="0 0 -3"/>
<body name="a" pos="0 0 1">{inertial}<joint name="a" axis="0 1 0"{joint}/><geom name="ga" type="capsule" size=".05 .2" pos="0 0 -.3"{geom}/><site name="sa" pos="0 0 -.2"/>
<body name="b" pos="0 0 -.6"{body}><joint name="b" axis="0 1 0"/><geom name="gb" size=".1" pos=".02 0 -.2"/><site name="sb" pos="0 0 -.1"/>{inside}</body></body>
<body name="c" pos="1 0 1">{free}<geom name="gc" type="box" size=".1 .1 .1"/><site name="sc"/></body>{world}
</worldbody>{deformable}
<contact>{contact}</contact><tendon>{tendon}</tendon><equality>{equality}</equality><actuator>{actuator}</actuator>{key}
</mujoco>
'''
EMPTY = {k: '' for k in re.findall(r'{(\w+)}', BASE)}
EMPTY['free'] = '<freejoint/>'

VALUES = {
    'limited': ['true', 'false'], 'actuatorfrclimited': ['true', 'false'], 'solreflimit': ['.05 1'], 'solimplimit': ['.5 .9 .01'], 'solreffriction': ['.05 1'],
    'solimpfriction': ['.5 .9 .01'], 'solref': ['.05 .7'], 'solimp': ['.5 .9 .01'], 'range': ['-10 10'], 'actuatorfrcrange': ['-3 3'],
    'margin': ['.02'], 'gap': ['.01'], 'armature': ['.3'], 'damping': ['.4'], 'frictionloss': ['.2'], 'stiffness': ['5'], 'springlength': ['.3'],
    'material': ['m'], 'rgba': ['1 0 0 1'], 'user': ['1 2'], 'group': ['2'], 'width': ['.01'], 'class': ['k'], 'name': ['x'],
    'ctrllimited': ['true', 'false'], 'ctrlrange': ['-1 1'], 'forcelimited': ['true', 'false'], 'forcerange': ['-2 2'], 'gear': ['3'], 'lengthrange': ['0 1'],
    'cranklength': ['.1'], 'nsample': ['2'], 'interp': ['linear'], 'delay': ['.02'], 'kp': ['7'], 'kv': ['2'], 'dampratio': ['1'],
    'inheritrange': ['1'], 'timeconst': ['.1'], 'actlimited': ['true', 'false'], 'actrange': ['-1 1'], 'actdim': ['1'], 'dyntype': ['filter'],
    'gaintype': ['fixed'], 'biastype': ['affine'], 'dynprm': ['.2'], 'gainprm': ['3'], 'biasprm': ['0 -5'], 'actearly': ['true'],
    'pos': ['.1 .2 .3'], 'quat': ['.8 .6 0 0'], 'axisangle': ['1 0 0 30'], 'xyaxes': ['0 1 0 -1 0 0'], 'zaxis': ['1 0 1'], 'euler': ['10 20 30'],
    'condim': ['1', '4'], 'friction': ['.3'], 'adhesion': ['.1'], 'torquescale': ['.5'], 'active': ['false'], 'polycoef': ['.1 1 0 0 0'],
    'jointinparent': ['a'], 'tendon': ['t'], 'site': ['sa'], 'refsite': ['sb'], 'slidersite': ['sb'], 'cranksite': ['sa'], 'body': ['c'],
    'joint': ['b'], 'input': ['.1'], 'velrange': ['-1 1'], 'ffrange': ['-1 1'], 'posrange': ['-1 1'], 'ki': ['1'], 'imax': ['1'],
    'slewmax': ['1'], 'tausmooth': ['.1'], 'force': ['10'], 'scale': ['300'], 'lmin': ['.6'], 'lmax': ['1.5'], 'vmax': ['2'],
    'fpmax': ['1.2'], 'fvmax': ['1.3'], 'fluidshape': ['ellipsoid'], 'fluidcoef': ['.6 .3 1 1 1'], 'childclass': ['k'], 'frame': ['f'],
    'area': ['2'], 'diameter': ['.1'], 'bias': ['1 -1 0'], 'gain': ['2'],
}
COMPILER = {
    'autolimits': ['false'], 'boundmass': ['9'], 'boundinertia': ['9'], 'settotalmass': ['20'], 'balanceinertia': ['true'], 'strippath': ['true'],
    'coordinate': ['global'], 'angle': ['radian'], 'fitaabb': ['true'], 'eulerseq': ['zyx'], 'meshdir': ['m'], 'texturedir': ['m'],
    'discardvisual': ['true'], 'usethread': ['false'], 'fusestatic': ['true'], 'inertiafromgeom': ['false', 'true'],
    'inertiagrouprange': ['1 2'], 'saveinertial': ['true'], 'assetdir': ['m'], 'alignfree': ['true'], 'conflict': ['warning'],
    'convexhull': ['false'], 'exactmeshinertia': ['true', 'false'],
}


def schema():
    with open(SOURCE + '/experiments/import/mjcf_schema.c', encoding='utf-8') as source:
        text = source.read().replace('\\\n', ' ')
    macro = {m.group(1): m.group(2) for m in re.finditer(r'#define (\w+) +(.*)', text)}

    def plain(s):
        return ''.join(k[1:-1] if k[0] == '"' else plain(macro.get(k, '')) for k in re.findall(r'"[^"]*"|\b[A-Z_]+\b', s))
    body = text[text.index('schema_rows[] = {'):]
    body = body[:body.index('\n};')]
    return [(m.group(1), m.group(2), plain(m.group(3)).split())
            for m in re.finditer(r'\{\s*"([^"]*)",\s*"([^"]*)",\s*(.*?)\s*\}', body, re.S)]


def filled(**parts):
    return BASE.format(**dict(EMPTY, **parts))


# an element as it must be at least; '{}' is where an attribute goes
ELEMENTS = {
    'general': ('actuator', '<general joint="a"{}/>'), 'motor': ('actuator', '<motor joint="a"{}/>'),
    'position': ('actuator', '<position joint="a"{}/>'), 'velocity': ('actuator', '<velocity joint="a"{}/>'),
    'intvelocity': ('actuator', '<intvelocity joint="a"{}/>'), 'orientation': ('actuator', '<orientation site="sa"{}/>'),
    'pid': ('actuator', '<pid joint="a"{}/>'), 'damper': ('actuator', '<damper joint="a" ctrlrange="0 1"{}/>'),
    'cylinder': ('actuator', '<cylinder joint="a"{}/>'), 'muscle': ('actuator', '<muscle joint="a"{}/>'),
    'adhesion': ('actuator', '<adhesion body="c" ctrlrange="0 1"{}/>'),
    'spatial': ('tendon', '<spatial stiffness="5"{}><site site="sa"/><site site="sc"/></spatial>'),
    'fixed': ('tendon', '<fixed stiffness="5"{}><joint joint="a" coef="2"/></fixed>'),
    'connect': ('equality', '<connect body1="b" body2="c" anchor="0 0 0"{}/>'),
    'weld': ('equality', '<weld body1="b" body2="c"{}/>'),
    'joint-equality': ('equality', '<joint joint1="a" joint2="b"{}/>'),
    'tendon-equality': ('equality', '<tendon tendon1="t"{}/>'),
    'pair': ('contact', '<pair geom1="ga" geom2="gc"{}/>'), 'exclude': ('contact', '<exclude body1="a" body2="c"{}/>'),
    'frame': ('inside', '<frame{}><body pos="0 0 -.5"><joint/><geom size=".05"/></body></frame>'),
    'replicate': ('world', '<replicate count="2" offset="1 0 0"{}><body pos="3 0 1"><freejoint/><geom size=".05"/></body></replicate>'),
    'inertial': ('inertial', '<inertial mass="2" pos="0 0 -.1" diaginertia=".1 .2 .25"{}/>'),
    'freejoint': ('free', '<freejoint{}/>'),
}
TENDON = '<fixed name="t" stiffness="5"><joint joint="a" coef="2"/></fixed>'
# attributes that need another one, or another value, to be a model
WITH = {
    ('spatial', 'range'): 'limited="true"', ('fixed', 'range'): 'limited="true"', ('joint', 'solreflimit'): 'range="-10 10"',
    ('joint', 'solimplimit'): 'range="-10 10"', ('joint', 'margin'): 'range="-10 10"', ('joint', 'limited'): 'range="-10 10"',
    ('joint', 'actuatorfrclimited'): 'actuatorfrcrange="-3 3"', ('joint', 'solreffriction'): 'frictionloss=".2"',
    ('joint', 'solimpfriction'): 'frictionloss=".2"', ('joint', 'springref'): 'stiffness="5"',
    ('geom', 'fluidcoef'): 'fluidshape="ellipsoid"', ('geom', 'gap'): 'margin=".02"', ('pair', 'gap'): 'margin=".02"',
}
for actuator in ('general', 'motor', 'position', 'velocity', 'intvelocity', 'orientation', 'pid', 'damper', 'cylinder', 'muscle', 'adhesion'):
    WITH.update({(actuator, 'ctrllimited'): 'ctrlrange="-1 1"', (actuator, 'forcelimited'): 'forcerange="-2 2"',
                 (actuator, 'actlimited'): 'actrange="-1 1" dyntype="integrator"' if actuator == 'general' else 'actrange="-1 1"',
                 (actuator, 'cranksite'): 'slidersite="sb" cranklength=".3"', (actuator, 'cranklength'): 'slidersite="sb" cranksite="sa"',
                 (actuator, 'refsite'): 'site="sa"'})
for key in ('actrange', 'actdim', 'actearly', 'input', 'velrange', 'ffrange'):
    WITH[('general', key)] = 'dyntype="integrator"'
for tendon in ('spatial', 'fixed', 'tendon'):
    WITH.update({(tendon, 'solreflimit'): 'range="-1 2"', (tendon, 'solimplimit'): 'range="-1 2"', (tendon, 'margin'): 'range="-1 2"',
                 (tendon, 'solreffriction'): 'frictionloss=".2"', (tendon, 'solimpfriction'): 'frictionloss=".2"',
                 (tendon, 'limited'): 'range="-1 2"', (tendon, 'actuatorfrclimited'): 'actuatorfrcrange="-3 3"'})


def attribute(key, value):
    return f' {key}="{value}"'


def without_key(text, key):
    return text and re.sub(rf' {key}="[^"]*"', '', text)


def models(parent, name, key):
    """Pairs of models without and with the attribute, [] where this test has none of the element."""
    place = name if parent not in ('equality',) or name not in ('joint', 'tendon') else name + '-equality'
    pairs = []
    values = (COMPILER if name == 'compiler' else VALUES).get(key, [])
    if name == 'flag':
        # something of each kind that can be switched off
        model = {'joint': ' stiffness="5" damping=".4" range="-10 10" frictionloss=".2"', 'equality': '<joint joint1="a" joint2="b"/>',
                 'actuator': '<motor joint="b" ctrlrange="-1 1"/>', 'key': '<keyframe><key ctrl="3"/></keyframe>'}
        return [(filled(**model), filled(option=f'<option><flag {key}="{value}"/></option>', **model)) for value in ('disable', 'enable')]
    if name == 'attach':
        model = {'asset': '<model name="child" file="child.xml"/>', 'inside': '<attach model="child" body="d" prefix="p"/>'}
        return [(filled(**model), filled(**dict(model, inside='<attach model="child" frame="f" prefix="p"/>')))]
    if name == 'compiler':
        return [(filled(), filled(compiler=f'<compiler {key}="{value}"/>')) for value in values]
    for value in values:
        extra = ' ' + WITH[(name, key)] if WITH.get((name, key)) else ''
        own = extra + attribute(key, value)
        assets = '<material name="m"/>'
        classes = '<default><default class="k"><geom density="500"/></default></default>'
        shared = {'asset': assets, 'default': classes, 'tendon': TENDON}
        if key.startswith('actuatorfrc'):
            shared['actuator'] = '<motor joint="a" ctrlrange="-5 5"/>'
        if key == 'inheritrange':
            shared['joint'] = ' range="-10 10"'
        if key.startswith('fluid'):
            shared['option'] = '<option density="1000" viscosity=".001"/>'
        if parent == 'default':
            section, text = ELEMENTS.get({'equality': 'connect', 'tendon': 'fixed'}.get(name, name), (name, None))
            text = without_key(text, key)
            if 'ctrlrange' in extra:
                text = without_key(text, 'ctrlrange')
            if key == 'cranklength':
                text, own = text.replace(' joint="a"', '').replace('{}', extra + '{}'), attribute(key, value)
                extra = ''
            model = dict(shared)
            if text:
                model[section] = model.get(section, '') + text.format('')
            without = filled(**dict(model, default=f'<default><{name}{extra}/></default>' if extra else ''))
            pairs.append((without, filled(**dict(model, default=f'<default><{name}{own}/></default>'))))
        elif name in ('joint', 'geom', 'body', 'worldbody') and parent in ('body', 'mujoco'):
            pairs.append((filled(**dict(shared, **{name: extra})), filled(**dict(shared, **{name: own}))))
        elif place in ELEMENTS:
            section, text = ELEMENTS[place]
            text = without_key(text, key)
            if 'ctrlrange' in extra:
                text = without_key(text, 'ctrlrange')
            if key == 'refsite':
                text = text.replace(' joint="a"', '').replace(' site="sa"', '')
            if 'crank' in key:
                text = text.replace(' joint="a"', '')
            if key in ('joint', 'jointinparent', 'tendon', 'site', 'body', 'slidersite') and parent == 'actuator':
                text = text.replace(' joint="a"', '').replace(' site="sa"', '').replace(' body="c"', '')
                if key == 'slidersite':
                    own += ' cranksite="sa" cranklength="1"'
                pairs.append((filled(**shared), filled(**dict(shared, **{section: shared.get(section, '') + text.format(own)}))))
                continue
            model = dict(shared)
            model[section] = model.get(section, '') + text.format(extra)
            other = dict(shared)
            other[section] = other.get(section, '') + text.format(own)
            pairs.append((filled(**model), filled(**other)))
    return pairs


def used():
    """(element, attribute) of the models of the tests."""
    pairs = set()
    for folder, _, names in os.walk(SOURCE + '/tests/import/models'):
        for name in names:
            if not name.endswith('.xml'):
                continue
            try:
                root = tree.parse(os.path.join(folder, name)).getroot()
            except tree.ParseError:
                continue  # an example of a damaged file
            pairs |= {(e.tag, key) for e in root.iter() for key in e.attrib}
    return pairs


@functools.lru_cache(maxsize=None)  # many attributes are compared with the same model
def imported(text):
    """(scene without comments, messages), None where it was refused."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (('m.xml', text), ('child.xml', CHILD)):
            with open(folder + '/' + name, 'w', encoding='utf-8') as out:
                out.write(content)
        run = subprocess.run([PERP, 'import', 'm.xml', '-o', 's.yaml'], cwd=folder, capture_output=True, text=True)
        said = [line for line in (run.stdout + run.stderr).splitlines() if ': next' not in line]
        if run.returncode != 0:
            return None, said
        with open(folder + '/s.yaml', encoding='utf-8') as scene:
            return [line for line in scene if not line.lstrip().startswith('#')], said


def outcome(key, pair, plain):
    before, after = imported(pair[0]), imported(pair[1])
    if before[0] is None or after[0] is None:
        return 'refused', (after if before[0] else before)[1]
    if before[0] != after[0]:
        return 'served', []
    new = [line for line in after[1] if line not in before[1]]
    whole = [line for line in before[1] if 'compliant' in line] if key.startswith('sol') else \
        [line for line in before[1] if 'lost' in line and line not in plain]
    return ('said', new) if new else ('whole', whole) if whole else ('silent', [])


def main():
    seen = used()
    cases = [(parent, name, key) for parent, name, keys in schema() for key in keys
             if key != '*' and key not in NO_PHYSICS and (name, key) not in seen]
    plain = imported(filled())[1]
    work = [(case, pair) for case in cases for pair in models(*case)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda w: outcome(w[0][2], w[1], plain), work))
    order = ['served', 'said', 'whole', 'refused', 'silent', 'untried']
    results = {case: ('untried', []) for case in cases}
    for (case, _), result in zip(work, found):
        results[case] = min(results[case], result, key=lambda r: order.index(r[0]))
    for n, case in enumerate(cases, 1):
        what, said = results[case]
        good = what in order[:3] or (what == 'refused' and case[1:] in ENDED)
        print('ok' if good else 'not ok', n, '-', '/'.join(case), what, ' | '.join(s[:140] for s in said[:2]))
    print(f'1..{len(cases)}')


main()
