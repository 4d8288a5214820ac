"""Least costs of subsets where columns have few thresholds: rows as bits, subsets kept in a table.

A subset is a mask of machine words, in which the rows of a block (a class and a weight) stand
together, so that weights are counted by words.  Depth two is solved by pairs of thresholds
(`octcore.search.univariate.pairs`), what is deeper by looking at every split, within these bounds:

- no tree avoids the errors of rows that are outvoted among their equals; a leaf is best where what
  it has beyond them costs no more than a second leaf,
- a tree deeper than one has at least three leaves, one deeper than two at least four,
- a subset that was met before has the cost, or the bound, that was found,
- rows that a side lacks of another one lower its cost by their weight at most,
- a side is solved only as far as the budget beside the other side reaches.
"""

from typing import NamedTuple

import numpy as np

from octcore.numerics.kernels import inner, kernel
from octcore.search.univariate.intrinsics import shared_bits
from octcore.search.univariate.lane_rows import ascending
from octcore.search.univariate.pairs import Pairs, Rows, make_pairs, pair_scores

FAR = 1 << 60  # cost of what cannot be
MOST_BYTES = 200_000_000  # size of the table of known subsets, which is emptied beyond it
FIRST_SIZE = 1 << 10  # places of the table at first
NEW = -2  # place of a subset whose splits were not looked at yet


class Bits(NamedTuple):
    """The rows of an instance as words, block after block, and what trees of them cost."""

    rows: Rows  # see `octcore.search.univariate.pairs`
    pairs: Pairs
    across: np.ndarray  # (n_thresholds, n_words) rows on the right of every threshold
    row: np.ndarray  # (n_bits,) the row of every bit
    subset: np.ndarray  # (n_rows,) room for rows
    outvoted: np.ndarray  # (n_words,) rows that are outvoted among rows with equal values
    first: np.ndarray  # (n_blocks + 1,) first word of every block
    place: np.ndarray  # (n_thresholds,) column of the table
    unit: int  # scaled cost of an error
    price: int  # scaled cost of a leaf
    stop: np.ndarray  # (1,) uint8, set to end a search, whose answer then means nothing


class Known(NamedTuple):
    """Subsets with what is known of their least costs, by open addressing."""

    mask: np.ndarray  # (capacity, n_words)
    depth: np.ndarray  # (capacity,) largest depth of the trees, 0 for a free place
    cost: np.ndarray  # (capacity,) the least cost, exact up to the cutoff, else a lower bound
    cutoff: np.ndarray  # (capacity,)
    size: np.ndarray  # (1,) places that are taken
    most: int  # largest capacity; a table that would outgrow it is emptied


class Stack(NamedTuple):
    """The subsets between a subset and the one that is looked at, by level."""

    mask: np.ndarray  # (levels, n_words)
    split: np.ndarray  # (levels,) place in the order, `NEW` for none yet
    side: np.ndarray  # (levels,) side that is being solved, and 2 more if it is the second one
    first: np.ndarray  # (levels,) cost of the side that was solved first
    best: np.ndarray  # (levels,) least cost of the trees so far
    room: np.ndarray  # (levels,) up to which cost it is asked
    order: np.ndarray  # (levels, n_thresholds) thresholds, those that promise most first
    low: np.ndarray  # (levels, 2, n_thresholds) bounds on the costs of the sides
    shallow: np.ndarray  # (levels, 2, n_thresholds) costs of the sides of trees of depth one


@inner()
def _shared(bits, one, other, q):
    """Weight of the rows of a block that two masks share."""
    n, first, last = 0, bits.first[q], bits.first[q + 1]
    one, other = one[first:last], other[first:last]  # no place is negative: they go in vectors
    for w in range(last - first):
        n += shared_bits(one[w], other[w])
    return bits.rows.block_scale[q] * n


@inner()
def _weight(bits, one, other):
    """Weight of the rows that two masks share."""
    weight = 0
    for q in range(len(bits.rows.block_channel)):
        if bits.rows.block_channel[q] < bits.rows.shape[0]:
            weight += _shared(bits, one, other, q)
    return weight


@inner()
def count_shared(bits, one, other, weight):
    """Weight by channel of the rows that two masks share."""
    weight[:] = 0
    for q in range(len(bits.rows.block_channel)):
        weight[bits.rows.block_channel[q]] += _shared(bits, one, other, q)


@inner()
def _leaf(bits, mask):
    """Cost of a leaf, and what no tree avoids of it."""
    totals, weight, most = bits.pairs.totals, 0, 0
    count_shared(bits, mask, mask, totals)
    for c in range(bits.rows.shape[0]):
        weight += totals[c]
        most = max(most, totals[c])
    minor = _weight(bits, mask, bits.outvoted)
    return bits.unit * (weight - most) + bits.price, bits.unit * minor + bits.price


@inner()
def _score(bits, mask):
    """Score the pairs of thresholds of a subset, whose rows are packed anew."""
    n, one = 0, np.uint64(1)
    for w in range(len(mask)):
        rest = np.uint64(mask[w])
        while rest:
            lowest = rest & (~rest + one)
            place = shared_bits(lowest - one, lowest - one)
            bits.subset[n] = bits.row[w * mask.itemsize * 8 + place]
            rest ^= lowest
            n += 1
    pair_scores(bits.rows, bits.subset, n, bits.pairs)


@inner()
def _stump_costs(bits, cost):
    """Least costs of trees of depth one on both sides of every threshold, and the least sum."""
    pairs, weight, least = bits.pairs, 0, FAR
    for c in range(bits.rows.shape[0]):
        weight += pairs.totals[c]
    for f in range(len(pairs.ones)):
        parts = pairs.leaf[0, f] >= 0 and pairs.leaf[1, f] >= 0
        for s in range(2):
            size = pairs.ones[f] if s else weight - pairs.ones[f]
            leaf, stump = pairs.leaf[s, f], pairs.stump[s, f]  # `cost` may be `pairs.stump`
            cost[s, f] = bits.unit * (size - leaf) + bits.price if parts else FAR
            if parts and stump >= 0:
                cost[s, f] = min(cost[s, f], bits.unit * (size - stump) + 2 * bits.price)
        least = min(least, cost[0, f] + cost[1, f])
    return least


@inner()
def _find(known, mask, depth):
    """Place of a subset; of one that is not known, -1 - its free place."""
    code = np.uint64(depth)
    for w in range(len(mask)):
        code = (code ^ np.uint64(mask[w])) * np.uint64(0x9E3779B97F4A7C15)
    # A bit of a word moves only those above it: twice, and the highest comes to the lowest.
    for _ in range(2):
        code = (code ^ (code >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    code ^= code >> np.uint64(32)
    i = np.int64(code & np.uint64(len(known.depth) - 1))
    while known.depth[i]:
        equal = known.depth[i] == depth
        for w in range(len(mask)):
            equal = equal and known.mask[i, w] == mask[w]
        if equal:
            return i
        i = (i + 1) & (len(known.depth) - 1)
    return -1 - i


@inner()
def _keep(known, mask, depth, cost, cutoff):
    i = _find(known, mask, depth)
    if i < 0:
        i = -1 - i
        known.size[0] += 1
    for w in range(len(mask)):
        known.mask[i, w] = mask[w]
    known.depth[i], known.cost[i], known.cutoff[i] = depth, cost, cutoff


@inner()
def _is_full(known):
    return 2 * known.size[0] >= len(known.depth)


@inner(owns=True)
def _enlarged(known, mask):
    """A table twice as large; one that would be too large is emptied."""
    capacity = 2 * len(known.depth)
    if capacity > known.most:
        known.depth[:] = 0
        known.size[0] = 0
        return known
    other = Known(
        np.empty((capacity, len(mask)), known.mask.dtype), np.zeros(capacity, np.int64),
        np.empty(capacity, np.int64), np.empty(capacity, np.int64), np.zeros(1, np.int64),
        known.most,
    )  # fmt: skip
    for k in range(len(known.depth)):
        if known.depth[k]:
            _keep(other, known.mask[k], known.depth[k], known.cost[k], known.cutoff[k])
    return other


@inner()
def part_rows(bits, mask, f, side, child):
    """Write the rows of a subset on one side of a threshold."""
    right = bits.across[f]
    for w in range(len(mask)):
        child[w] = mask[w] & (right[w] if side else ~right[w])


@inner()
def _larger_side(bits, mask, f):
    """Which side of a threshold has more rows; -1 where one of them has too few for a leaf."""
    right, rows, n_classes = bits.across[f], bits.rows, bits.rows.shape[0]
    n_all, n_right = 0, 0
    first = n_classes if len(bits.pairs.totals) > n_classes else 0
    for q in range(len(rows.block_channel)):
        if rows.block_channel[q] >= first:
            n_all += _shared(bits, mask, mask, q)
            n_right += _shared(bits, mask, right, q)
    if min(n_right, n_all - n_right) < max(1, rows.shape[1]):
        return -1
    return 1 if 2 * n_right > n_all else 0


@inner(owns=True)
def _begin(bits, stack, level):
    """Start to look at the splits of a scored subset: those that promise most come first."""
    n, cost = len(bits.across), bits.pairs.stump
    both = np.empty(n, np.int64)
    for f in range(n):
        both[f] = cost[0, f] + cost[1, f]
    order = ascending(both)
    for k in range(n):
        stack.order[level, k] = order[k]
        for s in range(2):
            stack.low[level, s, k], stack.shallow[level, s, k] = bits.price, cost[s, k]
    stack.split[level] = stack.side[level] = -1


@inner()
def _bound_side(bits, mask, depth, shallow, low, there, f, side, known):
    """Bound the cost of a side, whose trees have the depth, by what is known of it.

    `shallow`, `low`: (2, n_thresholds) least costs of depth one, and bounds.
    `there`: room for the rows of the side.
    """
    part_rows(bits, mask, f, side, there)
    i = _find(known, there, depth)
    bound = max(low[side, f], known.cost[i] if i >= 0 else 0)
    if i >= 0 and known.cost[i] <= known.cutoff[i]:
        return bound
    deep = bits.unit * _weight(bits, there, bits.outvoted) + 3 * bits.price
    return max(bound, min(shallow[side, f], deep))


@inner()
def _spread(bits, stack, level, cost, is_scored):
    """Bound the sides to come by the one that was solved: what they lack of it costs its weight.

    `is_scored`: whether it was scored last.
    """
    if bits.rows.shape[1] > 1:  # a leaf may have too few rows where some are gone
        return
    low, solved = stack.low[level], stack.mask[level + 1]
    whole = _weight(bits, solved, solved)
    for k in range(stack.split[level] + 1, len(bits.across)):
        f = stack.order[level, k]
        if cost > min(low[0, f], low[1, f]):
            ones = bits.pairs.ones[f] if is_scored else _weight(bits, solved, bits.across[f])
            low[0, f] = max(low[0, f], cost - bits.unit * ones)
            low[1, f] = max(low[1, f], cost - bits.unit * (whole - ones))


@inner(owns=True)
def _least(bits, stack, depth, room, known):
    """Least cost of the subset at the bottom of the stack, exact if it is at most the room.

    Returns it, else a lower bound, and the table of what is known.
    """
    level, cost = 0, 0
    stack.split[0], stack.room[0] = NEW, room
    while level >= 0 and bits.stop[0] == 0:
        cost, level = _search(bits, stack, depth, known, level, cost)
        if _is_full(known):
            known = _enlarged(known, stack.mask[0])
    return cost, known


@inner()
def _search(bits, stack, depth, known, level, cost):
    """Search until the cost at the bottom is known, or the table is full.

    `level`, `cost`: where the search stands, and the cost of what it solved last.
    Returns the cost and the level, -1 at the end.
    """
    n, is_scored, is_new = len(bits.across), False, False
    while level >= 0 and bits.stop[0] == 0 and not _is_full(known):
        mask, room, left = stack.mask[level], stack.room[level], depth - level
        k, low = stack.split[level], stack.low[level]
        if k == NEW:
            i = _find(known, mask, left)
            if i >= 0 and (known.cost[i] > room or known.cost[i] <= known.cutoff[i]):
                cost, is_new = known.cost[i], False
                level -= 1
                continue
            leaf, minor = _leaf(bits, mask)
            cost = min(leaf, minor + bits.price)
            is_new = False
            # Two leaves cost no less than `minor + price`: a leaf is best, or nothing is within.
            if leaf == cost or cost > room:
                level -= 1
                continue
            _score(bits, mask)
            is_scored = is_new = True
            stack.best[level] = min(leaf, _stump_costs(bits, bits.pairs.stump))
            # A tree deeper than two has at least four leaves; where they cost as much as the best
            # one of depth two, or more than the room, no split is looked at.
            cost = stack.best[level]
            if left > 2:
                cost = min(cost, minor + 3 * bits.price)
            if left == 2 or cost == stack.best[level] or cost > room:
                _keep(known, mask, left, cost, FAR if cost == stack.best[level] else room)
                level -= 1
                continue
            _begin(bits, stack, level)
            k = -1
        else:
            f, side = stack.order[level, k], stack.side[level] & 1
            # Costs are whole: a better tree costs one less at least.
            limit = min(room, stack.best[level] - 1)
            low[side, f] = max(low[side, f], cost)
            if is_new:
                _spread(bits, stack, level, cost, is_scored)
            if stack.side[level] > 1:
                stack.best[level] = min(stack.best[level], stack.first[level] + cost)
            elif cost + low[1 - side, f] <= limit:
                stack.side[level], stack.first[level] = 3 - side, cost
                part_rows(bits, mask, f, 1 - side, stack.mask[level + 1])
                stack.split[level + 1], stack.room[level + 1] = NEW, limit - cost
                level += 1
                continue
        limit, side = min(room, stack.best[level] - 1), -1
        # A split has two leaves; beyond the limit the least costs of its sides close it.
        while side < 0 and k + 1 < n and limit >= 2 * bits.price:
            k += 1
            f = stack.order[level, k]
            if low[0, f] + low[1, f] <= limit:
                side = _larger_side(bits, mask, f)
            if side >= 0:
                shallow, there = stack.shallow[level], stack.mask[level + 1]
                for s in range(2):
                    low[s, f] = _bound_side(bits, mask, left - 1, shallow, low, there, f, s, known)
                side = side if low[0, f] + low[1, f] <= limit else -1
        stack.split[level], stack.side[level] = k, side
        if side >= 0:
            f = stack.order[level, k]
            part_rows(bits, mask, f, side, stack.mask[level + 1])
            stack.split[level + 1], stack.room[level + 1] = NEW, limit - low[1 - side, f]
            level += 1
            continue
        # All splits cost more than the limit: the best tree is the least one, or none is within.
        cost = stack.best[level] if stack.best[level] <= room else room + 1
        is_scored, is_new = False, True
        _keep(known, mask, left, cost, room)
        level -= 1
    return cost, level


@inner()
def shallow_costs(bits, mask, usable, cost, many, larger):
    """Least costs of trees of depth one on both sides of every usable threshold.

    `cost`: (2, n_thresholds), becomes `FAR` for what parts nothing and for what parts the subset as
        the threshold before it in its column; the largest number there is elsewhere.
    `many`: (n_thresholds,) becomes how many do that, the threshold itself included.
    `larger`: (n_thresholds,) becomes the side with more rows, -1 where a side has too few.
    """
    shallow, last = bits.pairs.stump, -1
    _score(bits, mask)
    _stump_costs(bits, shallow)
    for f in range(len(usable)):
        many[f], cost[0, f], cost[1, f] = 0, FAR, FAR
        larger[f] = _larger_side(bits, mask, f) if usable[f] else -1
        if larger[f] < 0:
            continue
        alike = last >= 0 and bits.place[last] == bits.place[f]
        for w in range(len(mask) if alike else 0):
            alike = alike and mask[w] & bits.across[f, w] == mask[w] & bits.across[last, w]
        last = last if alike else f
        many[last] += 1
        if not alike:
            cost[0, f], cost[1, f] = shallow[0, f], shallow[1, f]


@inner(owns=True)
def _solve_sides(bits, mask, depth, budget, margin, cost, many, larger, stack, known):
    """Solve the sides of the thresholds of a subset, whose shallow costs are known."""
    both, low = cost[0] + cost[1], np.zeros_like(cost)
    order = ascending(both)
    budget = min(budget, both[order[0]] + margin)  # a tree of depth two is one of those asked for
    for k in range(len(order)):
        f = order[k]
        if many[f] == 0:
            continue
        for s in range(2):
            low[s, f] = _bound_side(bits, mask, depth - 1, cost, low, stack.mask[0], f, s, known)
        for turn in range(2):
            s = larger[f] if turn == 0 else 1 - larger[f]
            room = budget - low[1 - s, f]
            if low[s, f] <= room:  # else both together cost more than the budget already
                part_rows(bits, mask, f, s, stack.mask[0])
                low[s, f], known = _least(bits, stack, depth - 1, room, known)
        cost[0, f], cost[1, f] = low[0, f], low[1, f]
        budget = min(budget, low[0, f] + low[1, f] + margin)
    return known


@kernel()
def side_costs(bits, masks, depth, budgets, margin, usable, stack, known):
    """Least costs on both sides of every usable threshold, exact where their sum may be within.

    `masks`: (n_subsets, n_words).
    `depth`: two or more, of the tree; the sides have one less.
    `budgets`, `margin`: (n_subsets,) largest scaled costs, and how far beyond the best split: what
        costs more may be a lower bound.
    `usable`: (n_thresholds,) uint8; empty where only the least cost of the subset is asked, which
        then is the only cost: one kernel, as whatever contains the search compiles for long.
    Returns the costs, shape (n_subsets, 2, n_thresholds), and how many a threshold stands for; see
    `shallow_costs`.  And what is known now.
    """
    n = len(usable)
    cost = np.full((len(masks), 2, max(1, n)), FAR)
    many, larger = np.zeros((len(masks), n), np.int64), np.zeros(n, np.int64)
    for v in range(len(masks)):
        if n == 0:
            stack.mask[0] = masks[v]
            cost[v, 0, 0], known = _least(bits, stack, depth, budgets[v], known)
            continue
        shallow_costs(bits, masks[v], usable, cost[v], many[v], larger)
        if depth > 2:
            known = _solve_sides(
                bits, masks[v], depth, budgets[v], margin, cost[v], many[v], larger, stack, known
            )
    return cost, many, known


class BitSubsets:
    """Least costs of subsets of 0/1 rows, which are kept from one question to the next.

    A subset has all or none of the rows that are equal in all columns: who is outvoted is known.

    `place`: (n_thresholds,) column that a threshold belongs to; those of a column stand together,
        ascending.
    `unit`, `price`: whole-number cost of an error of weight one and of a leaf.
    `depth`: largest depth of a tree, or how many thresholds there are, as none parts a path twice.
    `stop`: (1,) uint8, set to end a search, whose answer then means nothing.
    """

    def __init__(
        self, rows: Rows, place: np.ndarray, unit: int, price: int, depth: int, stop: np.ndarray
    ) -> None:
        width = rows.block_scale.itemsize * 8
        sizes = np.bincount(rows.block, minlength=len(rows.block_channel))
        first = np.concatenate([[0], np.cumsum(-(-sizes // width))])
        begin = np.concatenate([[0], np.cumsum(sizes)])[:-1]
        self._bit = np.arange(len(rows.block)) + (width * first[:-1] - begin)[rows.block]
        self._n_bits, self._type = width * int(first[-1]), np.dtype(f"u{width // 8}")
        across = self.words(rows.columns > 0)
        row = np.zeros(self._n_bits, np.int64)
        row[self._bit] = np.arange(len(self._bit))
        self.bits = Bits(
            rows, make_pairs(rows), across, row, np.empty(len(self._bit), np.int64),
            self.words(rows.minority > 0), first, place, unit, price, stop,
        )  # fmt: skip
        n_words, levels, n = across.shape[1], depth + 2, len(place)
        mask, order = np.zeros((levels, n_words), self._type), np.zeros((levels, n), np.int64)
        split, side, first_cost, best, room = np.zeros((5, levels), np.int64)
        low, shallow = np.zeros((2, levels, 2, n), np.int64)
        self._stack = Stack(mask, split, side, first_cost, best, room, order, low, shallow)
        self.forget()

    def forget(self) -> None:
        """Forget the costs of all subsets."""
        n_words = self.bits.across.shape[1]
        each = n_words * self._type.itemsize + 3 * np.dtype(np.int64).itemsize
        mask = np.zeros((FIRST_SIZE, n_words), self._type)
        depth, cost, cutoff = np.zeros((3, FIRST_SIZE), np.int64)
        self._known = Known(mask, depth, cost, cutoff, np.zeros(1, np.int64), MOST_BYTES // each)

    @property
    def stored_bytes(self) -> int:
        """Size of what is kept."""
        return sum(column.nbytes for column in self._known[:4])

    def words(self, marked: np.ndarray) -> np.ndarray:
        """Words of marked rows, ``(..., n_rows)`` bool."""
        bits = np.zeros((*marked.shape[:-1], self._n_bits), bool)
        bits[..., self._bit] = marked
        return np.packbits(bits, axis=-1, bitorder="little").view(self._type)

    def side_costs(
        self, masks: np.ndarray, depth: int, budgets: np.ndarray, margin: int, usable: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Least costs on both sides of every threshold, and for how many it stands; see the kernel.

        `masks`: words of the subsets.
        """
        cost, many, self._known = side_costs(
            self.bits, masks, depth, budgets, margin, usable, self._stack, self._known
        )
        return cost, many

    def least(self, marked: np.ndarray, depth: int, room: int) -> int:
        """Least cost of a tree of marked rows; above the room, a lower bound that is above it."""
        asked = self.words(marked[None]), depth, np.full(1, room)
        cost, _ = self.side_costs(*asked, FAR, np.zeros(0, np.uint8))
        return int(cost[0, 0, 0])  # of numpy's, comparisons with others are rounded

    def work(self, depth: int) -> int:
        """Words that are looked at for trees of a depth where nothing is pruned."""
        return self.bits.across.size * len(self.bits.place) ** (depth - 1)
