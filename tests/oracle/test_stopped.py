"""Bounds of searches that were stopped on the way: no tree is better, whenever the stop comes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import octcore
from tests.fuzz.case import Case, Countdown

LIMITS: dict[str, dict[str, int]] = {"free": {}, "limited": {"max_leaves": 6}}
SIZES = {"few": (26, 3, 6), "many": (150, 5, 10)}
"""Rows, columns and values; in plain Python, as `tests.mutants` runs them, few take a while too."""

STOPS = 8


def drawn(key: str, limits: str, rows: int, columns: int, values: int) -> Case:
    """Rows that no tree of depth four classifies without errors."""
    rng = np.random.default_rng(rows)
    cells = rng.integers(0, values, (columns, rows))
    if key == "path-search":
        cells = (cells[:, None] > np.arange(0, values - 1, 2)[:, None]).reshape(-1, rows) * 1
    named = {f"f{j}": tuple(column.tolist()) for j, column in enumerate(cells)}
    y = tuple(rng.integers(0, 2, rows).tolist())
    encoding = "none" if key == "path-search" else "raw"
    params: dict[str, object] = {"leaf_penalty": 0.002}
    if key == "path-search" and limits == "free":
        params["exact_root_values"] = True
    return Case(key, named, y, 4, encoding, params, LIMITS[limits])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("key", ["threshold-search", "path-search"])
def test_bounds_of_stopped_searches_hold(key: str, limits: str, size: str) -> None:
    case = drawn(key, limits, *SIZES[size])
    count = Countdown(np.inf)
    whole = case.solve(cancel=count, verify=False)
    assert whole.status == "optimal"
    for questions in np.unique(np.linspace(1, count.asked - 1, STOPS).astype(int)):
        run: octcore.Run = case.solve(cancel=Countdown(questions), verify=False)
        said = [run.bound, *(event.bound for event in run.trace.events)]
        least = min((bound for bound in said if bound is not None), default=np.inf)
        assert least >= whole.objective - 1e-9, questions
        assert run.objective is None or run.objective <= whole.objective + 1e-9, questions
        check_roots(run.extras, whole.extras)


def check_roots(found: Mapping[str, Any], whole: Mapping[str, Any]) -> None:
    """Compare what is said of every root with what is known of it in the end."""
    if not found.get("root_values"):
        return  # stopped before anything was known
    names = "root_values", "root_values_exact"
    columns = [zip(*(values[name] for name in names), strict=True) for values in (found, whole)]
    for (value, exact), (best, is_known) in zip(*columns, strict=True):
        if is_known and best is not None and value is not None:
            assert value >= best - 1e-9
            assert not exact or value <= best + 1e-9
