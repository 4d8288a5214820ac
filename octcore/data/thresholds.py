"""Thresholds of numeric columns: quantile buckets, quantile thresholds, class changes.

Everywhere `numbers` are the values of one column, shape ``(n_samples,)``, none of them missing.

References
----------
Rules 6 to 8 of the encodings used by the Accelerated BendOCT experiments: buckets between linearly
interpolated quantiles, thresholds at midpoint-interpolated quantiles.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
NUDGE = 0.02  # share of its gap by which a threshold may move to be written with fewer digits
SAFE = 1e300  # beyond this differences may overflow; quantiles are then taken on scaled values


def bucket_edges(numbers: Floats, q: int) -> Floats:
    """Distinct quantiles at 0, 1/q, …, 1 with linear interpolation, ascending.

    Bucket r is ``(edge_r, edge_{r+1}]``, the first one also holds its lower edge.
    """
    edges = np.unique(_quantile(numbers, np.linspace(0, 1, q + 1), "linear"))
    inner = [tidy(edge, numbers) for edge in edges[1:-1]]
    return np.array([edges[0], *inner, edges[-1]]) if len(edges) > 1 else edges


def quantile_thresholds(numbers: Floats, q: int) -> Floats:
    """Distinct quantiles at 1/q, …, (q-1)/q with midpoint interpolation, ascending.

    The levels are the doubles of ``numpy.linspace`` and the rounding is numpy's own, as in the
    published encodings: level 3/5 is 0.6000000000000001, which can turn an exact position into a
    midpoint.
    """
    return np.array([tidy(threshold, numbers) for threshold in inner_quantiles(numbers, q)])


def inner_quantiles(numbers: Floats, q: int) -> Floats:
    """The thresholds of `quantile_thresholds` with all their digits: they part the rows alike."""
    return np.unique(_quantile(numbers, np.linspace(0, 1, q + 1)[1:-1], "midpoint"))


def class_change_thresholds(numbers: Floats, y: npt.NDArray[np.int64]) -> Floats:
    """Midpoints between neighbouring values whose rows are not all of one class.

    No other threshold can be needed by a tree of best accuracy with this column alone.
    """
    values, position = np.unique(numbers, return_inverse=True)
    lowest = np.full(len(values), np.iinfo(np.int64).max)
    highest = np.full(len(values), np.iinfo(np.int64).min)
    np.minimum.at(lowest, position.ravel(), y)
    np.maximum.at(highest, position.ravel(), y)
    changes = np.minimum(lowest[:-1], lowest[1:]) != np.maximum(highest[:-1], highest[1:])
    return _between(values[:-1][changes], values[1:][changes])


def all_thresholds(numbers: Floats) -> Floats:
    """Midpoints between all neighbouring values."""
    values = np.unique(numbers)
    return _between(values[:-1], values[1:])


def _between(low: Floats, high: Floats) -> Floats:
    middle = low * 0.5 + high * 0.5
    between = np.where(middle < high, middle, low)
    return np.array([*map(short_threshold, between.tolist(), low.tolist(), high.tolist())])


def tidy(threshold: float, numbers: Floats) -> float:
    """Write a threshold with as few digits as its gap between data values allows.

    Midpoints such as 3.1500000000000004 are then worded as 3.15, truthfully: no data value changes
    its side.
    """
    left, right = numbers[numbers <= threshold], numbers[numbers > threshold]
    if not len(left) or not len(right):
        return float(threshold)
    return short_threshold(float(threshold), float(left.max()), float(right.min()))


def short_threshold(threshold: float, low: float, high: float, nudge: float = NUDGE) -> float:
    """Shortest decimal number in ``[low, high)`` within 2 % of that gap from a threshold."""
    room = nudge * (high - low)
    for digits in range(1, 17):
        short = float(f"{threshold:.{digits}g}")
        if low <= short < high and abs(short - threshold) <= room:
            return short
    return threshold


def _quantile(numbers: Floats, levels: Floats, method: str) -> Floats:
    shrink = 1.0 if np.abs(numbers).max() < SAFE else 2.0**-8  # a power of two is exact, both ways
    return np.asarray(np.quantile(numbers * shrink, levels, method=method)) / shrink  # type: ignore[call-overload]
