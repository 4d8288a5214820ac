"""Interrupts, each case in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).with_name("interrupt_cases.py")
NAMES = [line.split("(")[0][4:] for line in CASES.read_text().splitlines() if "def test_" in line]


@pytest.mark.sampled(4)
@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_in_a_process_of_its_own(name: str) -> None:
    asked = ["-q", "-n", "0", "-p", "no:cacheprovider", f"{CASES}::{name}"]
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *asked],
        cwd=CASES.parents[3], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-1000:]
