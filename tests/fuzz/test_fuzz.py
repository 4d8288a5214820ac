"""Random cases against the referees: fixed ones, fresh ones, and an hour of them."""

from __future__ import annotations

import os
import time

import pytest

from tests.fuzz.campaign import campaign
from tests.fuzz.checks import keys

FIXED = {"path-search": 1300, "penalty-path": 300, "threshold-search": 250}
"""Fixed cases of the quick keys; the others share the rest of `FIXED_CASES`."""
FIXED_CASES = 2000
FRESH_SECONDS = 20.0
LONG_SECONDS = 3600.0


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches compare sampled bounds with exact values."""
    monkeypatch.setenv("OCTCORE_CHECK", "1")


@pytest.mark.parametrize("key", FIXED)
def test_fixed_cases_of_a_search(key: str) -> None:
    failures: list[str] = []
    tally = campaign((key,), 0, cases=FIXED[key], say=failures.append)
    assert tally.is_clean, "\n".join([*failures, tally.report()])


def test_fixed_cases_of_the_models() -> None:
    models = tuple(key for key in keys() if key not in FIXED)
    failures: list[str] = []
    tally = campaign(models, 0, cases=FIXED_CASES - sum(FIXED.values()), say=failures.append)
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
