"""The long measurements of `reliability.py` in full length; every goal must hold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.reliability import FULL

SCRIPT = Path(__file__).with_name("reliability.py")
NEEDS_REFERENCE = {"files"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.reference) if n in NEEDS_REFERENCE else n for n in FULL],
)
def test_every_goal_holds(name):
    measure, times = FULL[name]
    missed = [figure.line() for figure in measure(times) if not figure.holds]
    assert missed == []


@pytest.mark.long
def test_the_command_prints_a_line_and_says_whether_the_goal_holds():
    command = [sys.executable, str(SCRIPT), "mutations", "--times", "20"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    *_, line = done.stdout.splitlines()
    assert line.startswith("| mutated files | 0 unhandled exceptions | 20 mutations")
    assert line.endswith("| yes |")
