"""From a failing case to a small one: leave out whatever is not needed for the failure."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.fuzz.case import Case

SHRINKING_SECONDS = 20.0


def shrink(case: Case, fails: Callable[[Case], bool]) -> Case:
    """Return a smaller case for which `fails` still holds.

    Parameters
    ----------
    case : Case
        A failing case.
    fails : callable
        Tells whether a case shows the failure; it must not raise.
    """
    end = time.monotonic() + SHRINKING_SECONDS
    smaller = True
    while smaller:
        smaller = False
        for candidate in _simpler(case):
            if time.monotonic() > end:
                return case
            if candidate.row_weights.sum() > 0 and fails(candidate):
                case, smaller = candidate, True
                break
    return case


def _simpler(case: Case) -> Iterator[Case]:
    """Cases with one thing less, the most helpful first."""
    n = len(case.y)
    for part in (n // 2, n // 4):
        if part > 1:
            for start in range(0, n, part):
                yield case.rows([i for i in range(n) if not start <= i < start + part])
    for name in case.constraints:
        yield replace(case, constraints={k: v for k, v in case.constraints.items() if k != name})
    if case.weights is not None:
        yield replace(case, weights=None)
    for name in case.settings:
        yield replace(case, settings={k: v for k, v in case.settings.items() if k != name})
    for i in range(n if n > 2 else 0):
        yield case.rows([j for j in range(n) if j != i])
    if len(case.columns) > 1:
        yield from (case.without(name) for name in case.columns)
    if case.depth > 1:
        yield replace(case, depth=case.depth - 1)
    if case.weights is not None and set(case.weights) - {0.0, 1.0}:
        yield replace(case, weights=tuple(float(w > 0) for w in case.weights))
