# SPDX-License-Identifier: GPL-3.0-or-later
"""python3 -m pytest python/tests: the package of this tree, with the build in build/ (or PERP_LIBRARY and PERP_PROGRAM).
PERP_INSTALLED=1: the package that this Python has installed."""
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
if not os.environ.get('PERP_INSTALLED'):
    sys.path.insert(0, str(ROOT / 'python'))
    os.environ['PYTHONPATH'] = os.pathsep.join([str(ROOT / 'python'), os.environ.get('PYTHONPATH', '')]).rstrip(os.pathsep)
    os.environ.setdefault('PERP_HOME', str(ROOT))
os.environ.setdefault('MPLBACKEND', 'Agg')
os.environ['PERP_PYTHON'] = os.environ.get('PERP_PYTHON', sys.executable)

import pytest  # noqa: E402


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Each test in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def root():
    return ROOT
