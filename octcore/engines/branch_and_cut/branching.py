"""Branching without a hint from the formulation, and fixing by reduced costs."""

from __future__ import annotations

import numpy as np

from octcore.program import Child


def fixings(
    value: float,
    costs: np.ndarray,
    cutoff: float,
    lower: np.ndarray,
    upper: np.ndarray,
    integer: np.ndarray,
) -> tuple[Child, ...]:
    """Bounds of binaries whose reduced cost alone would carry the LP value past the cutoff.

    `value`, `cutoff`: value of the LP, and the value from which nothing is worth having.
    `costs`, `lower`, `upper`: reduced costs and bounds of the columns, shape ``(n_columns,)``.
    """
    free = integer[upper[integer] - lower[integer] > 0.5]
    slack = cutoff - value
    if not len(free) or not np.isfinite(slack):
        return ()
    down, up = free[costs[free] > slack + 1e-6], free[costs[free] < -slack - 1e-6]
    return tuple(
        (columns, fixed[columns], fixed[columns])
        for columns, fixed in ((down, lower), (up, upper))
        if len(columns)
    )


def default_children(
    x: np.ndarray, integer: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> list[Child]:
    """Branch on the most fractional integer column; the rounded side comes first.

    `x`, `lower`, `upper`: point and bounds of the columns, shape ``(n_columns,)``.
    `integer`: columns that must be integral; one at least is fractional at `x`.
    """
    values = x[integer]
    fraction = np.abs(values - np.rint(values))
    column = integer[int(fraction.argmax())]
    floor = np.floor(x[column])
    one = np.array([column])
    down = (one, lower[one], np.array([floor]))
    up = (one, np.array([floor + 1]), upper[one])
    return [up, down] if x[column] - floor > 0.5 else [down, up]
