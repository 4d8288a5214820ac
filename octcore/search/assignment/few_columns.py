"""Trees of two levels whose planes use few columns: whether one of them has few errors.

A plane on c columns has ``c`` free numbers: one weight is 1, the others lie in [-1, 1], and there
is the threshold.  Boxes of these numbers are halved until the errors of the rows whose sides are
certain reach the limit.  A strip of a given width around every plane is empty, so that all sides
are certain in boxes that are small enough.  The rows of a side go on to a leaf, to the best split
of one column, or to boxes of their own; how many errors there are makes no search longer.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octcore.kernels import inner, kernel, part

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MOST_DEPTH, MOST_BOXES = 2, 2_000_000
"""Levels of a tree, and boxes that trees of some number of columns get at most."""
LOOKS, NESTED_LOOKS = 3e6, 3e7
"""Rows looked at between two looks at the clock, and for one side of a root at most."""
NESTED_SHARE = 0.1
"""Share of uncertain rows below which a side gets boxes of its own."""
STRIP_SLACK = 1e-3
"""Share of the strip that a plane in the middle of a box may lack."""
_LEVELS = 200
OUTSIDE, LEFT, RIGHT, UNCERTAIN = -1, 0, 1, 2
NONE, FOUND, UNFINISHED = 0, 1, 2


class SparseRows(NamedTuple):
    """Rows, the order of every column, and half the width of the strip."""

    x: FloatArray
    y: IntArray
    weights: FloatArray
    conflict: FloatArray
    """Weight of a row that its equals of another class make wrong wherever they end."""
    order: IntArray
    """Rows by growing value, shape ``(n_columns, n)``."""
    n_classes: int
    strip: float


def sparse_rows(
    X: FloatArray, y: IntArray, weights: FloatArray, n_classes: int, strip: float
) -> SparseRows:
    """Rows with every column sorted; `strip` is the distance of all rows from a plane of norm 1."""
    order = np.ascontiguousarray(np.argsort(X, axis=0, kind="stable").T.astype(np.int64))
    _, group = np.unique(X, axis=0, return_inverse=True)
    shares = np.zeros((len(X), n_classes))
    np.add.at(shares, (group.ravel(), y), weights)
    is_best = shares.argmax(axis=1)[group.ravel()] == y
    return SparseRows(
        np.ascontiguousarray(X, dtype=np.float64),
        y.astype(np.int64),
        weights.astype(np.float64),
        np.where(is_best, 0.0, weights),
        order,
        n_classes,
        strip,
    )


def ways_to_share(columns: int, depth: int) -> list[tuple[int, int, int]]:
    """All ways to give a number of columns to the root and to its two children."""
    if depth == 1:
        return [(columns, 0, 0)]
    return [
        (root, left, columns - root - left)
        for root in range(1, columns + 1)
        for left in range(columns - root + 1)
    ]


def trees_within(
    rows: SparseRows, columns: int, depth: int, errors: float
) -> Iterator[tuple[int, int, FloatArray]]:
    """Go through all trees of depth 1 or 2 with few columns and fewer errors than `errors`.

    `columns`: of all planes together at most; those of a plane count once per node.

    Yields the boxes looked at since the last time; NONE if there is no such tree so far, for
    certain (it ends after any other status); and ``(g, -h)`` by branch node of the tree that was
    FOUND.
    """
    n, p = rows.x.shape
    planes = np.zeros((3, p + 1))
    sizes = np.sort(np.bincount(rows.y, rows.weights, rows.n_classes))
    for root, left, right in ways_to_share(columns, depth):
        n_leaves = 2 + (left > 0) + (right > 0)
        if sizes[:-n_leaves].sum() >= errors:
            continue  # as many classes have no leaf
        for chosen in combinations(range(p), min(root, p)):
            for lead in range(len(chosen)):
                side = np.full((2, n), UNCERTAIN)
                low, high = first_box(rows, np.array(chosen), lead)
                top = 0
                while top >= 0:
                    status, top, boxes = search_root(
                        rows, np.array(chosen), low, high, top, left, right, errors, side, planes
                    )
                    yield int(boxes), int(status), planes[: 2**depth - 1]
                    if status != NONE:
                        return


@kernel()
def search_root(
    rows: Any,
    columns: Any,
    low: Any,
    high: Any,
    top: int,
    left: int,
    right: int,
    errors: float,
    side: Any,
    planes: Any,
) -> Any:
    """Go on with the boxes of a root, with numbers of columns left and right, for a while.

    Returns the status, the place of the box on top (-1 without one left) and the boxes looked at.
    """
    seen, total, looks = 0, rows.weights.sum(), len(rows.y)
    if left == 1 or right == 1:  # all splits of one column are gone through
        looks += rows.x.size
    while top >= 0 and seen * looks < LOOKS:
        seen += 1
        open_weight = _classify(rows, columns, low[top], high[top], side[0])
        if open_weight < 0.0:
            top -= 1
            continue
        status, boxes = _verdict(rows, (left, right), errors, side, planes, open_weight, total)
        seen += boxes
        if status == NONE:
            top -= 1
        elif open_weight == 0.0 and _is_plane(rows, columns, low[top], high[top], side[0]):
            _keep_middle(columns, low[top], high[top], planes[0])
            return status, top, seen
        elif top + 1 == len(low):
            return UNFINISHED, top, seen
        else:
            top = _halve(low, high, top)
    return NONE, top, seen


@part()
def _verdict(
    rows: Any,
    n_columns: Any,
    errors: float,
    side: Any,
    planes: Any,
    open_weight: float,
    total: float,
) -> Any:
    """Whether the rows on certain sides of the root make fewer errors than allowed."""
    least, seen, is_finished = np.zeros(2), 0, True
    errors -= _conflict(rows, side[0])
    most = int(NESTED_LOOKS / len(rows.y)) + 1
    for which in range(2):
        least[which] = _least_errors(rows, n_columns[which], side[0], which, planes[1 + which])
    for which in range(2):
        few_open = open_weight <= NESTED_SHARE * total
        if n_columns[which] > 1 and few_open and least.sum() < errors:
            limit = errors - least[1 - which]
            best, boxes = _search_child(
                rows, n_columns[which], limit, side, which, planes[1 + which], most
            )
            seen += boxes
            if boxes >= most:
                is_finished = False
            else:
                least[which] = best
    if least.sum() >= errors:
        return NONE, seen
    return (FOUND if is_finished else UNFINISHED), seen


@part()
def _search_child(
    rows: Any, n_columns: int, errors: float, side: Any, which: int, plane: Any, most: int
) -> Any:
    """Least errors below a limit, or the limit, of a plane for the rows of a side of the root."""
    p = rows.x.shape[1]
    n_columns = min(n_columns, p)
    seen, chosen, middle = 0, np.arange(n_columns), np.zeros(p + 1)
    for i in range(len(rows.y)):
        side[1, i] = OUTSIDE if side[0, i] != which else UNCERTAIN
    while seen < most:
        for lead in range(n_columns):
            least, boxes = _search_leaves(rows, chosen, lead, errors, side[1], middle, most - seen)
            seen += boxes
            if least < errors:
                errors = least
                for j in range(p + 1):
                    plane[j] = middle[j]
        k = n_columns - 1
        while k >= 0 and chosen[k] == p - n_columns + k:
            k -= 1
        if k < 0:
            break
        chosen[k] += 1
        for later in range(k + 1, n_columns):
            chosen[later] = chosen[later - 1] + 1
    return errors, seen


@part()
def _search_leaves(
    rows: Any, columns: Any, lead: int, errors: float, side: Any, plane: Any, most: int
) -> Any:
    """Least errors below a limit, or the limit, of a plane with given columns; and boxes."""
    low, high = first_box(rows, columns, lead)
    top, seen, middle = 0, 0, np.zeros(len(plane))
    while top >= 0 and seen < most:
        seen += 1
        open_weight = _classify(rows, columns, low[top], high[top], side)
        least = np.inf
        if open_weight >= 0.0:
            least = _conflict(rows, side)
            for which in range(2):
                least += _least_errors(rows, np.int64(0), side, which, middle)
        if least >= errors:
            top -= 1
        elif open_weight == 0.0 and _is_plane(rows, columns, low[top], high[top], side):
            _keep_middle(columns, low[top], high[top], plane)
            errors = least
            top -= 1
        elif top + 1 == len(low):
            return errors, most
        else:
            top = _halve(low, high, top)
    return errors, seen


@part()
def _conflict(rows: Any, side: Any) -> float:
    """Errors that no plane avoids among the rows whose sides are uncertain."""
    total = 0.0
    for i in range(len(rows.y)):
        if side[i] == UNCERTAIN:
            total += rows.conflict[i]
    return total


@kernel()
def first_box(rows: Any, columns: Any, lead: int) -> Any:
    """Stack of boxes ``(weights, threshold)`` with the first one, which holds all planes."""
    size = len(columns)
    low, high = np.empty((_LEVELS, size + 1)), np.empty((_LEVELS, size + 1))
    reach = 1.0
    for k in range(size):
        low[0, k], high[0, k] = (1.0, 1.0) if k == lead else (-1.0, 1.0)
        largest = 0.0
        for i in range(len(rows.x)):
            largest = max(largest, abs(rows.x[i, columns[k]]))
        reach += largest
    low[0, size], high[0, size] = -reach, reach
    return low, high


@part()
def _halve(low: Any, high: Any, top: int) -> int:
    """Replace the box on top by its two halves along its widest side."""
    widest = 0
    for k in range(1, low.shape[1]):
        if high[top, k] - low[top, k] > high[top, widest] - low[top, widest]:
            widest = k
    middle = (low[top, widest] + high[top, widest]) / 2
    for k in range(low.shape[1]):
        low[top + 1, k], high[top + 1, k] = low[top, k], high[top, k]
    high[top, widest] = low[top + 1, widest] = middle
    return top + 1


@inner()
def _classify(rows: Any, columns: Any, low: Any, high: Any, side: Any) -> float:
    """Set the sides that are certain in a box; weight of the others, negative without a plane."""
    size, uncertain, norm = len(columns), 0.0, 0.0
    for k in range(size):
        norm += max(0.0, low[k], -high[k])
    strip = rows.strip * norm
    for i in range(len(rows.y)):
        if side[i] == OUTSIDE:
            continue
        least, most = -high[size], -low[size]
        for k in range(size):
            value = rows.x[i, columns[k]]
            one, other = low[k] * value, high[k] * value
            least += min(one, other)
            most += max(one, other)
        if most < strip:
            if least > -strip:
                return -1.0
            side[i] = LEFT
        elif least > -strip:
            side[i] = RIGHT
        else:
            side[i] = UNCERTAIN
            uncertain += rows.weights[i]
    return uncertain


@part()
def _keep_middle(columns: Any, low: Any, high: Any, plane: Any) -> None:
    """Keep the plane in the middle of a box as ``(g, -h)``."""
    size = len(columns)
    plane[:] = 0.0
    plane[0] = (low[size] + high[size]) / 2
    for k in range(size):
        plane[1 + columns[k]] = -(low[k] + high[k]) / 2


@part()
def _is_plane(rows: Any, columns: Any, low: Any, high: Any, side: Any) -> bool:
    """Whether the plane in the middle of a box keeps all rows on their sides, off its strip."""
    size, norm = len(columns), 0.0
    for k in range(size):
        norm += abs(low[k] + high[k]) / 2
    for i in range(len(rows.y)):
        if side[i] == OUTSIDE:
            continue
        value = -(low[size] + high[size]) / 2
        for k in range(size):
            value += (low[k] + high[k]) / 2 * rows.x[i, columns[k]]
        if (value if side[i] == RIGHT else -value) < rows.strip * norm * (1 - STRIP_SLACK):
            return False
    return True


@inner(owns=True)
def _least_errors(rows: Any, n_columns: Any, side: Any, which: int, plane: Any) -> float:
    """Errors of a side in a leaf, or after the best split of one column, least ones with more.

    Two leaves name two classes.  The split is kept as ``(g, -h)``, the left side first.
    """
    plane[0], plane[1:] = 1.0, 0.0
    counts = np.zeros((2, rows.n_classes))
    for i in range(len(rows.y)):
        if side[i] == which:
            counts[1, rows.y[i]] += rows.weights[i]
    total, right = counts[1].sum(), counts[1].max()
    if n_columns == 0 or right == total:
        return total - right
    if n_columns > 1:
        counts[1, np.argmax(counts[1])] = 0.0
        return total - right - counts[1].max()
    whole = counts[1].copy()
    for column in range(rows.x.shape[1]):
        last = np.inf
        for k in range(rows.n_classes):
            counts[0, k], counts[1, k] = 0.0, whole[k]
        for i in rows.order[column]:
            if side[i] != which:
                continue
            value = rows.x[i, column]
            if value - last >= 2 * rows.strip * (1 - 1e-9):
                both = counts[0].max() + counts[1].max()
                if both > right:
                    right, plane[1:] = both, 0.0
                    plane[0], plane[1 + column] = (value + last) / 2, -1.0
            last = value
            counts[0, rows.y[i]] += rows.weights[i]
            counts[1, rows.y[i]] -= rows.weights[i]
    return total - right
