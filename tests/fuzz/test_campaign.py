"""Random cases against the referees: fixed ones, fresh ones, and an hour of them."""

from __future__ import annotations

import os
import time

import pytest

from tests.fuzz import agreement, oblique, univariate
from tests.fuzz.campaign import campaign
from tests.fuzz.checks import keys
from tests.stages import later

FIXED = {
    "searches": (("path-search",), 1200),
    "paths": (("penalty-path",), 400),
    "thresholds": (("threshold-search",), 100),
    "models": (univariate.KEYS[3:], 252),
    "planes": ((*oblique.KEYS, *agreement.KEYS), 48),
}
"""The same 2,000 cases in every slow run; cases of models and planes take longer."""
SHORT = 16
"""What comes with browsers and processes: the first sixteenth of them."""
FRESH_SECONDS, LONG_SECONDS = 10.0, 3600.0


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches compare sampled bounds with exact values."""
    monkeypatch.setenv("OCTCORE_CHECK", "1")


@pytest.mark.long
@pytest.mark.sampled(2)
@pytest.mark.parametrize("part", [SHORT, *later(1)])
@pytest.mark.parametrize("subject", FIXED)
def test_fixed_cases(subject: str, part: int) -> None:
    chosen, cases = FIXED[subject][0], FIXED[subject][1] // part
    failures: list[str] = []
    tally = campaign(chosen, 0, cases=cases, say=failures.append)
    assert tally.total == cases
    assert tally.is_clean, "\n".join([*failures, tally.report()])


@pytest.mark.long
@pytest.mark.parametrize("seconds", [FRESH_SECONDS, *later(LONG_SECONDS)])
def test_fresh_cases(seconds: float) -> None:
    seed = int(os.environ.get("FUZZ_SEED", time.time()))
    print(f"seed {seed}")
    failures: list[str] = []
    tally = campaign(keys(), seed, seconds=seconds, say=failures.append)
    print(tally.report())
    assert tally.is_clean, "\n".join([*failures, tally.report()])
