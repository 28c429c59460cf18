# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes perp.1 from the help of the program itself: make_man.py PERP OUTPUT."""
import os
import re
import subprocess
import sys

perp, output = sys.argv[1], sys.argv[2]
environment = dict(os.environ, COLUMNS='80', NO_COLOR='1')
environment.pop('PERP_PLUGIN_PATH', None)


def help_of(*words):
    return subprocess.run([perp, *words, '--help'], check=True, capture_output=True, text=True, env=environment).stdout


def roff(text):
    text = text.replace('\\', '\\e').replace('-', '\\-')
    return re.sub(r"^([.'])", r'\\&\1', text, flags=re.M)


top = help_of()
version = subprocess.run([perp, 'version'], check=True, capture_output=True, text=True, env=environment).stdout.split()[1]
commands = re.findall(r'^  (\S+) +\S', top.split('Commands\n')[1].split('\n\n')[0], re.M)
page = [f'.TH PERP 1 "" "perp {version}" "User Commands"',
        '.SH NAME', 'perp \\- compare numerical solvers for constrained rigid\\-body dynamics',
        '.SH SYNOPSIS', '.B perp', '.I COMMAND', '[arguments]',
        '.SH DESCRIPTION',
        roff('perp runs a scene with every combination of methods that a study names: integrator, KKT solver, contact solver, '
             'stabilization, contact model and formulation. It measures each against ground truth, and writes tables and a report.'),
        '.PP', roff('Names take options (baumgarte:alpha=50), numbers take units (1ms, 30deg). Data go to standard output, messages to standard error.')]
for command in commands:
    page += [f'.SH {command.upper()}', '.nf', roff(help_of(command).rstrip()), '.fi']
page += ['.SH EXIT STATUS', '.nf',
         roff('0   done; runs that diverge, reach an iteration limit or time out are results\n'
              '1   internal error\n'
              '2   wrong usage, for example an unknown name on the command line\n'
              '3   invalid input file: study, scene, problem, plug-in\n'
              '4   nothing selected\n'
              '5   finished, but some runs failed (crash, out of memory, set-up), or some figures of a report\n'
              '6   regression (compare), or results that are not reproduced (rerun)\n'
              '7   incomplete; run the command again to continue\n'
              '8   references disagree\n'
              '9   simulated, but some contact problems were not solved\n'
              '10  no run succeeded'), '.fi',
         '.SH ENVIRONMENT',
         '.TP', '.B PERP_PLUGIN_PATH', roff('folders and files of plug-ins, separated by colons'),
         '.TP', '.B PERP_HOME', roff('source tree or folder that is searched first for studies, lessons and templates'),
         '.TP', '.B PERP_REPORT_JS', roff('script of the pages, instead of the included one; empty: no pages'),
         '.TP', '.B NO_COLOR', roff('switches colours off'),
         '.TP', '.B TMPDIR', roff('folder of temporary files (default: /tmp)'),
         '.SH FILES',
         '.TP', '.I results/STUDY/', roff('results of a study: study.yaml, plan.jsonl, journal/, series/, replay/, log/, env/, program/ (--keep-program), derived/*.csv with their schemas, '
                                          'figs/, report.html'),
         '.SH SEE ALSO', roff('The tutorial and the guide for plug-ins in the documentation folder.')]
with open(output, 'w') as f:
    f.write('\n'.join(page) + '\n')
