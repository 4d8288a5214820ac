"""Trees of two levels whose planes use few columns: whether one of them has few errors.

A plane on c columns has ``c`` free numbers: one weight is 1, the others lie in [-1, 1], and there
is the threshold.  Boxes of these numbers are halved until the errors of the rows whose sides are
certain reach the limit.  A strip of a given width around every plane is empty, so that all sides
are certain in boxes that are small enough.  The rows of a side go on to a leaf, to the best split
of one column, or to boxes of their own; how many errors there are makes no search longer.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octcore.numerics.kernels import inner, kernel
from octcore.numerics.margin_simplex import FloatArray, IntArray

MOST_DEPTH, MOST_BOXES = 2, 2_500_000
"""Levels of a tree, and boxes that trees of some number of columns get at most."""
LOOKS, NESTED_LOOKS = 3e6, 3e7
"""Rows looked at between two looks at the clock, and for one side of a root at most."""
NESTED_SHARE = 0.1  # effort only: share of uncertain rows below which a side gets boxes of its own
STRIP_SLACK = 1e-3
"""Share of the strip that the plane in the middle of a box may lack: around one that just has it
boxes would be halved without end.  Such a tree costs no more than the best one that keeps to it."""
_LEVELS = 200
"""Boxes of a stack, each half of one below: as often as four numbers can be halved in doubles."""
OUTSIDE, LEFT, RIGHT, UNCERTAIN = -1, 0, 1, 2
NONE, FOUND, UNFINISHED = 0, 1, 2


class SparseRows(NamedTuple):
    """Rows, the order of every column, and half the width of the strip."""

    x: FloatArray
    y: IntArray
    weights: FloatArray
    conflict: FloatArray
    """Weight of a row that its equals of another class make wrong wherever they end."""
    order: IntArray  # rows by growing value, shape ``(n_columns, n)``
    largest: FloatArray  # largest absolute value of every column
    n_classes: int
    strip: float


class Boxes(NamedTuple):
    """Stack of boxes of planes on some columns; what is certain in a box is so in its halves."""

    low: FloatArray
    high: FloatArray  # least and largest weights and threshold, shape ``(levels, n_columns + 1)``
    side: NDArray[np.int8]  # shape ``(levels, n)``
    open: NDArray[np.int32]
    n_open: IntArray
    """`open`, `n_open`: rows whose sides are uncertain, or that may lie in the strip."""
    counts: FloatArray  # weights of the rows of certain sides, shape ``(levels, 2, n_classes)``
    tally: FloatArray  # scratch for the rows of either side of a split
    least: FloatArray  # least errors of either side


def _new_boxes(rows: SparseRows) -> Boxes:
    n, size = rows.x.shape[0], rows.x.shape[1] + 1
    return Boxes(
        np.zeros((_LEVELS, size)),
        np.zeros((_LEVELS, size)),
        np.zeros((_LEVELS, n), np.int8),
        np.zeros((_LEVELS, n), np.int32),
        np.zeros(_LEVELS, np.int64),
        np.zeros((_LEVELS, 2, rows.n_classes)),
        np.zeros((2, rows.n_classes)),
        np.zeros(2),
    )


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
        np.abs(X).max(axis=0, initial=0.0),
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
    p = rows.x.shape[1]
    planes, boxes, child = np.zeros((4, p + 1)), _new_boxes(rows), _new_boxes(rows)
    sizes = np.sort(np.bincount(rows.y, rows.weights, rows.n_classes))
    for root, left, right in ways_to_share(columns, depth):
        n_leaves = 2 + (left > 0) + (right > 0)
        if sizes[:-n_leaves].sum() >= errors:
            continue  # as many classes have no leaf
        for chosen in combinations(range(p), min(root, p)):
            own, below = np.array(chosen), np.zeros(p, np.int64)
            for lead in range(len(chosen)):
                first_box(rows, own, len(own), lead, boxes)
                top = 0
                while top >= 0:
                    status, top, seen = search_root(
                        rows, own, below, boxes, child, top, left, right, errors, planes
                    )
                    yield int(seen), int(status), planes[: 2**depth - 1]
                    if status != NONE:
                        return


@kernel(owns=False)
def search_root(
    rows: Any,
    columns: Any,
    below: Any,
    boxes: Any,
    child: Any,
    top: int,
    left: int,
    right: int,
    errors: float,
    planes: Any,
) -> Any:
    """Go on with the boxes of a root, with numbers of columns left and right, for a while.

    `below`, `child`: scratch for the columns of a child and its boxes; the last plane is one, too.
    Returns the status, the place of the box on top (-1 without one left) and the boxes looked at.
    """
    seen, looks = 0, 0
    while top >= 0 and looks < LOOKS:
        seen += 1
        looks += boxes.n_open[top] + 1
        open_weight = _classify(rows, columns, len(columns), boxes, top)
        if open_weight < 0.0:
            top -= 1
            continue
        status, others, work = _verdict(
            rows, (left, right), errors, below, boxes, child, top, planes, open_weight
        )
        seen += others
        looks += work
        if status == NONE:
            top -= 1
        elif open_weight == 0.0 and _is_plane(rows, columns, len(columns), boxes, top):
            _keep_middle(columns, len(columns), boxes, top, planes[0])
            return status, top, seen
        elif top + 1 == len(boxes.low):
            return UNFINISHED, top, seen
        else:
            top = _halve(boxes, top, len(columns))
    return NONE, top, seen


@inner()
def _verdict(
    rows: Any,
    n_columns: Any,
    errors: float,
    below: Any,
    boxes: Any,
    child: Any,
    top: int,
    planes: Any,
    open_weight: float,
) -> Any:
    """Whether the rows on certain sides of the root make fewer errors than allowed.

    Returns the status, and boxes and rows looked at.
    """
    least, seen, looks, is_finished = boxes.least, 0, 0, True
    errors -= _conflict(rows, boxes, top)
    for which in range(2):
        least[which] = _leaf_errors(boxes.counts[top, which], 1 if n_columns[which] else 0)
        _split_nothing(planes[1 + which])
    for which in range(2):
        if n_columns[which] == 1 and least[0] + least[1] < errors:
            looks += rows.x.size
            least[which] = _split_errors(rows, boxes, top, which, planes[1 + which])
    total = open_weight + sum_of(boxes.counts[top, 0]) + sum_of(boxes.counts[top, 1])
    for which in range(2):
        few_open = open_weight <= NESTED_SHARE * total
        if n_columns[which] > 1 and few_open and least[0] + least[1] < errors:
            limit = errors - least[1 - which]
            best, others, work = _search_child(
                rows, n_columns[which], limit, below, boxes, child, top, which, planes
            )
            seen += others
            looks += work
            if work >= NESTED_LOOKS:
                is_finished = False
            else:
                least[which] = best
    if least[0] + least[1] >= errors:  # rows without a certain side only add errors
        return NONE, seen, looks
    return (FOUND if is_finished else UNFINISHED), seen, looks


@inner()
def _search_child(
    rows: Any,
    n_columns: int,
    errors: float,
    chosen: Any,
    root: Any,
    boxes: Any,
    top: int,
    which: int,
    planes: Any,
) -> Any:
    """Least errors below a limit, or the limit, of a plane for the rows of a side of the root.

    Returns boxes and rows looked at as well; NESTED_LOOKS or more of them are no end.
    """
    p = rows.x.shape[1]
    n_columns = min(n_columns, p)
    seen, looks = 0, 0
    for k in range(n_columns):
        chosen[k] = k
    while looks < NESTED_LOOKS:
        for lead in range(n_columns):
            _first_box_of_side(rows, chosen, n_columns, lead, root, top, which, boxes)
            least, others, work = _search_leaves(
                rows, chosen, n_columns, errors, boxes, planes[3], NESTED_LOOKS - looks
            )
            seen += others
            looks += work
            if least < errors:
                errors = least
                for j in range(p + 1):
                    planes[1 + which, j] = planes[3, j]
        k = n_columns - 1
        while k >= 0 and chosen[k] == p - n_columns + k:
            k -= 1
        if k < 0:
            break
        chosen[k] += 1
        for later in range(k + 1, n_columns):
            chosen[later] = chosen[later - 1] + 1
    return errors, seen, looks


@inner()
def _search_leaves(
    rows: Any, columns: Any, size: int, errors: float, boxes: Any, plane: Any, most: float
) -> Any:
    """Least errors below a limit, or the limit, of a plane with given columns.

    Returns boxes and rows looked at as well; the latter are `most` at least where it did not end.
    """
    top, seen, looks = 0, 0, 0
    while top >= 0 and looks < most:
        seen += 1
        looks += boxes.n_open[top] + 1
        open_weight = _classify(rows, columns, size, boxes, top)
        least = np.inf
        if open_weight >= 0.0:
            least = _conflict(rows, boxes, top)
            for which in range(2):
                least += _leaf_errors(boxes.counts[top, which], 0)
        if least >= errors:  # so have all planes of the box
            top -= 1
        elif open_weight == 0.0 and _is_plane(rows, columns, size, boxes, top):
            _keep_middle(columns, size, boxes, top, plane)
            errors = least
            top -= 1
        elif top + 1 == len(boxes.low):
            return errors, seen, int(most) + 1
        else:
            top = _halve(boxes, top, size)
    return errors, seen, looks


@inner()
def _conflict(rows: Any, boxes: Any, top: int) -> float:
    """Errors that no plane avoids among the rows whose sides are uncertain."""
    total = 0.0
    for k in range(boxes.n_open[top]):
        if boxes.side[top, boxes.open[top, k]] == UNCERTAIN:
            total += rows.conflict[boxes.open[top, k]]
    return total


@kernel(owns=False)
def first_box(rows: Any, columns: Any, size: int, lead: int, boxes: Any) -> None:
    """Begin with the box of all planes, and all rows."""
    for i in range(len(rows.y)):
        boxes.side[0, i], boxes.open[0, i] = UNCERTAIN, i
    boxes.n_open[0] = len(rows.y)
    _all_planes(rows, columns, size, lead, boxes)


@inner()
def _first_box_of_side(
    rows: Any, columns: Any, size: int, lead: int, root: Any, top: int, which: int, boxes: Any
) -> None:
    """Begin with the box of all planes, and the rows of one side of a root."""
    n = 0
    for i in range(len(rows.y)):
        boxes.side[0, i] = OUTSIDE
        if root.side[top, i] == which:
            boxes.side[0, i], boxes.open[0, n] = UNCERTAIN, i
            n += 1
    boxes.n_open[0] = n
    _all_planes(rows, columns, size, lead, boxes)


@inner()
def _all_planes(rows: Any, columns: Any, size: int, lead: int, boxes: Any) -> None:
    """Set the first box to all planes whose largest weight is 1, that of the lead."""
    reach = 1.0
    for k in range(size):
        boxes.low[0, k], boxes.high[0, k] = (1.0, 1.0) if k == lead else (-1.0, 1.0)
        reach += rows.largest[columns[k]]
    boxes.low[0, size], boxes.high[0, size] = -reach, reach
    for which in range(2):
        for k in range(rows.n_classes):
            boxes.counts[0, which, k] = 0.0


@inner()
def _halve(boxes: Any, top: int, size: int) -> int:
    """Replace the box on top by its two halves along its widest side."""
    widest, width = 0, 0.0
    for k in range(size + 1):
        if boxes.high[top, k] - boxes.low[top, k] > width:
            widest, width = k, boxes.high[top, k] - boxes.low[top, k]
    middle = (boxes.low[top, widest] + boxes.high[top, widest]) / 2
    for k in range(size + 1):
        boxes.low[top + 1, k], boxes.high[top + 1, k] = boxes.low[top, k], boxes.high[top, k]
    boxes.high[top, widest] = boxes.low[top + 1, widest] = middle
    boxes.n_open[top + 1] = boxes.n_open[top]
    for k in range(boxes.n_open[top]):
        boxes.open[top + 1, k] = boxes.open[top, k]
    for i in range(boxes.side.shape[1]):
        boxes.side[top + 1, i] = boxes.side[top, i]
    for which in range(2):
        for k in range(boxes.counts.shape[2]):
            boxes.counts[top + 1, which, k] = boxes.counts[top, which, k]
    return top + 1


@inner()
def _classify(rows: Any, columns: Any, size: int, boxes: Any, top: int) -> float:
    """Set the sides that are certain in a box; weight of the others, negative without a plane."""
    low, high, side, left = boxes.low[top], boxes.high[top], boxes.side[top], 0
    uncertain, least_norm, most_norm = 0.0, 0.0, 0.0
    for k in range(size):
        least_norm += max(0.0, low[k], -high[k])
        most_norm += max(high[k], -low[k])
    # Every plane of the box has a strip of the first width at least, of the second one at most.
    strip, clear = rows.strip * least_norm, rows.strip * most_norm
    for place in range(boxes.n_open[top]):
        i = boxes.open[top, place]
        least, most = -high[size], -low[size]
        for k in range(size):
            value = rows.x[i, columns[k]]
            one, other = low[k] * value, high[k] * value
            least += min(one, other)
            most += max(one, other)
        if most < strip and least > -strip:  # the row lies in the strip of all of them
            return -1.0
        if side[i] == UNCERTAIN:
            if most < strip or least > -strip:
                side[i] = LEFT if most < strip else RIGHT
                boxes.counts[top, side[i], rows.y[i]] += rows.weights[i]
            else:
                uncertain += rows.weights[i]
        if most > -clear and least < clear:  # else no smaller box need look at the row
            boxes.open[top, left] = i
            left += 1
    boxes.n_open[top] = left
    return uncertain


@inner()
def _keep_middle(columns: Any, size: int, boxes: Any, top: int, plane: Any) -> None:
    """Keep the plane in the middle of a box as ``(g, -h)``."""
    low, high = boxes.low[top], boxes.high[top]
    _split_nothing(plane)
    plane[0] = (low[size] + high[size]) / 2
    for k in range(size):
        plane[1 + columns[k]] = -(low[k] + high[k]) / 2


@inner()
def _split_nothing(plane: Any) -> None:
    """Make a plane that sends all rows left."""
    for j in range(len(plane)):
        plane[j] = 0.0
    plane[0] = 1.0


@inner()
def _is_plane(rows: Any, columns: Any, size: int, boxes: Any, top: int) -> bool:
    """Whether the plane in the middle of a box keeps all rows on their sides, off its strip."""
    low, high, norm = boxes.low[top], boxes.high[top], 0.0
    for k in range(size):
        norm += abs(low[k] + high[k]) / 2
    for i in range(len(rows.y)):
        if boxes.side[top, i] == OUTSIDE:
            continue
        value = -(low[size] + high[size]) / 2
        for k in range(size):
            value += (low[k] + high[k]) / 2 * rows.x[i, columns[k]]
        if (value if boxes.side[top, i] == RIGHT else -value) < rows.strip * norm * (
            1 - STRIP_SLACK
        ):
            return False
    return True


@inner()
def sum_of(counts: Any) -> float:
    """Sum of an array; numpy's own way compiles for a second."""
    total = 0.0
    for k in range(len(counts)):
        total += counts[k]
    return total


@inner()
def _most(counts: Any) -> float:
    most = 0.0
    for k in range(len(counts)):
        most = max(most, counts[k])
    return most


@inner()
def _leaf_errors(counts: Any, splits: int) -> float:
    """Least errors of some rows in one leaf, or in two, which name two classes."""
    total, first, second = 0.0, 0.0, 0.0
    for k in range(len(counts)):
        total += counts[k]
        if counts[k] > first:
            first, second = counts[k], first
        elif counts[k] > second:
            second = counts[k]
    return total - first - (second if splits else 0.0)


@inner()
def _split_errors(rows: Any, boxes: Any, top: int, which: int, plane: Any) -> float:
    """Errors of a side after the best split of one column, kept as ``(g, -h)``."""
    side, whole, tally = boxes.side[top], boxes.counts[top, which], boxes.tally
    most = _most(whole)
    for column in range(rows.x.shape[1]):
        last = np.inf
        for k in range(rows.n_classes):
            tally[0, k], tally[1, k] = 0.0, whole[k]
        for i in rows.order[column]:
            if side[i] != which:
                continue
            value = rows.x[i, column]
            # The strip has room between them, rounding aside.
            if value - last >= 2 * rows.strip * (1 - 1e-9):
                both = _most(tally[0]) + _most(tally[1])
                if both > most:
                    most = both
                    _split_nothing(plane)
                    plane[0], plane[1 + column] = (value + last) / 2, -1.0
            last = value
            tally[0, rows.y[i]] += rows.weights[i]
            tally[1, rows.y[i]] -= rows.weights[i]
    return sum_of(whole) - most
