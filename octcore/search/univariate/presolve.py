"""Reductions that never change the optimum, with the way back to the original features and rows.

Constant columns, duplicates and complements are dropped (a complement swaps the children), rows
with equal features and class are merged, and rows with equal features but different classes give
the equivalent-point bound: every tree misclassifies all but the heaviest class of such a group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from octcore.errors import DataError
from octcore.search.univariate.rows import Rows

_COUNTER_LIMIT = 2**28
"""Largest total weight for 32-bit counters (sums of two cells and the ban stay inside)."""
_WEIGHT_BITS = 50
"""Float weights are scaled to integers with this many bits in their sum."""


@dataclass(frozen=True)
class Columns:
    """Which columns remain and where every original column went.

    Attributes
    ----------
    kept : ndarray of int64
        Original index of every remaining column, ascending.
    position : ndarray of shape (n_features,)
        Position among the kept columns, -1 for a constant or excluded column.
    flipped : ndarray of shape (n_features,), bool
        Whether the column is the complement of the kept one.
    """

    kept: np.ndarray
    position: np.ndarray
    flipped: np.ndarray


@dataclass(frozen=True)
class Presolved:
    """A reduced instance.

    Attributes
    ----------
    rows : Rows
        Kernel data on the kept columns.
    columns : Columns
    total : int
        Sum of the integer weights.
    unit : float
        Original weight of one integer unit.
    class_weight : ndarray of shape (n_classes,), int64
        Integer weight of every class.
    ceiling : float
        Largest weighted accuracy any tree of any depth can reach.
    n_samples : int
        Rows that the kernels see.
    """

    rows: Rows
    columns: Columns
    total: int
    unit: float
    class_weight: np.ndarray
    ceiling: float
    n_samples: int


def reduce_columns(
    X: np.ndarray, excluded: np.ndarray | None = None, preferred: np.ndarray | None = None
) -> Columns:
    """Drop excluded, constant, duplicate and complementary columns.

    Of equal ones a preferred one stays, and of several the lowest index.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), values 0 and 1
    excluded : ndarray of shape (n_features,), bool, optional
        Columns that may not be used.
    preferred : ndarray of shape (n_features,), bool, optional
    """
    n_features = X.shape[1]
    order = range(n_features) if preferred is None else np.argsort(~preferred, kind="stable")
    position = np.full(n_features, -1, np.int64)
    flipped = np.zeros(n_features, bool)
    kept: list[int] = []
    seen: dict[bytes, tuple[int, bool]] = {}
    for f in order:
        column = np.ascontiguousarray(X[:, f], bool)
        if column.all() or not column.any() or (excluded is not None and excluded[f]):
            continue
        packed = np.packbits(column).tobytes()
        found = seen.get(packed)
        if found is None:
            seen[packed] = (len(kept), False)
            seen[np.packbits(~column).tobytes()] = (len(kept), True)
            position[f] = len(kept)
            kept.append(f)
        else:
            position[f], flipped[f] = found
    ranked = np.append(np.argsort(np.argsort(kept)), -1)  # the last one is of excluded columns
    return Columns(np.sort(np.array(kept, np.int64)), ranked[position], flipped)


def integer_weights(weights: np.ndarray | None, n_samples: int) -> tuple[np.ndarray, float]:
    """Return integer weights and the original weight of one unit.

    Integers pass unchanged; other weights are scaled by a power of two so that the rounding is
    below 1e-15 of the sum.

    Raises
    ------
    DataError
        If a weight is negative or not finite, or if all are zero.
    """
    if weights is None:
        return np.ones(n_samples, np.int64), 1.0
    values = np.asarray(weights, float)
    if values.shape != (n_samples,) or not np.isfinite(values).all() or (values < 0).any():
        raise DataError(
            "BAD_WEIGHTS",
            f"Sample weights must be {n_samples} finite numbers >= 0; check the weight column.",
        )
    if values.sum() <= 0:
        raise DataError("BAD_WEIGHTS", "All sample weights are zero; give some rows weight.")
    if (values == np.rint(values)).all() and values.sum() < 2.0**_WEIGHT_BITS:
        return values.astype(np.int64), 1.0
    shift = _WEIGHT_BITS - int(np.ceil(np.log2(values.sum())))
    return np.rint(np.ldexp(values, shift)).astype(np.int64), float(np.ldexp(1.0, -shift))


def searched_rows(whole: np.ndarray, min_samples_leaf: int) -> np.ndarray:
    """Tell which rows the kernels have to see, a mask of shape (n_samples,).

    Rows of weight zero change no cost, but a leaf size counts them.

    Parameters
    ----------
    whole : ndarray of shape (n_samples,)
        Integer weights.
    min_samples_leaf : int
    """
    return np.ones(len(whole), bool) if min_samples_leaf > 1 else whole > 0


def equal_groups(X: np.ndarray) -> np.ndarray:
    """Return a group number per row; rows with equal features share it."""
    if X.shape[1] == 0:
        return np.zeros(len(X), np.int64)
    packed = np.packbits(np.asarray(X, bool), axis=1)
    words = np.zeros((len(X), -(-packed.shape[1] // 8) * 8), np.uint8)
    words[:, : packed.shape[1]] = packed
    words = words.view(">u8").astype(np.uint64)
    keys = words[:, 0]
    if words.shape[1] > 1:  # a hash sorts many times faster than the words
        factors = np.random.default_rng(0).integers(1, 2**63, words.shape[1], np.uint64)
        keys = ((words ^ (words >> np.uint64(32))) * (2 * factors + 1)).sum(axis=1)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if words.shape[1] > 1 and (words != words[first[group]]).any():  # two rows of one hash
        group = np.unique(words, axis=0, return_inverse=True)[1]
    return group.ravel().astype(np.int64)


def presolve(
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    n_classes: int,
    excluded: np.ndarray | None = None,
    min_samples_leaf: int = 1,
) -> Presolved:
    """Reduce an instance for the search kernels.

    Rows of weight zero are left out where leaves may have any size; see `searched_rows`.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), values 0 and 1
    y : ndarray of shape (n_samples,)
        Class indices below ``n_classes``.
    weights : ndarray of shape (n_samples,) or None
    n_classes : int
    excluded : ndarray of bool, optional
        Columns that may not be used.
    min_samples_leaf : int
        Leaf size the kernels have to respect.
    """
    whole, unit = integer_weights(weights, len(y))
    seen = searched_rows(whole, min_samples_leaf)
    X, y, whole = np.asarray(X, np.uint8)[seen], np.asarray(y, np.int64)[seen], whole[seen]
    columns = reduce_columns(X, excluded)
    reduced = np.ascontiguousarray(X[:, columns.kept])
    group = equal_groups(reduced)
    # Sums of integers below 2^50 are exact in double precision.
    cells = np.bincount(group * n_classes + y, whole, (int(group.max()) + 1) * n_classes)
    tally = cells.astype(np.int64).reshape(-1, n_classes)
    outvoted = tally.argmax(axis=1)[group] != y
    counted = min_samples_leaf > 1 and bool((whole != 1).any())
    rows = _kernel_rows(reduced, y, whole, outvoted, group, counted, n_classes)
    rows = rows._replace(shape=np.array([n_classes, min_samples_leaf], np.int64))
    total = int(whole.sum())
    return Presolved(
        rows=rows,
        columns=columns,
        total=total,
        unit=unit,
        class_weight=np.bincount(y, whole, minlength=n_classes).astype(np.int64),
        ceiling=float(tally.max(axis=1).sum() / total),
        n_samples=len(y),
    )


def _kernel_rows(
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    outvoted: np.ndarray,
    group: np.ndarray,
    counted: bool,
    n_classes: int,
) -> Rows:
    """Choose the cheapest block layout and build the kernel rows.

    With ``counted`` a channel of its own counts the rows; it alone shows those of weight zero.
    """
    label = group * n_classes + y
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    merged = np.bincount(inverse, weight).astype(np.int64)
    own = np.flatnonzero(weight)
    keep = first[merged > 0]
    positive = merged[merged > 0]
    layouts = [(own, weight[own]), (keep, positive), binary_planes(keep, positive)]
    index, scale = min(layouts, key=lambda item: _packed_size(y[item[0]], item[1]))
    channel = y[index]
    minority = np.where(outvoted[index], scale, 0)
    if counted:
        extra, extra_scale = binary_planes(first, np.bincount(inverse))
        index = np.concatenate([index, extra])
        scale = np.concatenate([scale, extra_scale])
        channel = np.concatenate([channel, np.full(len(extra), n_classes)])
        minority = np.concatenate([minority, np.zeros(len(extra), np.int64)])
    return make_rows(X, index, channel, scale, minority)[1]


def make_rows(
    X: np.ndarray, index: np.ndarray, channel: np.ndarray, scale: np.ndarray, minority: np.ndarray
) -> tuple[np.ndarray, Rows]:
    """Sort rows into blocks of equal channel and scale and build the kernel arrays.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    index : ndarray of shape (n_rows,)
        Sample that every kernel row shows; samples may repeat.
    channel, scale, minority : ndarray of shape (n_rows,)

    Returns
    -------
    tuple of (ndarray, Rows)
        Sample of every kernel row in its final order, and the kernel data.
    """
    # Within a block the rows are shuffled, so that a part of them represents the whole.
    mixed = np.random.default_rng(0).permutation(len(index))
    order = np.lexsort((mixed, scale, channel))
    index, channel, scale, minority = index[order], channel[order], scale[order], minority[order]
    begins = np.ones(len(index), bool)
    begins[1:] = (channel[1:] != channel[:-1]) | (scale[1:] != scale[:-1])
    block = np.cumsum(begins) - 1
    small = scale.sum() < _COUNTER_LIMIT
    bits = np.ascontiguousarray(X[index].astype(np.uint32 if small else np.uint64))
    return index, Rows(
        bits=bits,
        columns=np.ascontiguousarray(X[index].T.astype(np.uint8)),
        block=block.astype(np.int32),
        block_channel=channel[begins].astype(np.int64),
        block_scale=scale[begins].astype(np.int32 if small else np.int64),
        minority=minority.astype(np.int64),
        shape=np.array([1, 1], np.int64),
    )


def _packed_size(y: np.ndarray, scale: np.ndarray) -> float:
    """Estimate the words of a typical subset (an eighth of the rows; a word per block at least)."""
    blocks = sum(len(np.unique(scale[y == k])) for k in np.unique(y))
    return len(y) / 256 + blocks


def binary_planes(index: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Repeat every row once per one-bit of its weight, so that scales are powers of two."""
    parts, scales = [], []
    for bit in range(int(weight.max(initial=0)).bit_length()):
        chosen = (weight >> bit) & 1 == 1
        parts.append(index[chosen])
        scales.append(np.full(int(chosen.sum()), 1 << bit, np.int64))
    return np.concatenate(parts), np.concatenate(scales)
