"""The instance of the near-optimal search: thresholds, integer weights, exact prices.

All arithmetic is exact.  A cost is ``unit * errors + price * leaves`` in integers; when penalty and
tolerance have too many digits for that, `price` is rounded down and the final comparison of every
cell is made in fractions, so that a tree exactly on the border is in and no other.  A weight is the
simplest fraction that rounds to the given double, or that double itself.

Where weights have no common unit that is large enough, they may be rounded down: a tree then
costs `Instance.rounding` more than it is counted at, and none less.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, lcm

import numpy as np

from octcore.errors import SettingsError
from octcore.search.univariate.question import Question
from octcore.search.univariate.search import suits_bits
from octcore.search.univariate.table import Inquiry, Table, make_inquiry
from octcore.tree.tree import Tree, midpoints

LARGEST_COST = 1 << 58  # sums of a few costs stay inside 63 bits
LARGEST_DENOMINATOR = 10**9
"""Weights are read as the simplest fraction that rounds to the given double."""
BORDER = Fraction(1, 10**9)
"""Trees so close to the border of the tolerance, in accuracy, are looked at, in or out."""
MOST_ERROR_UNITS = 1 << 24
"""Largest total weight in units of the smallest common one; beyond it the tables get too long."""
ROUNDED_UNITS = 1 << 10
"""Units of the mean weight of a row, where weights are rounded: tables stay short, and few trees
cost less than an optimum for what is left off."""


class TooManyDigitsError(SettingsError):
    """Weights have no common unit in which errors can be counted."""


@dataclass(frozen=True, eq=False)
class Thresholds:
    """The thresholds that part the rows of a table differently, by column and value.

    One that parts the rows like an earlier one, or the other way round, is none; of equal ones that
    of a column which the root may test stays.
    """

    column: np.ndarray  # (n_thresholds,) column of the question
    value: np.ndarray  # (n_thresholds,) number up to which rows go left
    place: np.ndarray  # (n_thresholds,) column of the table
    rank: np.ndarray  # (n_thresholds,) the last rank on the left
    alike: np.ndarray
    """(n_columns, largest rank + 1) the threshold that parts the rows as the one at a rank does, or
    the other way round."""
    number: np.ndarray
    """(n_columns, largest rank + 2) int64, first threshold at or above a rank of a column: from
    rank a up to b, these are those from ``number[h, a]`` to before ``number[h, b]``."""


@dataclass(frozen=True, eq=False)
class Instance:
    """Rows by rank, and what a tree costs."""

    inquiry: Inquiry  # the question as asked, with whole-number weights, and its distinct rows
    table: Table  # the same with weights in integer units
    thresholds: Thresholds
    by_bits: bool  # whether thresholds are so few that least costs are found on rows as bits
    least: int  # rows a leaf needs, as the table counts them
    roots: np.ndarray  # (n_thresholds,) bool, which thresholds may be the root
    penalty: Fraction  # per leaf, in integer weight units
    tolerance: Fraction  # beyond the optimum, in integer weight units
    weight_unit: Fraction  # weight of one integer unit
    whole: Fraction  # weight of all rows in units, nothing rounded
    unit: int  # scaled cost of one error unit
    price: int  # scaled cost of a leaf
    lost: np.ndarray | None  # (n_samples,) parts of a unit that weights were rounded by, if any

    @property
    def question(self) -> Question:
        """What was asked."""
        return self.inquiry.question

    def rounding(self, tree: Tree) -> Fraction:
        """What a tree on the columns of the question costs more than `cost_of` says."""
        if self.lost is None:
            return Fraction(0)
        return Fraction(self.lost[tree.predict_codes(self.question.X) != self.question.y].sum())

    @property
    def total(self) -> int:
        """Sum of the integer weights."""
        return self.table.total

    @property
    def finds_optimum(self) -> bool:
        """Whether subsets give the optimum: of the limits none binds but that on leaf sizes."""
        question, n_rows = self.question, int(self.table.count.sum())
        is_free = question.roots is None and question.leaf_limit == 2**question.depth
        return self.by_bits and question.depth > 1 and is_free and n_rows >= self.least

    def most_leaves(self, depth: int) -> int:
        """Largest number of leaves of a subtree of a depth, as every leaf has rows."""
        return min(2**depth, int(self.table.count.sum()) // self.least)

    def cost(self, errors: int, leaves: int) -> Fraction:
        """Exact cost in integer weight units."""
        return errors + self.penalty * leaves

    def cost_of(self, tree: Tree) -> Fraction:
        """Cost of a tree on the columns of the question."""
        weights = self.question.weights
        assert weights is not None
        wrong = tree.predict_codes(self.question.X) != self.question.y
        return self.cost(int(weights[wrong].sum()), tree.n_leaves)

    def within(self, tolerance: Fraction) -> "Instance":
        """The same for trees further beyond the optimum, in integer weight units."""
        leaves = self.most_leaves(self.question.depth)
        unit, price = _scale(self.penalty, tolerance, self.total, leaves)
        return replace(self, tolerance=tolerance, unit=unit, price=price)

    def budget(self, cost: Fraction) -> int:
        """Scaled budget of the trees within the tolerance of a cost; never too small."""
        return floor((cost + self.tolerance + BORDER * self.total) * self.unit)


def make_instance(
    question: Question, leaf_penalty: Fraction, tolerance: Fraction, rounds: bool = False
) -> Instance:
    """Rank the rows and turn weights, penalty and tolerance into integers.

    `question`: what trees may be; its price does not matter.
    `leaf_penalty`, `tolerance`: on the accuracy scale.
    `rounds`: whether weights without a common unit that is large enough are rounded down.
    Raises `TooManyDigitsError` if they would have to be.
    """
    weights = np.ones(len(question.y)) if question.weights is None else question.weights
    lost = None
    try:
        whole, weight_unit = common_unit(weights)
    except TooManyDigitsError:
        if not rounds:
            raise
        units = min(MOST_ERROR_UNITS, ROUNDED_UNITS * len(weights))
        weight_unit = Fraction(float(weights.sum())) / units
        in_parts = weights / float(weight_unit)
        whole = np.floor(in_parts).astype(np.int64)
        lost = in_parts - whole
    depth = min(question.depth, question.leaf_limit - 1)  # every split on a path adds a leaf
    price, weights = float(leaf_penalty), whole.astype(float)
    inquiry = make_inquiry(replace(question, depth=depth, leaf_penalty=price, weights=weights))
    in_units = np.rint(inquiry.table.weight * inquiry.table.unit).astype(np.int64)
    table = replace(inquiry.table, weight=in_units, unit=1.0)
    thresholds = find_thresholds(table, inquiry.roots)
    everything = table.total + (Fraction(0) if lost is None else Fraction(lost.sum()))
    return Instance(
        inquiry=inquiry, table=table, thresholds=thresholds,
        by_bits=len(thresholds.place) > 0 and suits_bits(table), least=inquiry.smallest,
        roots=inquiry.roots[thresholds.place], penalty=leaf_penalty * everything, unit=1, price=0,
        tolerance=Fraction(0), weight_unit=weight_unit, whole=everything, lost=lost,
    ).within(tolerance * everything)  # fmt: skip


def find_thresholds(table: Table, preferred: np.ndarray) -> Thresholds:
    """Number the thresholds that part the rows differently; those of preferred columns stay."""
    n_columns = len(table.rank)
    sizes = np.array([len(values) - 1 for values in table.values], np.int64)
    is_new = np.arange(sizes.max(initial=0) + 1) < sizes[:, None]
    met = np.zeros((4, 0), np.int64)
    if sizes.max(initial=0) > 1:  # columns of one threshold each part the rows differently
        met = _met_before(table, sizes, preferred)
    is_new[met[0], met[1]] = False
    # Contiguous however many there are: kernels are compiled for that.
    place, rank = np.ascontiguousarray(np.nonzero(is_new))
    alike = np.full(is_new.shape, -1)
    alike[place, rank] = np.arange(len(place))
    alike[met[0], met[1]] = alike[met[2], met[3]]
    number = np.zeros((n_columns, is_new.shape[1] + 1), np.int64)
    number[:, 1:] = np.cumsum(is_new, axis=1)
    number += np.concatenate([[0], np.cumsum(is_new.sum(axis=1))])[:n_columns, None]
    first = np.concatenate([[0], np.cumsum(sizes + 1)])
    value = midpoints(np.concatenate([*table.values, np.zeros(1)]))[first[place] + rank]
    return Thresholds(table.original[place], value, place, rank, alike, number)


def _met_before(table: Table, sizes: np.ndarray, preferred: np.ndarray) -> np.ndarray:
    """Columns and ranks of thresholds that part the rows as another one does, and that one's."""
    n_columns, n = table.rank.shape
    key = np.random.default_rng(0).integers(0, 1 << 62, n, dtype=np.int64).astype(np.uint64)
    everything, codes = key.sum(dtype=np.uint64), []
    columns = sorted(range(n_columns), key=lambda h: (not preferred[h], h))
    for h in columns:
        sums = np.zeros(sizes[h] + 1, np.uint64)
        np.add.at(sums, table.rank[h], key)
        sums = np.cumsum(sums, dtype=np.uint64)[:-1]
        codes.append(np.minimum(sums, everything - sums))
    place = np.repeat(np.array(columns, np.int64), sizes[columns])
    rank = np.concatenate([np.arange(sizes[h]) for h in columns])
    _, first, code = np.unique(np.concatenate(codes), return_index=True, return_inverse=True)
    known: dict[int, list[tuple[int, int]]] = {}
    met: list[tuple[int, int, int, int]] = []
    for at in np.flatnonzero(first[code] < np.arange(len(code))).tolist():
        begin, h, t = int(first[code[at]]), int(place[at]), int(rank[at])
        alike = known.setdefault(begin, [(int(place[begin]), int(rank[begin]))])
        for g, s in alike:
            differs = (table.rank[h] <= t) != (table.rank[g] <= s)
            if differs.all() or not differs.any():
                met.append((h, t, g, s))
                break
        else:
            alike.append((h, t))
    return np.array(met, np.int64).reshape(-1, 4).T


def common_unit(weights: np.ndarray) -> tuple[np.ndarray, Fraction]:
    """Integer weights of the rows and the weight of one unit.

    Raises `TooManyDigitsError` if they have none that is large enough.
    """
    distinct, which = np.unique(np.asarray(weights, float), return_inverse=True)
    exact = [Fraction(w) for w in distinct.tolist()]
    simple = [w.limit_denominator(LARGEST_DENOMINATOR) for w in exact]
    simple = [s if float(s) == float(w) else w for s, w in zip(simple, exact, strict=True)]
    denominator = lcm(*(s.denominator for s in simple))
    whole = [int(s * denominator) for s in simple]
    shared = int(np.gcd.reduce(np.array(whole, object))) or 1
    whole = [w // shared for w in whole]
    if sum(w * int(r) for w, r in zip(whole, np.bincount(which), strict=True)) > MOST_ERROR_UNITS:
        raise TooManyDigitsError(
            "TOO_MANY_DIGITS",
            "The weights of rows and classes have so many digits that errors cannot be counted "
            "exactly; round them to two or three digits.",
            "class_weight",
        )
    return np.array(whole, np.int64)[which], Fraction(shared, denominator)


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


def error_numbers(instance: Instance, budget: int) -> tuple[np.ndarray, np.ndarray]:
    """Sums of row weights within a budget, and their numbers by value."""
    most = min(max(budget, 0) // instance.unit, instance.total)
    reached = np.zeros(most + 1, bool)
    reached[0] = True
    weights = instance.table.weight
    for weight in np.unique(weights[weights > 0]):
        if reached.all():
            break
        padded = np.zeros(-(-(most + 1) // weight) * weight, bool)
        padded[: most + 1] = reached
        reached = np.logical_or.accumulate(padded.reshape(-1, weight), axis=0).ravel()[: most + 1]
    values = np.flatnonzero(reached).astype(np.int64)
    number = np.full(most + 1, -1, np.int64)
    number[values] = np.arange(len(values))
    return values, number
