"""Rows of a claim and how columns part them: sums left of every cut, best splits of many subsets.

A *cut* parts rows at a threshold of one column.  Columns of few values are kept as one 0/1 column
per cut, whose sums are matrix products; those of many values are passed over in ascending order,
for many subsets (*lanes*) at once, whose sums stand in fields of one machine word where they fit.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from octcore.verification.base import Guard
from octcore.verification.value import equal_rows

Array = np.ndarray
FEW_CUTS = 12  # cuts of a column up to which a product is quicker than a pass
EXACT_IN_SINGLE = 2**24  # whole numbers up to here are exact in single precision
FIELDS = ((8, np.uint8, 2**7), (4, np.uint16, 2**15), (2, np.uint32, 2**31))
"""Sums in one word: how many, their type, and what the whole may weigh at most."""
BLOCK_BYTES = 1_000_000  # of a part of the passes, so that it stays near the processor
MANY_BYTES, CUT_NUMBERS = 30.0, 20
"""Bytes of a cell of a column of many values, and numbers that are kept of a cut, at most."""
MOST_PAIRED = 3
"""Classes up to which sums for pairs, of which passes fold the ends, are quicker than for each."""
FOLDED = 16  # entries below which numpy's own reduction is quicker than halving


@dataclass(frozen=True, eq=False)
class Cuts:
    """All ways to part some rows by one column, in chains: left of one is left of the next."""

    column: Array
    code: Array
    """`column`, `code`: encoded column, and number of the largest value on the left among all its
    values in the whole table; shape ``(n_cuts,)``."""
    chain: Array
    """Number of the chain, ascending: a column of many values, or 0/1 columns one inside the other,
    as thresholds of one raw feature give them."""
    left: Array  # weight on the left by class, shape ``(n_cuts, n_classes)``
    rows: Array  # original rows on the left, shape ``(n_cuts,)``
    conflicts: Array  # weight on the left that errs in every tree, shape ``(n_cuts,)``

    def __len__(self) -> int:
        return len(self.column)


@dataclass(frozen=True, eq=False)
class Sheet:
    """Some of the distinct rows of a table."""

    number: Array  # of the rows in the whole table, ascending, shape ``(n_rows,)``
    weights: Array  # weight by class, shape ``(n_rows, n_classes)``
    counts: Array  # original rows, whatever their weight, shape ``(n_rows,)``
    column: Array  # encoded column of many values, shape ``(n_many,)``
    codes: Array  # number of the value among all of its column, shape ``(n_many, n_rows)``
    order: Array  # rows by ascending value, shape ``(n_many, n_rows)``
    bits: Array  # whether rows are right of the cuts of other columns, shape ``(n_rows, n_bits)``
    bit_column: Array
    bit_code: Array
    bit_chain: Array
    """`bit_column`, `bit_code`, `bit_chain`: of these cuts as in `Cuts`, shape ``(n_bits,)``."""

    @cached_property
    def by_class(self) -> Array:
        """Weight of all rows by class."""
        return self.weights.sum(axis=0)

    @cached_property
    def of_conflicts(self) -> Array:
        """Weight of every row that errs in any tree."""
        return self.weights.sum(axis=1) - self.weights.max(axis=1)

    @property
    def key(self) -> bytes:
        """Tells subsets of one table apart."""
        return np.packbits(np.bincount(self.number).astype(bool)).tobytes()

    @cached_property
    def ends(self) -> Array:
        """Whether the value changes after a place of `order`."""
        ordered = np.take_along_axis(self.codes, self.order, axis=1)
        ends = np.zeros(ordered.shape, dtype=bool)
        np.not_equal(ordered[:, 1:], ordered[:, :-1], out=ends[:, :-1])
        return ends

    @cached_property
    def cuts(self) -> Cuts:
        """All cuts, those of columns of few values first."""
        each = np.column_stack([self.weights, self.counts, self.of_conflicts])
        place, at = np.nonzero(self.ends)
        sums = self.left_of(np.ones((1, len(each)), bool), each)[0]
        codes = np.concatenate([self.bit_code, self.codes[place, self.order[place, at]]])
        chain = np.concatenate([self.bit_chain, self.bit_chain.max(initial=-1) + 1 + place])
        columns = np.concatenate([self.bit_column, self.column[place]])
        return Cuts(columns, codes, chain, sums[:, :-2], sums[:, -2], sums[:, -1])

    @np.errstate(invalid="ignore")  # of finite numbers, BLAS may look at what lies beyond them
    def left_of(self, lanes: Array, each: Array) -> Array:
        """What subsets of the rows add up left of every cut, ``(n_lanes, n_cuts, n_sums)``.

        `each`: what the rows have, shape ``(n_rows, n_sums)``.
        """
        kind = np.float32 if _whole_sum(each) < EXACT_IN_SINGLE else np.float64
        own = lanes * each.T[:, None]
        left = own.sum(axis=2)[:, :, None] - (own.astype(kind) @ self.bits).astype(float)
        passed = np.cumsum(own[:, :, self.order], axis=3)[:, :, self.ends]
        return np.concatenate([left, passed], axis=2).transpose(1, 2, 0)

    def sides(self, chosen: Array) -> Array:
        """Which rows are left of some cuts, shape ``(n_chosen, n_rows)``."""
        n_bits = self.bits.shape[1]
        left = np.empty((len(chosen), len(self.number)), dtype=bool)
        is_bit = chosen < n_bits
        left[is_bit] = self.bits[:, chosen[is_bit]].T == 0
        many = chosen[~is_bit]
        place = np.searchsorted(self.column, self.cuts.column[many])
        left[~is_bit] = self.codes[place] <= self.cuts.code[many][:, None]
        return left

    def at(self, kept: Array) -> "Sheet":
        """Some of the rows, ``kept`` a mask; columns that do not part them are left out."""
        number = np.cumsum(kept) - 1
        n_rows = int(number[-1]) + 1
        codes = self.codes[:, kept]
        order = number[self.order[kept[self.order]]].reshape(len(codes), n_rows)
        every = np.arange(len(codes))
        varies = codes[every, order[:, 0]] != codes[every, order[:, -1]]
        codes, order = codes[varies], order[varies]
        bits = self.bits[kept]
        size = bits.sum(axis=0)
        parts = (size > 0) & (size < n_rows)
        # Two cuts of one chain that part these rows alike are one.
        parts[1:] &= ~((self.bit_chain[1:] == self.bit_chain[:-1]) & (size[1:] == size[:-1]))
        return Sheet(
            self.number[kept], self.weights[kept], self.counts[kept], self.column[varies], codes,
            order, bits[:, parts], self.bit_column[parts], self.bit_code[parts],
            self.bit_chain[parts],
        )  # fmt: skip

    def on(self, columns: Array) -> "Sheet":
        """The same rows on some columns."""
        many, few = np.isin(self.column, columns), np.isin(self.bit_column, columns)
        return replace(
            self, column=self.column[many], codes=self.codes[many], order=self.order[many],
            bits=self.bits[:, few], bit_column=self.bit_column[few], bit_code=self.bit_code[few],
            bit_chain=self.bit_chain[few],
        )  # fmt: skip

    def best_splits(self, lanes: Array, least: int) -> Array:
        """Least errors of a single split of subsets of the rows; infinite where there is none.

        `lanes`: which rows belong to each subset, shape ``(n_lanes, n_rows)``, bool.
        `least`: rows on either side.  With 1 a side may also be empty.
        """
        n_lanes, weights = len(lanes), self.weights.T
        pairs = list(combinations(weights, 2))
        if pairs and least <= 1 and len(weights) <= (MOST_PAIRED if len(self.column) else 2):
            each, both = [a - b for a, b in pairs], [a + b for a, b in pairs]
        else:
            each, both = [*weights, *([self.counts] if least > 1 else [])], []
        of_lanes = lanes.astype(float)
        size, *whole = (of_lanes @ own for own in (weights.sum(axis=0), *both, *each))
        correct, is_split = np.zeros(n_lanes), np.full(n_lanes, least <= 1)
        for sums in self._by_bits(lanes, each):
            right, enough = _right(sums, [w[:, None] for w in whole], least)
            correct = np.maximum(correct, right.max(axis=1))
            is_split |= False if enough is None else enough.any(axis=1)
        for sums in self._by_passes(lanes, each, bool(both)):
            shape = len(sums[0]), 1, sums[0].shape[2]
            filled = np.zeros((len(whole), shape[0] * shape[2]), sums[0].dtype)
            filled[:, :n_lanes] = whole
            right, enough = _right(sums, list(filled.reshape(-1, *shape)), least)
            correct = np.maximum(correct, _folded(np.maximum, right).ravel()[:n_lanes])
            is_split |= False if enough is None else enough.any(axis=1).ravel()[:n_lanes]
        return np.where(is_split, size - correct, np.inf)

    def _by_bits(self, lanes: Array, each: list[Array]) -> Iterator[list[Array]]:
        """Yield sums right of every cut of few values, shape ``(n_lanes, n_bits)``."""
        if self.bits.shape[1]:
            kind = self.bits.dtype
            yield [((lanes * own.astype(kind)) @ self.bits).astype(float) for own in each]

    def _by_passes(self, lanes: Array, each: list[Array], of_pairs: bool) -> Iterator[list[Array]]:
        """Yield sums left of cuts of many values, ``(n_words, n_cuts, n_fields)``, in parts.

        Of differences of two classes only the largest and the smallest sum are of interest.
        """
        n_fields, kind = self._fields
        n_words, n_rows = -(-len(lanes) // n_fields), len(self.number)
        filled = np.zeros((n_words * n_fields, n_rows), dtype=bool)
        filled[: len(lanes)] = lanes
        # The fields of a word stand side by side, so that what lanes add up is one product.
        own = np.array(each).astype(np.int64 if n_fields > 1 else float)
        filled = filled.reshape(n_words, n_fields, n_rows).transpose(0, 2, 1)
        words = np.ascontiguousarray(filled, kind).view(own.dtype)[:, :, 0] * own[:, None]
        bias = 2 ** (8 * np.dtype(kind).itemsize - 1) if n_fields > 1 and of_pairs else 0
        biases = sum(bias << (64 // n_fields * i) for i in range(n_fields))
        biases = np.array(biases, np.uint64).astype(np.int64)
        step = max(1, BLOCK_BYTES // (8 * n_words * n_rows))
        for start in range(0, len(self.column), step):
            order = self.order[start : start + step]
            ends = np.flatnonzero(self.ends[start : start + step])
            if not len(ends):
                continue
            sums = []
            for lines in words:
                cells = np.take(lines, order, axis=1, mode="clip")
                cells[:, :, 0] += biases.astype(cells.dtype)
                np.cumsum(cells, axis=2, out=cells)
                cells = np.take(cells.reshape(n_words, -1), ends, axis=1, mode="clip")
                found = cells.view(kind).reshape(n_words, len(ends), n_fields)
                if of_pairs:
                    both = [_folded(op, found).astype(float) for op in (np.maximum, np.minimum)]
                    found = np.stack(both, axis=1) - bias
                sums.append(found)
            yield sums

    @cached_property
    def _fields(self) -> tuple[int, type]:
        """How many sums one word holds, and their type."""
        total = max(_whole_sum(self.weights), self.counts.sum())
        fitting = [(n_fields, kind) for n_fields, kind, most in FIELDS if total < most]
        return fitting[0] if fitting else (1, np.float64)


def _whole_sum(numbers: Array) -> float:
    """Sum of whole numbers, infinite where some are not whole."""
    return float(numbers.sum()) if (numbers == np.round(numbers)).all() else np.inf


def _right(sums: list[Array], whole: list[Array], least: int) -> tuple[Array, Array | None]:
    """Weight that splits get right at most, and which leave enough rows on both sides.

    `whole`: sums over the whole lanes; before them, where `sums` are differences of two classes,
    those of both together: leaves of two classes are right where one has more than the other.
    """
    if len(whole) > len(sums):
        parts = zip(sums, whole[: len(sums)], whole[len(sums) :], strict=True)
        return np.maximum.reduce([(b + np.abs(2 * own - w)) / 2 for own, b, w in parts]), None
    classes = list(zip(sums, whole, strict=True))
    held, of_all = classes.pop() if least > 1 else (None, None)
    right = np.maximum.reduce([own for own, _ in classes])
    right = right + np.maximum.reduce([total - own for own, total in classes])
    if held is None:
        return right, None
    enough = (held >= least) & (of_all >= held + least)
    return np.where(enough, right, 0), enough


def _folded(op: np.ufunc, values: Array) -> Array:
    """Reduce ``(n_words, n, n_fields)`` over its second axis, by halves."""
    n_words, n, n_fields = values.shape
    flat = values.reshape(n_words, -1)
    while n > FOLDED:
        half = (n + 1) // 2
        flat = op(flat[:, : half * n_fields], flat[:, (n - half) * n_fields : n * n_fields])
        n = half
    return op.reduce(flat.reshape(n_words, n, n_fields), axis=1)


def make_sheet(
    X: Array, gains: Array, columns: Array, group: Array, guard: Guard
) -> tuple[Sheet, Array]:
    """Merge equal rows, say which is which, and number the values of some columns.

    `gains`: weight of the rows by class, or by answer what it saves, ``(n_samples, n_classes)``.
    `columns`, `group`: columns that may be tested, ascending, and the raw feature of every column.
    """
    _, first, merged = np.unique(
        equal_rows(X[:, columns], guard), return_index=True, return_inverse=True
    )
    n_rows = len(first)
    by_class, counts = np.zeros((n_rows, gains.shape[1])), np.bincount(merged, minlength=n_rows)
    np.add.at(by_class, merged, gains)
    is_exact = _whole_sum(np.column_stack([by_class, counts])) < EXACT_IN_SINGLE
    kind = np.float32 if is_exact else np.float64
    many, codes, order, bits, bit_column, bit_code = [], [], [], [], [], []
    for j in columns:
        guard()
        values, code = np.unique(X[first, j], return_inverse=True)
        if len(values) - 1 > FEW_CUTS:
            many.append(j)
            codes.append(code.astype(np.int32))
            order.append(np.argsort(code, kind="stable"))
        else:
            bit_column += [j] * (len(values) - 1)
            bit_code += range(len(values) - 1)
            bits += [(code > at).astype(kind) for at in range(len(values) - 1)]
    begins = np.ones(len(bits), bool)
    for i in range(1, len(bits)):
        is_nested = (bits[i] <= bits[i - 1]).all()
        begins[i] = not is_nested or group[bit_column[i]] != group[bit_column[i - 1]]
    sheet = Sheet(
        number=np.arange(n_rows),
        weights=by_class,
        counts=counts.astype(float),
        column=np.array(many, int),
        codes=np.array(codes, np.int32).reshape(len(many), n_rows),
        order=np.array(order, int).reshape(len(many), n_rows),
        bits=np.ascontiguousarray(np.array(bits, kind).reshape(len(bits), n_rows).T),
        bit_column=np.array(bit_column, int),
        bit_code=np.array(bit_code, int),
        bit_chain=np.cumsum(begins),
    )
    return sheet, merged


def needed_bytes(X: Array, columns: Array, n_classes: int, guard: Guard) -> float:
    """Bytes that a sheet and the work on it take, from counts alone."""
    cells, cuts = 0.0, 0
    for j in columns:
        guard()
        n_cuts = len(np.unique(X[:, j])) - 1
        cells += len(X) * (MANY_BYTES if n_cuts > FEW_CUTS else 8.0 * n_cuts)
        cuts += n_cuts
    return 2 * cells + cuts * 8.0 * (n_classes + CUT_NUMBERS) + 8 * BLOCK_BYTES
