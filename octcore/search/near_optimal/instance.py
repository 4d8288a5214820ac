"""The instance of the near-optimal search: packed rows, integer weights, exact prices.

All arithmetic is exact.  A cost is ``unit * errors + price * leaves`` in integers; when penalty and
tolerance have too many digits for that, `price` is rounded down and the final comparison of every
cell is made in fractions, so that a tree exactly on the border is in and no other.  A class weight
is the simplest fraction that rounds to the given double, or that double itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor, lcm
from typing import NamedTuple

import numpy as np

from octcore.errors import SettingsError
from octcore.search.near_optimal.kernels import IMPOSSIBLE, LARGE
from octcore.search.univariate.bit_table import Columns, reduce_columns
from octcore.search.univariate.table import equal_groups

WORD = 32
"""Rows in a word."""
LARGEST_COST = 1 << 58
"""Sums of a few costs stay inside 63 bits."""
LARGEST_DENOMINATOR = 10**9
"""Weights are read as the simplest fraction that rounds to the given double."""
BORDER = Fraction(1, 10**9)
"""Trees so close to the border of the tolerance, in accuracy, are looked at, in or out."""
MOST_ERROR_UNITS = 1 << 24
"""Largest total weight in units of the smallest common one; beyond it the tables get too long."""


class Work(NamedTuple):
    """Scratch of the kernels; see there."""

    totals: np.ndarray
    cell: np.ndarray
    ones: np.ndarray
    active: np.ndarray
    promising: np.ndarray
    leaf: np.ndarray
    outvoted: np.ndarray
    stump: np.ndarray
    weighted: np.ndarray
    weight_ones: np.ndarray
    n_ones: np.ndarray
    counts: np.ndarray
    best: np.ndarray
    rows: np.ndarray
    packed: np.ndarray
    live: np.ndarray
    held: np.ndarray
    gathered: np.ndarray
    table: np.ndarray
    options: np.ndarray
    seen: np.ndarray


@dataclass(frozen=True, eq=False)
class Instance:
    """Rows on distinct columns, ready for the kernels.

    Parameters
    ----------
    columns : Columns
        Which encoded columns remain; equal and complementary ones count once.
    bits : numpy.ndarray
        Rows with a one, shape ``(n_columns, n_words)``, uint32.
    order : numpy.ndarray
        Row of every bit, -1 for padding, shape ``(32 * n_words,)``.
    word_class : numpy.ndarray
        Class of the rows of every word.
    weight : numpy.ndarray
        Integer weight of a row of every class.
    minority : numpy.ndarray
        Rows outvoted among identical rows, shape ``(n_words,)``.
    least : int
        Rows a leaf needs.
    depth : int
        Largest depth.
    max_leaves : int
        Largest number of leaves.
    roots : numpy.ndarray
        Which columns may be the root, shape ``(n_columns,)``, bool.
    penalty, tolerance : Fraction
        Per leaf, and beyond the optimum, in integer weight units.
    weight_unit : Fraction
        Weight of one integer unit.
    total : int
        Sum of the integer weights.
    unit, price : int
        Scaled cost of one error unit and of one leaf.
    leaf_allowed : bool
        Whether the tree may be a single leaf (not with a required root).
    """

    columns: Columns
    bits: np.ndarray
    order: np.ndarray
    word_class: np.ndarray
    weight: np.ndarray
    minority: np.ndarray
    least: int
    depth: int
    max_leaves: int
    roots: np.ndarray
    penalty: Fraction
    tolerance: Fraction
    weight_unit: Fraction
    total: int
    unit: int
    price: int
    leaf_allowed: bool

    @property
    def all_rows(self) -> np.ndarray:
        """Bit set of all rows."""
        return pack_bits((self.order >= 0)[None, :])[0]

    @property
    def is_scaled_exactly(self) -> bool:
        """Whether `price` is the penalty itself and not rounded down."""
        return self.penalty * self.unit == self.price

    @property
    def reach(self) -> Fraction:
        """Largest cost beyond the optimum of the trees that are looked at."""
        return self.tolerance + BORDER * self.total

    def most_leaves(self, depth: int) -> int:
        """Largest number of leaves of a subtree of a depth, as every leaf has rows."""
        return min(2**depth, int((self.order >= 0).sum()) // self.least)

    def scaled(self, errors: np.ndarray, leaves: int) -> np.ndarray:
        """Scaled costs of so many errors; `LARGE` where they are `IMPOSSIBLE`, which is no number.

        Parameters
        ----------
        errors : ndarray of int32
        leaves : int
        """
        possible = errors < IMPOSSIBLE
        whole = np.where(possible, errors, 0).astype(np.int64)
        return np.where(possible, self.unit * whole + self.price * leaves, LARGE)

    def cost(self, errors: int, leaves: int) -> Fraction:
        """Exact cost in integer weight units."""
        return errors + self.penalty * leaves

    def objective(self, errors: int, leaves: int) -> Fraction:
        """Exact weighted accuracy minus penalty times leaves."""
        return 1 - self.cost(errors, leaves) / self.total

    def work(self) -> Work:
        """Allocate scratch."""
        n_columns, n_words = self.bits.shape
        n_classes = len(self.weight)

        def whole(*shape: int) -> np.ndarray:
            return np.zeros(shape, np.int32)

        return Work(
            totals=whole(n_classes),
            cell=whole(n_classes),
            ones=whole(n_classes, n_columns),
            active=whole(n_columns),
            promising=whole(n_columns),
            leaf=whole(2, n_columns),
            outvoted=whole(2, n_columns),
            stump=whole(2, n_columns),
            weighted=whole(n_classes, n_columns),
            weight_ones=whole(n_columns),
            n_ones=whole(n_columns),
            counts=whole(n_classes, n_columns),
            best=whole(4, n_columns),
            rows=whole(2, n_columns),
            packed=np.zeros((n_words, n_columns), np.uint32),
            live=whole(n_words),
            held=np.zeros(n_words, np.uint32),
            gathered=np.zeros(n_columns, np.uint32),
            table=whole(2, n_columns, n_columns),
            options=np.zeros((2, 1, 1)),
            seen=np.zeros((2, 1), np.int64),
        )


def make_instance(
    X: np.ndarray,
    y: np.ndarray,
    n_classes: int,
    depth: int,
    leaf_penalty: Fraction,
    tolerance: Fraction,
    class_weight: np.ndarray | None = None,
    min_samples_leaf: int = 1,
    max_leaves: int | None = None,
    forbidden: np.ndarray | None = None,
    roots: np.ndarray | None = None,
) -> Instance:
    """Pack rows and turn weights, penalty and tolerance into integers.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), values 0 and 1
    y : ndarray of shape (n_samples,)
        Class codes.
    n_classes, depth : int
    leaf_penalty, tolerance : Fraction
        On the accuracy scale.
    class_weight : ndarray of shape (n_classes,) or None
        Weight of a row of every class; ones by default.
    min_samples_leaf : int
    max_leaves : int or None
    forbidden, roots : ndarray of shape (n_features,), bool, or None
        Columns that no split may test; columns that the root must be one of.

    Raises
    ------
    SettingsError
        If the weights have no common unit that is large enough.
    """
    given = np.ones(n_classes) if class_weight is None else np.asarray(class_weight, float)
    weight, weight_unit = common_unit(given, np.bincount(y, minlength=n_classes))
    columns = reduce_columns(X, forbidden, roots)
    order, word_class = _row_order(y, n_classes)
    real = np.maximum(order, 0)
    bits = pack_bits((X[real][:, columns.kept].T > 0) & (order >= 0))
    total = int(weight[y].sum())
    penalty, margin = leaf_penalty * total, tolerance * total
    least = max(1, min_samples_leaf)
    unit, price = _scale(penalty, margin, total, min(2**depth, len(y) // least))
    allowed = np.ones(len(columns.kept), bool)
    if roots is not None:
        allowed = np.zeros(len(columns.kept), bool)
        positions = columns.position[roots]
        allowed[positions[positions >= 0]] = True
    return Instance(
        columns=columns,
        bits=bits,
        order=order,
        word_class=word_class,
        weight=weight,
        minority=pack_bits((_outvoted(X, y, weight)[real] & (order >= 0))[None, :])[0],
        least=least,
        depth=depth,
        max_leaves=2**depth if max_leaves is None else min(max_leaves, 2**depth),
        roots=allowed,
        penalty=penalty,
        tolerance=margin,
        weight_unit=weight_unit,
        total=total,
        unit=unit,
        price=price,
        leaf_allowed=roots is None,
    )


def common_unit(weights: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, Fraction]:
    """Integer weights of the classes and the weight of one unit.

    Parameters
    ----------
    weights : ndarray of shape (n_classes,)
    rows : ndarray of shape (n_classes,)
        Rows of every class.
    """
    simple = [Fraction(float(w)).limit_denominator(LARGEST_DENOMINATOR) for w in weights]
    simple = [
        s if float(s) == float(w) else Fraction(float(w))
        for s, w in zip(simple, weights, strict=True)
    ]
    denominator = lcm(*(s.denominator for s in simple))
    whole = [int(s * denominator) for s in simple]
    shared = int(np.gcd.reduce(np.array(whole, object))) or 1
    whole = [w // shared for w in whole]
    if sum(w * int(r) for w, r in zip(whole, rows, strict=True)) > MOST_ERROR_UNITS:
        raise SettingsError(
            "TOO_MANY_DIGITS",
            "The class weights have so many digits that errors cannot be counted exactly; "
            "round them to two or three digits.",
            "class_weight",
        )
    return np.array(whole, np.int32), Fraction(shared, denominator)


def _scale(penalty: Fraction, margin: Fraction, total: int, leaves: int) -> tuple[int, int]:
    """Scaled cost of an error and of a leaf; the latter is rounded down if need be.

    No cost is above `LARGEST_COST`: weights, penalty and margin are below 2^24 and leaves below
    2^20 or the number of rows, so that a power of two of 2^12 at least always fits.
    """
    unit = lcm(penalty.denominator, margin.denominator)
    largest = 2 * total + (penalty + 1) * max(4, leaves) + margin + 1
    if unit * largest > LARGEST_COST:
        unit = 1 << (int(LARGEST_COST / largest).bit_length() - 1)
    return unit, floor(penalty * unit)


def _outvoted(X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Rows that are not of the heaviest class among the rows equal to them."""
    group = equal_groups(X)
    tally = np.zeros((int(group.max()) + 1, len(weight)), np.int64)
    np.add.at(tally, (group, y), weight[y])
    return tally.argmax(axis=1)[group] != y


def _row_order(y: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Row of every bit, each class padded to whole words; class of every word."""
    order, word_class = [], []
    for k in range(n_classes):
        rows = np.flatnonzero(y == k)
        words = -(-len(rows) // WORD)
        order.append(np.pad(rows, (0, WORD * words - len(rows)), constant_values=-1))
        word_class += [k] * words
    return np.concatenate(order).astype(np.int64), np.array(word_class, np.int64)


def pack_bits(mask: np.ndarray) -> np.ndarray:
    """Pack a boolean array of shape ``(n, 32 * n_words)`` into words ``(n, n_words)``."""
    packed = np.packbits(mask, axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view(np.uint32)


def unpack_bits(words: np.ndarray) -> np.ndarray:
    """Boolean array of shape ``(32 * n_words,)`` of one bit set."""
    return np.unpackbits(words.view(np.uint8), bitorder="little").astype(bool)
