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
        roff('perp runs a scene with every combination of the parts that a study names - integrator, KKT formulation, contact solver, '
             'stabilization, contact model, dynamics formulation - measures each against ground truth, and writes tables and a report.'),
        '.PP', roff('Names take options (baumgarte:alpha=50), numbers take units (1ms, 30deg). Data go to standard output, messages to standard error.')]
for command in commands:
    page += [f'.SH {command.upper()}', '.nf', roff(help_of(command).rstrip()), '.fi']
page += ['.SH EXIT STATUS', '.nf',
         roff('0   done; divergence, iteration limits and solve time-outs of some cells are results\n'
              '1   internal error\n'
              '2   usage, a bad name on the command line included\n'
              '3   invalid input file: study, scene, problem, plug-in\n'
              '4   nothing selected\n'
              '5   finished, some cells failed for infrastructure reasons (crash, out of memory, set-up); report: some figures\n'
              '6   regression (compare), results that do not come again (rerun)\n'
              '7   incomplete, run it again to go on\n'
              '8   references disagree\n'
              '10  nothing succeeded: unsolved, diverged, no cell ok'), '.fi',
         '.SH ENVIRONMENT',
         '.TP', '.B PERP_PLUGIN_PATH', roff('folders and files of outside plug-ins, separated by colons'),
         '.TP', '.B PERP_HOME', roff('source tree or folder where studies, lessons and templates are looked for first'),
         '.TP', '.B PERP_REPORT_JS', roff('script of the interactive figures, in place of the one that was bundled; empty: pictures only'),
         '.TP', '.B NO_COLOR', roff('no colours, whatever the terminal'),
         '.TP', '.B TMPDIR', roff('folder of temporary files, /tmp without it'),
         '.SH FILES',
         '.TP', '.I results/STUDY/', roff('what a run leaves: study.yaml, plan.jsonl, journal/, series/, replay/, log/, env/, program/ (--keep-program), derived/*.csv with their schemas, '
                                          'figs/, report.html'),
         '.SH SEE ALSO', roff('The tutorial and the guide for plug-ins in the documentation folder.')]
with open(output, 'w') as f:
    f.write('\n'.join(page) + '\n')
