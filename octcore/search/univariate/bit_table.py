"""A table as 0/1 columns, one per threshold, for the kernels on bit sets.

Thresholds that part the rows alike, also with the sides swapped, are one column.
"""

from dataclasses import dataclass

import numpy as np

from octcore.search.univariate.pairs import Rows, padded
from octcore.search.univariate.table import Table, distinct_columns, usable_columns
from octcore.search.univariate.tree import PathTree, map_features

COUNTER_LIMIT = 2**28
"""Total weight below which counters have 32 bits (sums of two cells and the ban stay inside)."""


@dataclass(frozen=True, eq=False)
class BitTable:
    """Rows on 0/1 columns, and the thresholds that the columns stand for."""

    rows: Rows  # kernel data
    table: Table
    kept: np.ndarray  # (n_bits,) the threshold of every 0/1 column
    position: np.ndarray  # (n_thresholds,) the 0/1 column of every threshold

    @property
    def column(self) -> np.ndarray:
        """Column of the table of every 0/1 column."""
        return self.table.column_and_rank[0][self.kept]

    def of_columns(self, by_bit: np.ndarray) -> np.ndarray:
        """Least number over the thresholds of every column of the table."""
        return np.minimum.reduceat(by_bit[self.position], self.table.first[:-1])

    def of_table(self, tree: PathTree) -> PathTree:
        """The tree in numbers of thresholds."""
        return map_features(tree, lambda f: int(self.kept[f]))


def make_bits(table: Table, roots: np.ndarray, smallest: int) -> BitTable:
    """Make a 0/1 column of every threshold.

    `roots`: (n_columns,) bool, columns that the root may test: of equal thresholds theirs stay.
    `smallest`: leaf size that the kernels have to respect.
    """
    column, rank = table.column_and_rank
    across = (table.rank[column] > rank[:, None]).astype(np.uint8)
    position = kept = np.arange(len(column))
    if len(column) > table.n_columns:
        kept, position = distinct_columns(across, roots[column])
    t = table
    rows = make_rows(across[kept].T, t.y, t.weight, t.count, t.n_classes, smallest, t.outvoted)[1]
    return BitTable(rows, table, kept, position)


def make_rows(
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    count: np.ndarray,
    n_classes: int,
    smallest: int,
    outvoted: np.ndarray | None = None,
) -> tuple[np.ndarray, Rows]:
    """Kernel rows of some samples in the cheapest layout of blocks, and the sample of each.

    Every sample is repeated as often as it came in, or once per one-bit of its weight, so that
    scales are powers of two, or not at all.  With leaf sizes that weights do not tell a channel of
    its own counts the samples; it alone shows those of weight zero.
    `X`: (n_samples, n_features) values 0 and 1.
    `weight`, `count`: (n_samples,) whole weights, and how many rows a sample stands for.
    `outvoted`: (n_samples,) bool, see `Table`.
    """
    has_weight, copies = np.flatnonzero(weight), np.maximum(count, 1)
    index, scale = has_weight, weight[has_weight]
    if weight.max(initial=0) > 1:
        layouts = [(index, scale), _binary_planes(index, scale)]
        if (weight % copies == 0).all():
            single = np.repeat(has_weight, copies[has_weight])
            layouts.insert(0, (single, (weight // copies)[single]))
        # Words of a typical subset: an eighth of the rows, and one per block, a class and a scale.
        blocks = (len(np.unique(scale * n_classes + y[index])) for index, scale in layouts)
        sizes = [len(item[0]) / 256 + n for item, n in zip(layouts, blocks, strict=True)]
        index, scale = layouts[int(np.argmin(sizes))]
    channel = y[index].astype(np.int64)
    minority = scale * (False if outvoted is None else outvoted[index])
    if smallest > 1 and (weight != count).any():
        extra, extra_scale = _binary_planes(np.flatnonzero(count), count[count > 0])
        index, scale = np.append(index, extra), np.append(scale, extra_scale)
        channel = np.append(channel, np.full(len(extra), n_classes))
        minority = np.append(minority, np.zeros(len(extra), np.int64))
    # Within a block the rows are shuffled, so that a part of them represents the whole.
    mixed = np.empty(len(index), np.int64)
    mixed[np.random.default_rng(0).permutation(len(index))] = np.arange(len(index))
    key = channel * (int(scale.max(initial=0)) + 1) + scale
    key = key.astype(np.min_scalar_type(int(key.max(initial=0))))
    order = mixed[np.argsort(key[mixed], kind="stable")]  # short keys are counted, not compared
    index, channel, scale, minority = index[order], channel[order], scale[order], minority[order]
    begins = np.append(True, key[order][1:] != key[order][:-1])[: len(index)]
    block = np.cumsum(begins) - 1
    word = np.dtype(np.uint32 if scale.sum() < COUNTER_LIMIT else np.uint64)
    columns = np.take(X.T, index, axis=1).astype(np.uint8)
    bits = np.zeros((len(index), padded(X.shape[1], word)), np.uint8)
    bits[:, : X.shape[1]] = columns.T
    return index, Rows(
        bits=bits,
        columns=np.ascontiguousarray(columns),
        block=block.astype(np.int32),
        block_channel=channel[begins],
        block_scale=scale[begins].astype(f"i{word.itemsize}"),
        minority=minority,
        shape=np.array([n_classes, smallest], np.int64),
    )


def reduce_columns(
    X: np.ndarray, excluded: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Drop excluded, constant, duplicate and complementary columns; of equal ones the first stays.

    `X`: (n_samples, n_features) values 0 and 1.
    `excluded`: (n_features,) bool, columns that may not be used.
    Returns the index of every column that stays, ascending; and for every column the place of the
        one like it among these, -1 for a constant or excluded one.
    """
    own, cells = usable_columns(np.asarray(X, np.uint8), excluded)
    chosen, place = distinct_columns(cells, np.ones(len(own), bool))
    position = np.full(X.shape[1], -1, np.int64)
    position[own] = place
    return own[chosen], position


def _binary_planes(index: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Repeat every row once per one-bit of its weight, so that scales are powers of two."""
    bits = np.arange(int(weight.max(initial=0)).bit_length())
    bit, row = np.nonzero((weight >> bits[:, None]) & 1)
    return index[row], np.left_shift(1, bit)
