"""Limits: what a check may take is known from counts, and every limit is kept."""

from __future__ import annotations

import re
import time
import tracemalloc
from functools import cache, partial

import numpy as np
import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.errors import SettingsError
from octcore.solving.run import Run
from octcore.solving.verified import (
    AUTOMATIC_ESTIMATE,
    AUTOMATIC_LIMIT,
    AUTOMATIC_MEMORY,
    after_solve,
)
from octcore.verification.base import WALL_FACTOR, Guard, NotProvenError
from octcore.verification.checking import claim_of
from octcore.verification.optimum import make_sums


@cache
def solved(n: int, p: int, decimals: int, depth: int = 2, wrong: float = 0.2) -> Run:
    """A run on random numbers, without its verification."""
    rng = np.random.default_rng(0)
    X = rng.random((n, p)).round(decimals)
    y = (X[:, 0] > 0.5) ^ (rng.random(n) < wrong / 2)
    data = Dataset.from_arrays(X, y.astype(int))
    return octcore.solve(data, depth=depth, verify=False, time_limit=60)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("n", "p", "decimals", "wrong"),
    [(20_000, 10, 2, 0.2), (22_000, 10, 12, 0.2), (50_000, 10, 12, 0.2), (20_000, 20, 12, 1.0)],
    ids=["few values", "twenty thousand", "structure beyond the estimate", "noise"],
)
def test_after_a_solve_of_many_rows(n: int, p: int, decimals: int, wrong: float) -> None:
    """Rows with structure are verified by default where noise of that size would take too long."""
    run = solved(n, p, decimals, wrong=wrong)
    tracemalloc.start()
    begin = time.thread_time()
    found = after_solve(run, lambda: False).certificate.verification
    seconds, (_, peak) = time.thread_time() - begin, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found is not None
    if wrong < 1:
        assert found.verified
        assert n > 22_000 or "not verified" not in found.statement
    else:
        assert found.statement.startswith("not verified (estimated")
        assert seconds < AUTOMATIC_ESTIMATE
    assert seconds < AUTOMATIC_LIMIT + 1
    assert peak < 1.2 * AUTOMATIC_MEMORY


def test_a_limit_of_time_is_kept_whatever_was_expected() -> None:
    run = solved(2_000, 6, 3, 3)
    begin = time.thread_time()
    found = octcore.verify(run, time_limit=0.5, expected=1e9)
    assert re.match("not verified: not done in (0.5 s$|.* s of the clock)", found.statement)
    assert found.estimate is not None  # so that it is offered at a press
    assert time.thread_time() - begin < 1.5
    for asked in (run.verify, run.values, partial(octcore.verify, run)):
        with pytest.raises(SettingsError, match="must be 0 or more, but -1 was given"):
            asked(time_limit=-1)


def test_memory_is_announced_before_it_is_taken() -> None:
    run = solved(5_000, 8, 3)
    for limit in (0.0, 1e6, 8e6):
        tracemalloc.start()
        found = octcore.verify(run, expected=1e9, memory_limit=limit)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert f" GB of memory, it may take {limit / 1e9:.2g}" in found.statement
        assert peak < 5e6
    assert octcore.verify(solved(200, 2, 1), memory_limit=0.0).verified is None


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("n", "p", "decimals", "depth"), [(20_000, 4, 2, 2), (2_000, 6, 2, 3), (300, 8, 1, 4)]
)
def test_a_stop_is_heard_within_a_second(n: int, p: int, decimals: int, depth: int) -> None:
    asked: list[float] = []

    def cancel() -> bool:
        asked.append(time.thread_time())
        return asked[-1] - asked[0] > 2.0

    found = octcore.verify(solved(n, p, decimals, depth), expected=1e9, cancel=cancel)
    assert found.verified or found.statement == "not verified: it was stopped"
    assert np.diff(asked).max() < 1.0


def test_a_busy_machine_loses_no_verification() -> None:
    """The clock ends a check only where it stands still for long beside its CPU time."""
    now = time.thread_time(), time.perf_counter()
    late = now[0], now[1] - 0.9 * WALL_FACTOR * 10.0
    Guard(10.0, start=late)()
    waited = now[0] - 2.0, now[1] - 1.1 * WALL_FACTOR * 10.0
    worked = now[0] - 10.1, now[1]
    for start, why in ((waited, "55 s of the clock, 2 s of them"), (worked, "10 s")):
        with pytest.raises(NotProvenError, match=f"not done in {why}"):
            Guard(10.0, start=start)()


def test_rows_are_not_parted_for_a_check_that_would_take_too_long() -> None:
    """All tests of all rows took seconds, and a bit each, before the estimate said no."""
    claim = claim_of(solved(3_000, 3, 12), Guard(60.0))
    tracemalloc.start()
    with pytest.raises(NotProvenError, match="estimated"):
        make_sums(claim, claim.columns, Guard(60.0, longest=1.0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3_000 * 9_000
