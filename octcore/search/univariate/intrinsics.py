"""Integer arithmetic in the width of the operands, for the search kernels.

Numba widens 32-bit integers to 64 bits in every expression; these one-instruction intrinsics do
not, which lets LLVM use the full vector width.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic


def _shared_bits(typing_context: Any, left: Any, right: Any) -> Any:
    """Number of common one-bits, as a signed integer of the words' own width."""
    counter = types.int32 if left.bitwidth == 32 else types.int64

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(builder.and_(arguments[0], arguments[1]))

    return counter(left, right), code


def _insert_bit(typing_context: Any, word: Any, bit: Any, position: Any) -> Any:
    """Return ``word | bit << position`` without widening."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.or_(arguments[0], builder.shl(arguments[1], arguments[2]))

    return word(word, bit, position), code


def _own_width(instruction: str) -> Any:
    """One instruction on two integers of the same width, which the result has too."""

    def typed(typing_context: Any, left: Any, right: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return getattr(builder, instruction)(*arguments)

        return left(left, right), code

    return intrinsic(typed)


def _larger(typing_context: Any, left: Any, right: Any) -> Any:
    """The larger of two signed integers."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first, second = arguments
        return builder.select(builder.icmp_signed(">", first, second), first, second)

    return left(left, right), code


shared_bits: Any = intrinsic(_shared_bits)
insert_bit: Any = intrinsic(_insert_bit)
plus, minus, times = _own_width("add"), _own_width("sub"), _own_width("mul")
larger: Any = intrinsic(_larger)
