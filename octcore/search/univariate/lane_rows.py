"""The rows of a subset as the kernels see them, and small loops over them and their numbers."""

from typing import NamedTuple

import numpy as np

from octcore.numerics.kernels import inner, kernel


class Rows(NamedTuple):
    """Rows of a subset, renumbered; all but the sequences and classes share one integer type."""

    sequence: np.ndarray  # (n_columns, n_rows) int32, ``row << 1 | last``: rows by ascending value
    rank: np.ndarray  # (n_columns, n_rows), rank of the value in the whole table
    y: np.ndarray  # (n_rows,) int32
    weight: np.ndarray  # (n_rows,)
    signed: np.ndarray  # (n_rows,) the weight, negative unless the class is 0
    copies: np.ndarray  # (n_rows,) original rows merged into one


@inner(owns=True)
def zeros(n):
    """Array of whole zeros."""
    array = np.empty(n, np.int64)
    for i in range(n):
        array[i] = 0
    return array


@inner()
def sum_and_most(counts):
    """Sum and largest of some whole numbers."""
    total, most = np.int64(0), np.int64(0)
    for i in range(len(counts)):
        total += counts[i]
        most = max(most, counts[i])
    return total, most


@inner(owns=True)
def ascending(values):
    """Stable order of some values; sorting by insertion compiles ten times faster than numpy's."""
    order = np.empty(len(values), np.int64)
    for i in range(len(values)):
        j = i
        while j > 0 and values[order[j - 1]] > values[i]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i
    return order


@inner(owns=True)
def class_weights(rows, n_classes):
    """Weight of every class."""
    total = zeros(n_classes)
    for i in range(len(rows.y)):
        total[rows.y[i]] += rows.weight[i]
    return total


@inner()
def count_rows(rows):
    """Number of original rows."""
    n_rows = np.int64(0)
    for i in range(len(rows.copies)):
        n_rows += rows.copies[i]
    return n_rows


@kernel()
def restrict(rows, keep, m):
    """The m rows that are kept, renumbered.

    Written without branches on `keep`, which no processor predicts.
    """
    n_columns, n = rows.sequence.shape
    number, kept = np.empty(n, np.int32), np.empty(n + 1, np.int32)
    k = np.int64(0)  # Python, without a compiler, would count in the eight bits of `keep`
    for i in range(n):
        number[i], kept[k] = k << 1, i
        k += keep[i]
    y = np.empty(m, np.int32)
    weight, signed = np.empty(m, rows.weight.dtype), np.empty(m, rows.weight.dtype)
    copies = np.empty(m, rows.weight.dtype)
    for k in range(m):
        i = kept[k]
        y[k], weight[k], signed[k], copies[k] = (
            rows.y[i], rows.weight[i], rows.signed[i], rows.copies[i],
        )  # fmt: skip
    # One entry before and one behind: the next row is written over what runs across.
    flat = np.empty(n_columns * m + 2, np.int32)
    rank = np.empty((n_columns, m), rows.weight.dtype)
    for g in range(n_columns):
        k = g * m + 1
        for i in range(n):
            code = rows.sequence[g, i]
            flat[k] = number[code >> 1]
            k += keep[code >> 1]
            flat[k - 1] |= code & 1
        flat[(g + 1) * m] &= ~1
        for k in range(m):
            rank[g, k] = rows.rank[g, kept[k]]
    sequence = flat[1 : n_columns * m + 1].reshape((n_columns, m))
    return Rows(sequence, rank, y, weight, signed, copies)
