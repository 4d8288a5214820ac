"""Random cases against the referees: fixed ones, fresh ones, and an hour of them."""

from __future__ import annotations

import os
import time

import pytest

from tests.fuzz import agreement, oblique, univariate
from tests.fuzz.campaign import campaign
from tests.fuzz.checks import keys

FIXED = {
    "searches": (("path-search",), 1200),
    "paths": (("penalty-path",), 400),
    "thresholds": (("threshold-search",), 100),
    "models": (univariate.KEYS[3:], 252),
    "planes": ((*oblique.KEYS, *agreement.KEYS), 48),
}
"""The same 2,000 cases in every run; cases of models and planes take longer."""
FRESH_SECONDS = 20.0
LONG_SECONDS = 3600.0


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches compare sampled bounds with exact values."""
    monkeypatch.setenv("OCTCORE_CHECK", "1")


@pytest.mark.parametrize("subject", FIXED)
def test_fixed_cases(subject: str) -> None:
    chosen, cases = FIXED[subject]
    failures: list[str] = []
    tally = campaign(chosen, 0, cases=cases, say=failures.append)
    assert tally.total == cases
    assert tally.is_clean, "\n".join([*failures, tally.report()])


def test_fresh_cases() -> None:
    seed = int(os.environ.get("FUZZ_SEED", time.time()))
    print(f"seed {seed}")
    failures: list[str] = []
    tally = campaign(keys(), seed, seconds=FRESH_SECONDS, say=failures.append)
    print(tally.report())
    assert tally.is_clean, "\n".join([*failures, tally.report()])


@pytest.mark.slow
def test_an_hour_of_fresh_cases() -> None:
    seed = int(os.environ.get("FUZZ_SEED", time.time()))
    failures: list[str] = []
    tally = campaign(keys(), seed, seconds=LONG_SECONDS, say=failures.append)
    print(tally.report())
    assert tally.is_clean, "\n".join([*failures, tally.report()])
