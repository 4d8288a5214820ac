"""How far the threshold of a split may move, from what every threshold of its column is worth."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from octcore.solving.run import SolvedRun

ROUNDING = 1e-9  # objectives closer than this are taken for equal
ORDERED = {"above", "value", "scaled"}  # kinds of columns that compare numbers
WITHIN = 0.01
"""How much of the objective a moved threshold may cost at most, and not quite: a hundredth, or the
price of a leaf where that is less, since a split that changes no answer costs as much anywhere."""


@dataclass(frozen=True)
class ThresholdValue:
    """One threshold of a raw column at a node, where the tree outside of what is below stays."""

    low: float
    high: float
    """`low`, `high`: any threshold from the first number up to, but without, the second parts the
    rows alike."""
    value: float | None
    """Best objective of a tree that splits so, or a bound on that; None if there is none."""
    is_exact: bool  # false where the time was over: no tree that splits so is better than `value`


def ordered_columns(run: SolvedRun) -> list[str]:
    """Raw columns whose splits compare numbers."""
    ordered = {c.raw for c in run.encoding.columns if c.kind in ORDERED and not c.levels}
    return [name for name in run.encoding.raw_features if name in ordered]


def own_column(run: SolvedRun, node: int) -> str:
    """The raw column that a split of one column tests."""
    return run.encoding.columns[run.tree.splits[node].features[0]].raw


def sides(run: SolvedRun, node: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows at a split of one number, their values, and whether they go right."""
    X = run.tree.encoded(run.encoding, run.train.frame)
    rows, split = run.tree.node_rows(X)[node], run.tree.splits[node]
    values = run.train.frame[own_column(run, node)].to_numpy(float)[rows]
    return rows, values, split.goes_right(X, rows)


def threshold_at(run: SolvedRun, column: str, node: int) -> float | None:
    """Threshold of the tree at a node, in units of the column, if it tests that there."""
    if node not in run.tree.splits or own_column(run, node) != column:
        return None
    _, values, right = sides(run, node)
    return float(values[~right].max() + values[right].min()) / 2


def most_lost(run: SolvedRun) -> float:
    """Of the objective, what a threshold that has moved must not cost, see `WITHIN`."""
    return min(WITHIN, run.params.get("leaf_penalty") or WITHIN)


def span_within(
    points: Sequence[ThresholdValue], threshold: float, least: float
) -> tuple[float, float] | None:
    """How far a threshold may be moved, step by step, while the best tree stays above an objective.

    `points`: of one column at one node, ascending.
    `threshold`: where to start, in units of the column.
    `least`: objective that every step must exceed by more than rounding; what is not exact does
    not.
    Returns the ends of the interval; None if the threshold itself does not, or is at no place of
    `points`.
    """
    good = [p.is_exact and p.value is not None and p.value > least + ROUNDING for p in points]
    at = [k for k, point in enumerate(points) if point.low <= threshold < point.high and good[k]]
    if not at:
        return None
    first = last = at[0]
    while first and good[first - 1] and points[first - 1].high == points[first].low:
        first -= 1
    while last + 1 < len(points) and good[last + 1] and points[last].high == points[last + 1].low:
        last += 1
    return points[first].low, points[last].high


def span_at(
    run: SolvedRun, column: str, node: int, points: Sequence[ThresholdValue]
) -> tuple[float, float] | None:
    """How far the threshold of a node may move, from what those of its column are worth there."""
    chosen = threshold_at(run, column, node)
    if chosen is None or run.objective is None:
        return None
    return span_within(points, chosen, run.objective - most_lost(run))
