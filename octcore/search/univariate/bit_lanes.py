"""Sixteen 0/1 columns at once, in vector registers: packing, counting and scoring of their pairs.

Arrays end in columns, padded to whole vectors; a place in them is counted in vectors.  What stands
beyond the columns that are looked at are columns as well, or none but zeros: as second splits they
only do what a column that is looked at, or a leaf, does, so nobody leaves them out.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from octcore.search.univariate.intrinsics import INDEX, Emitter, fixed, intrinsic

TILE = 4  # root features whose pairs with a vector of others are counted together
FULL = 31  # words of which a byte counts the ones


def _pack(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    e = Emitter(context, builder, signature, arguments, 4)
    b = e.b
    byte = ir.VectorType(ir.IntType(8), e.lanes)
    bits, rows, words = e.pointer(0, byte), e.pointer(1, INDEX), e.pointer(4, e.vector)
    first, ends, word, stride = e.scalar(2), b.sub(e.scalar(3), fixed(1)), e.scalar(5), e.stride(0)

    def column(place: Any, _: list[Any]) -> list[Any]:
        def row(k: Any, state: list[Any]) -> list[Any]:
            bit = e.load(bits, b.add(b.mul(e.at(rows, k), stride), place))
            return [b.or_(b.add(state[0], state[0]), bit)]

        def eight(k: Any, state: list[Any]) -> list[Any]:
            """As many rows as a byte has bits, the last one first."""
            (packed,) = e.loop(e.least(b.add(k, fixed(7)), ends), k, -1, [byte(None)], row)
            shift = e.splat(b.trunc(b.sub(k, first), e.element))
            return [b.or_(state[0], b.shl(b.zext(packed, e.vector), shift))]

        (packed,) = e.loop(first, ends, 8, [e.zero], eight)
        e.store(packed, words, b.add(b.mul(word, stride), place))
        return []

    e.loop(fixed(0), b.sub(stride, fixed(1)), 1, [], column)
    return context.get_dummy_value()


def _count(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    e = Emitter(context, builder, signature, arguments, 0)
    b = e.b
    words, word = e.pointer(0, e.vector), e.pointer(0, e.element)
    first, last, f, place = (e.scalar(k) for k in (1, 2, 3, 4))
    counts, channel, scale = e.pointer(5, e.vector), e.scalar(6), e.splat(e.scalar(7))
    # Every byte counts by itself: without an instruction for words that takes two thirds as long.
    byte = ir.VectorType(ir.IntType(8), e.lanes * e.bytes)
    name, kind = f"llvm.ctpop.v{byte.count}i8", ir.FunctionType(byte, [byte])
    stride, ones_of = e.stride(0), cgutils.get_or_insert_function(b.module, kind, name)
    ends, size = b.sub(last, fixed(1)), e.element.width

    def body(w: Any, state: list[Any]) -> list[Any]:
        line = b.mul(w, stride)
        others, own = e.load(words, b.add(line, place)), b.add(b.mul(line, fixed(e.lanes)), f)
        new = []
        for t, count in enumerate(state):
            both = b.and_(e.splat(e.at(word, b.add(own, fixed(t)))), others)
            new.append(b.add(count, b.call(ones_of, [b.bitcast(both, byte)])))
        return new

    def some(w: Any, state: list[Any]) -> list[Any]:
        new, end = [], e.least(b.add(w, fixed(FULL - 1)), ends)
        for count, part in zip(state, e.loop(w, end, 1, [byte(None)] * TILE, body), strict=True):
            part, half = b.bitcast(part, e.vector), 8
            while half < size:  # neighbours are added until they fill the word
                mask = e.constant(sum(((1 << half) - 1) << k for k in range(0, size, 2 * half)))
                high = b.and_(b.lshr(part, e.constant(half)), mask)
                part, half = b.add(b.and_(part, mask), high), 2 * half
            new.append(b.add(count, part))
        return new

    found = e.loop(first, ends, FULL, [e.zero] * TILE, some)
    for t, count in enumerate(found):
        here = b.add(b.mul(b.add(b.mul(channel, fixed(TILE)), fixed(t)), stride), place)
        e.store(b.add(e.load(counts, here), b.mul(count, scale)), counts, here)
    return context.get_dummy_value()


def _score(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    e = Emitter(context, builder, signature, arguments, 0)
    b = e.b
    counts, ones, one = e.pointer(0, e.vector), e.pointer(1, e.vector), e.pointer(1, e.element)
    totals, stump, own = e.pointer(2, e.element), e.pointer(3, e.vector), e.pointer(4, e.vector)
    n_classes, f, place = e.scalar(5), e.scalar(6), e.scalar(7)
    stride, width = e.stride(1), e.shape(1, 1)

    def largest(t: int, feature: Any) -> list[Any]:
        """Most weight of a class with both features, the first, the second and none."""

        def cells(c: Any) -> list[Any]:
            here = b.add(b.mul(b.add(b.mul(c, fixed(TILE)), fixed(t)), stride), place)
            both = e.load(counts, here)
            second = b.sub(e.load(ones, b.add(b.mul(c, stride), place)), both)
            p = e.splat(e.at(one, b.add(b.mul(c, width), feature)))
            q = b.sub(e.splat(e.at(totals, c)), p)
            return [both, b.sub(p, both), second, b.sub(q, second)]

        def raised(c: Any, state: list[Any]) -> list[Any]:
            return [e.most(x, y) for x, y in zip(state, cells(c), strict=True)]

        def summed(c: Any, state: list[Any]) -> list[Any]:
            return [b.add(x, y) for x, y in zip(state, cells(c), strict=True)]

        none = [e.zero] * 4
        most = e.loop(fixed(0), b.sub(n_classes, fixed(1)), 1, none, raised)
        if isinstance(signature.args[8], types.NoneType):
            return most
        last, smallest = b.sub(e.scalar(9), fixed(1)), b.trunc(e.scalar(10), e.element)
        sizes = e.loop(e.scalar(8), last, 1, none, summed)
        # Cells hold half of that at most: a sum with it is negative, and no two overflow.
        ban, limit = e.constant(-(1 << (e.element.width - 3))), e.splat(smallest)
        fits = [b.icmp_signed(">=", size, limit) for size in sizes]
        return [b.select(*pair, ban) for pair in zip(fits, most, strict=True)]

    below = [e.load(stump, b.add(b.mul(fixed(s), stride), place)) for s in range(2)]
    for t in range(TILE):
        feature = b.add(f, fixed(t))
        both, first, second, none = largest(t, feature)
        below = [e.most(below[0], b.add(first, none)), e.most(below[1], b.add(both, second))]
        for s, value in enumerate((b.add(second, none), b.add(both, first))):
            here = b.add(b.mul(fixed(s), width), feature)
            e.store(e.most(e.load(own, here), value), own, here)
    for s in range(2):
        e.store(below[s], stump, b.add(b.mul(fixed(s), stride), place))
    return context.get_dummy_value()


@intrinsic
def pack_word(typing, bits, rows, first, last, words, word):
    """Fill ``words[word]`` with the bits of the rows ``rows[first:last]``, in that order."""
    return types.void(bits, rows, first, last, words, word), _pack


@intrinsic
def count_tile(typing, words, first, last, f, place, counts, channel, scale):
    """Add the weight of rows with two features to ``counts[channel, t, place]``.

    `words`: of them those from first to last.
    The first feature is ``f + t`` for t below `TILE`, the second one of a vector.
    """
    given = (words, first, last, f, place, counts, channel, scale)
    return types.void(*given), _count


@intrinsic
def score_tile(
    typing, counts, ones, totals, stump, own, n_classes, f, place, first, n_channels, smallest
):
    """Raise the best stumps beside features, of the same pairs.

    `ones`, `totals`: (channels, n_features), (channels,) weight with the feature; of all rows.
    `stump`: (2, n_features), on side 0 and 1 of the second features.
    `own`: (2, n_features, lanes), on those of the first ones, by lane.
    `first`, `n_channels`, `smallest`: leaves need `smallest` rows, which channels from `first` on
        count; None for no such limit.
    """
    given = counts, ones, totals, stump, own, n_classes, f, place, first, n_channels, smallest
    return types.void(*given), _score
