"""One pass over a sorted column for many root thresholds at once, in vector registers.

A pass answers: if the rows are parted at a threshold of the root's column, how much weight does the
best single split on *this* column classify on either side?  Every lane of a vector stands for one
root threshold, of whichever column, so a pass costs little more than one threshold alone; which
lanes have a row on the left is a mask that the row keeps.  The vectors are written out
for LLVM, which keeps them in registers; any machine legalises them to what it has.

A sorted column holds ``row << 1 | last``, where ``last`` says that the value changes after the row:
only there a split is possible.  Weights, ranks and counts share one integer type; a vector
has sixteen lanes, as a mask has bits, or eight of 64 bits.

Two classes: with signed weights (class 0 positive) the running sum d of a side says all: the most
weight that a split classifies is ``max(N1 + max d, N0 - min d)``, N0 and N1 being the side's class
weights.  These weights stand in the order of the column: to look one up by its row would wait for
memory where the rows are too many for a cache.  More classes: the largest class weight before and
after every position; a pass forward stores the first, a pass back adds the second.

Where rows are counted, a split is admitted only if both of its sides have enough of them.
"""

from typing import Any

from numba import types

from octcore.numerics.kernels import part
from octcore.search.univariate.intrinsics import INDEX, MASK, ROW, Emitter, fixed, intrinsic


class _Leaves:
    """What lets a split leave enough rows on both of its sides, where that is asked.

    `first`: which argument has the copies of rows, or None; sizes and smallest leaf follow.
    """

    def __init__(self, e: Emitter, first: int) -> None:
        self.e, self.start = e, []
        if not isinstance(e.arguments[first][0], types.NoneType):
            self.start = [e.zero, e.zero]
            self.count = e.pointer(first, e.element)
            self.sizes = [e.load(e.pointer(first + 1, e.vector), fixed(i)) for i in range(2)]
            self.smallest = e.splat(e.b.trunc(e.scalar(first + 2), e.element))

    def passed(self, state: list[Any], masks: Any, row: Any) -> list[Any]:
        """Rows passed on the left and on both sides, with one more."""
        if not state:
            return []
        one = self.e.splat(self.e.at(self.count, row))
        left = self.e.left_part(masks, row, one)
        return [self.e.b.add(state[0], left), self.e.b.add(state[1], one)]

    def kept(self, passed: list[Any], new: list[Any], old: list[Any]) -> list[Any]:
        """New values, of either side as many, where there are rows before and behind; else old."""
        if not passed:
            return new
        b, at_least, fits = self.e.b, self.smallest, []
        for size, before in zip(self.sizes, (passed[0], b.sub(passed[1], passed[0])), strict=True):
            parts = before, b.sub(size, before)
            fits.append(b.and_(*(b.icmp_signed(">=", part, at_least) for part in parts)))
        each = len(new) // 2
        return [b.select(fits[i // each], new[i], old[i]) for i in range(len(new))]


def _two_classes(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    e = Emitter(context, builder, signature, arguments, 2)
    b, leaves = e.b, _Leaves(e, 4)
    sequence, masks = e.pointer(0, ROW), e.pointer(1, MASK)
    signed, out = e.pointer(2, e.element), e.pointer(3, e.vector)

    def body(k: Any, state: list[Any]) -> list[Any]:
        row, last = e.row(sequence, k)
        weight = e.splat(e.at(signed, k))
        left = b.add(state[0], e.left_part(masks, row, weight))
        both = b.add(state[1], weight)
        rows = leaves.passed(state[6:], masks, row)

        def update() -> list[Any]:
            right = b.sub(both, left)
            new = [
                e.least(state[2], left), e.most(state[3], left),
                e.least(state[4], right), e.most(state[5], right),
            ]  # fmt: skip
            return leaves.kept(rows, new, state[2:6])

        return [left, both, *e.only_if(last, state[2:6], update), *rows]

    extremes = [e.load(out, fixed(i)) for i in range(4)]
    start = [e.zero, e.zero, *extremes, *leaves.start]
    end = e.loop(fixed(0), b.sub(e.shape(0, 0), fixed(1)), 1, start, body)
    for i in range(4):
        e.store(end[2 + i], out, fixed(i))
    return context.get_dummy_value()


def _more_classes(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    e = Emitter(context, builder, signature, arguments, 2)
    b, leaves = e.b, _Leaves(e, 7)
    sequence, masks = e.pointer(0, ROW), e.pointer(1, MASK)
    weights, out = e.pointer(2, e.element), e.pointer(3, e.vector)
    y, counters, prefix = e.pointer(4, ROW), e.pointer(5, e.vector), e.pointer(6, e.vector)

    def step(row: Any, base: int, largest: list[Any]) -> list[Any]:
        """Add a row to the class counters of both sides; largest counters so far."""
        weight = e.splat(e.at(weights, row))
        left = e.left_part(masks, row, weight)
        at = b.add(b.mul(b.zext(e.at(y, row), INDEX), fixed(4)), fixed(base))
        new = []
        for i, more in enumerate((left, b.sub(weight, left))):
            place = b.add(at, fixed(i))
            value = b.add(e.load(counters, place), more)
            e.store(value, counters, place)
            new.append(e.most(largest[i], value))
        return new

    def forward(k: Any, state: list[Any]) -> list[Any]:
        row, _ = e.row(sequence, k)
        new = step(row, 0, state)
        for i in range(2):
            e.store(new[i], prefix, b.add(b.mul(k, fixed(2)), fixed(i)))
        return new

    def backward(k: Any, state: list[Any]) -> list[Any]:
        row, last = e.row(sequence, k)

        def update() -> list[Any]:
            new = []
            for i in range(2):
                before = e.load(prefix, b.add(b.mul(k, fixed(2)), fixed(i)))
                new.append(e.most(state[i], b.add(state[2 + i], before)))
            return leaves.kept(state[4:], new, state[:2])

        best = e.only_if(last, state[:2], update)
        return [*best, *step(row, 2, state[2:4]), *leaves.passed(state[4:], masks, row)]

    end = b.sub(e.shape(0, 0), fixed(1))
    e.loop(fixed(0), end, 1, [e.zero, e.zero], forward)
    best = [e.load(out, fixed(i)) for i in range(2)]
    final = e.loop(end, fixed(0), -1, [*best, e.zero, e.zero, *leaves.start], backward)
    for i in range(2):
        e.store(final[i], out, fixed(i))
    return context.get_dummy_value()


@intrinsic
def two_classes(typing, sequence, masks, signed, out, count, sizes, smallest):
    """Widen ``out`` (4, lanes): least and most running sum left, then right, of the threshold.

    Of splits that leave `smallest` rows, ``sizes`` (2, lanes) being those of the sides; of all
    splits where the three are None.
    """
    return types.void(sequence, masks, signed, out, count, sizes, smallest), _two_classes


@intrinsic
def more_classes(
    typing, sequence, masks, weights, out, y, counters, prefix, count, sizes, smallest
):
    """Raise ``out`` (2, lanes): most weight classified by one split left and right; as above.

    ``counters`` (classes, 4 * lanes) must be 0; ``prefix`` has room for (rows, 2, lanes).
    """
    given = sequence, masks, weights, out, y, counters, prefix, count, sizes, smallest
    return types.void(*given), _more_classes


@part()
def pass_over(sequence, y, signed, masks, rows, room, is_binary, counted, smallest):
    """One pass over a sorted column, with the signed weights of two classes in its order."""
    out, copies, sizes = room.out, rows.copies, room.sizes
    if is_binary and counted:
        two_classes(sequence, masks, signed, out, copies, sizes, smallest)
    elif is_binary:
        two_classes(sequence, masks, signed, out, None, None, None)
    else:
        weight, counters, prefix = rows.weight, room.counters, room.prefix
        for c in range(counters.shape[0]):
            for i in range(counters.shape[1]):
                counters[c, i] = 0
        if counted:
            more_classes(sequence, masks, weight, out, y, counters, prefix, copies, sizes, smallest)
        else:
            more_classes(sequence, masks, weight, out, y, counters, prefix, None, None, None)
