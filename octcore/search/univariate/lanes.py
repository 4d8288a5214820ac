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

The counted forms admit a split only where both of its sides have enough rows.
"""

from collections.abc import Callable
from typing import Any

from numba import types

from octcore.numerics.kernels import part
from octcore.search.univariate.intrinsics import INDEX, MASK, ROW, Emitter, fixed, intrinsic


def _two_classes(counted: bool) -> Callable[..., Any]:
    """Arguments: sequence, masks, signed weights in its order, out [, count, sizes, smallest]."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        e = Emitter(context, builder, signature, arguments, 2)
        b = e.b
        sequence = e.pointer(0, ROW)
        masks, signed = e.pointer(1, MASK), e.pointer(2, e.element)
        out = e.pointer(3, e.vector)
        extremes = [e.load(out, fixed(i)) for i in range(4)]
        start = [e.zero, e.zero, *extremes]
        sizes, smallest, count = [], None, None
        if counted:
            count = e.pointer(4, e.element)
            sizes = [e.load(e.pointer(5, e.vector), fixed(i)) for i in range(2)]
            smallest = e.splat(b.trunc(e.scalar(6), e.element))
            start += [e.zero, e.zero]

        def body(k: Any, state: list[Any]) -> list[Any]:
            row, last = e.row(sequence, k)
            weight = e.splat(e.at(signed, k))
            left = b.add(state[0], e.left_part(masks, row, weight))
            both = b.add(state[1], weight)
            rows_left, rows = [], []
            if counted:
                one = e.splat(e.at(count, row))
                rows_left = [b.add(state[6], e.left_part(masks, row, one))]
                rows = [b.add(state[7], one)]

            def update() -> list[Any]:
                right = b.sub(both, left)
                new = [
                    e.least(state[2], left), e.most(state[3], left),
                    e.least(state[4], right), e.most(state[5], right),
                ]  # fmt: skip
                if not counted:
                    return new
                sides = rows_left[0], b.sub(rows[0], rows_left[0])
                fits = [
                    b.and_(
                        b.icmp_signed(">=", side, smallest),
                        b.icmp_signed(">=", b.sub(size, side), smallest),
                    )
                    for side, size in zip(sides, sizes, strict=True)
                ]
                return [b.select(fits[i // 2], new[i], state[2 + i]) for i in range(4)]

            return [left, both, *e.only_if(last, state[2:6], update), *rows_left, *rows]

        end = e.loop(fixed(0), b.sub(e.shape(0, 0), fixed(1)), 1, start, body)
        for i in range(4):
            e.store(end[2 + i], out, fixed(i))
        return context.get_dummy_value()

    return generate


def _more_classes(counted: bool) -> Callable[..., Any]:
    """Arguments: sequence, masks, weights, out, y, counters, prefix [, as above]."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        e = Emitter(context, builder, signature, arguments, 2)
        b = e.b
        sequence = e.pointer(0, ROW)
        masks, weights = e.pointer(1, MASK), e.pointer(2, e.element)
        out, y = e.pointer(3, e.vector), e.pointer(4, ROW)
        counters, prefix = e.pointer(5, e.vector), e.pointer(6, e.vector)
        sizes, smallest, count = [], None, None
        if counted:
            count = e.pointer(7, e.element)
            sizes = [e.load(e.pointer(8, e.vector), fixed(i)) for i in range(2)]
            smallest = e.splat(b.trunc(e.scalar(9), e.element))

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
                    value = e.most(state[i], b.add(state[2 + i], before))
                    if counted:
                        after = state[4 + i]
                        fits = b.and_(
                            b.icmp_signed(">=", after, smallest),
                            b.icmp_signed(">=", b.sub(sizes[i], after), smallest),
                        )
                        value = b.select(fits, value, state[i])
                    new.append(value)
                return new

            best = e.only_if(last, state[:2], update)
            passed = []
            if counted:
                one = e.splat(e.at(count, row))
                left = e.left_part(masks, row, one)
                passed = [b.add(state[4], left), b.add(state[5], b.sub(one, left))]
            return [*best, *step(row, 2, state[2:4]), *passed]

        end = b.sub(e.shape(0, 0), fixed(1))
        e.loop(fixed(0), end, 1, [e.zero, e.zero], forward)
        best = [e.load(out, fixed(i)) for i in range(2)]
        zeros = [e.zero] * (4 if counted else 2)
        final = e.loop(end, fixed(0), -1, [*best, *zeros], backward)
        for i in range(2):
            e.store(final[i], out, fixed(i))
        return context.get_dummy_value()

    return generate


@intrinsic
def two_classes(typing, sequence, masks, signed, out):
    """Widen ``out`` (4, lanes): least and most running sum left, then right, of the threshold."""
    given = (sequence, masks, signed, out)
    return types.void(*given), _two_classes(counted=False)


@intrinsic
def two_classes_counted(typing, sequence, masks, signed, out, count, sizes, smallest):
    """The same over splits that leave `smallest` rows; ``sizes`` (2, lanes): rows of the sides."""
    given = (sequence, masks, signed, out, count, sizes, smallest)
    return types.void(*given), _two_classes(counted=True)


@intrinsic
def more_classes(typing, sequence, masks, weights, out, y, counters, prefix):
    """Raise ``out`` (2, lanes): most weight classified by one split left and right.

    ``counters`` (classes, 4 * lanes) must be 0; ``prefix`` has room for (rows, 2, lanes).
    """
    given = (sequence, masks, weights, out, y, counters, prefix)
    return types.void(*given), _more_classes(counted=False)


@intrinsic
def more_classes_counted(
    typing, sequence, masks, weights, out, y, counters, prefix, count, sizes, smallest
):
    """The same over splits that leave `smallest` rows; ``sizes`` (2, lanes): rows of the sides."""
    given = (
        sequence, masks, weights, out, y, counters, prefix, count, sizes, smallest,
    )  # fmt: skip
    return types.void(*given), _more_classes(counted=True)


@part()
def pass_over(sequence, y, signed, masks, rows, room, is_binary, counted, smallest):
    """One pass over a sorted column: weights and copies of `rows`, everything else in `room`.

    `signed`: of two classes, the signed weights in the order of the column.
    """
    if is_binary and counted:
        two_classes_counted(sequence, masks, signed, room.out, rows.copies, room.sizes, smallest)
    elif is_binary:
        two_classes(sequence, masks, signed, room.out)
    else:
        for c in range(room.counters.shape[0]):
            for i in range(room.counters.shape[1]):
                room.counters[c, i] = 0
        if counted:
            more_classes_counted(
                sequence, masks, rows.weight, room.out, y, room.counters, room.prefix, rows.copies,
                room.sizes, smallest,
            )  # fmt: skip
        else:
            more_classes(sequence, masks, rows.weight, room.out, y, room.counters, room.prefix)
