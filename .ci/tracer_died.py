#!/usr/bin/env python3
"""tracer_died.py BUILD: the failed tests of BUILD's last run, if LeakSanitizer's own thread died in every one of them."""
import json
import pathlib
import sys

log = pathlib.Path(sys.argv[1], 'meson-logs', 'testlog.json')
runs = [json.loads(line) for line in log.read_text().splitlines()]
failed = [run for run in runs if run['result'] not in ('OK', 'SKIP')]
died = [run for run in failed
        if 'Tracer caught signal' in run.get('stderr', '') and '\nnot ok' not in '\n' + run.get('stdout', '')]
if len(died) == len(failed):
    # "perp:unit / contact_stab"
    print(*(run['name'].rpartition(' / ')[2] for run in died), sep='\n')
