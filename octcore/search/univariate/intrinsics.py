"""Integer arithmetic in the width of the operands, and vectors, for the search kernels.

Numba widens 32-bit integers to 64 bits in every expression; these one-instruction intrinsics do
not, which lets LLVM use the full vector width.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import extending

from octcore.numerics.kernels import inner

intrinsic: Any = extending.intrinsic
INDEX = ir.IntType(64)
ROW = ir.IntType(32)
MASK = ir.IntType(16)
VECTOR_BYTES = 64


def _shared_bits(typing_context: Any, left: Any, right: Any) -> Any:
    """Number of common one-bits, as a signed integer of the words' own width."""
    counter = types.int32 if left.bitwidth == 32 else types.int64

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(builder.and_(arguments[0], arguments[1]))

    return counter(left, right), code


def _own_width(instruction: str) -> Any:
    """One instruction on two integers of the same width, which the result has too."""

    def typed(typing_context: Any, left: Any, right: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return getattr(builder, instruction)(*arguments)

        return left(left, right), code

    return intrinsic(typed)


shared_bits: Any = intrinsic(_shared_bits)
plus, times = _own_width("add"), _own_width("mul")


def count_lanes(itemsize: int) -> int:
    """How many integers of a size are a vector: no more than a mask has bits."""
    return min(16, VECTOR_BYTES // itemsize)


lanes_of = inner()(count_lanes)


def fixed(index: int) -> Any:
    """A number in the code."""
    return ir.Constant(INDEX, index)


class Emitter:
    """Writes vector instructions for one integer type, that of the array argument `typed`."""

    def __init__(
        self, context: Any, builder: Any, signature: Any, arguments: Any, typed: int
    ) -> None:
        self.context, self.b = context, builder
        self.arguments = dict(enumerate(zip(signature.args, arguments, strict=True)))
        self.element = ir.IntType(self.arguments[typed][0].dtype.bitwidth)
        self.bytes = self.element.width // 8
        self.lanes = count_lanes(self.bytes)
        self.vector = ir.VectorType(self.element, self.lanes)
        self.zero = self.constant(0)

    def constant(self, value: int) -> Any:
        """Vector of one number."""
        return ir.Constant(self.vector, [value] * self.lanes)

    def pointer(self, position: int, to: Any) -> Any:
        """Pointer to the first element of an array argument."""
        kind, value = self.arguments[position]
        data = self.context.make_array(kind)(self.context, self.b, value=value).data
        return self.b.bitcast(data, to.as_pointer())

    def shape(self, position: int, axis: int) -> Any:
        """Length of an array argument."""
        kind, value = self.arguments[position]
        array = self.context.make_array(kind)(self.context, self.b, value=value)
        return self.b.extract_value(array.shape, axis)

    def stride(self, position: int) -> Any:
        """Vectors in a line of a two-dimensional array argument."""
        return self.b.udiv(self.shape(position, 1), fixed(self.lanes))

    def scalar(self, position: int) -> Any:
        """Argument that is a number."""
        return self.arguments[position][1]

    def splat(self, value: Any) -> Any:
        """Vector of one value."""
        undefined = ir.Constant(self.vector, ir.Undefined)
        first = self.b.insert_element(undefined, value, ir.Constant(ROW, 0))
        mask = ir.Constant(ir.VectorType(ROW, self.lanes), [0] * self.lanes)
        return self.b.shuffle_vector(first, undefined, mask)

    def at(self, base: Any, index: Any) -> Any:
        """Element ``base[index]``."""
        return self.b.load(self.b.gep(base, [index]), align=1)

    def load(self, base: Any, index: Any) -> Any:
        """Vector ``base[index]``."""
        return self.b.load(self.b.gep(base, [index]), align=self.bytes)

    def store(self, value: Any, base: Any, index: Any) -> None:
        """Write vector ``base[index]``."""
        self.b.store(value, self.b.gep(base, [index]), align=self.bytes)

    def least(self, x: Any, y: Any) -> Any:
        """Smaller values, lane by lane, or the smaller number."""
        return self.b.select(self.b.icmp_signed("<", x, y), x, y)

    def most(self, x: Any, y: Any) -> Any:
        """Larger values, lane by lane."""
        return self.b.select(self.b.icmp_signed(">", x, y), x, y)

    def row(self, sequence: Any, k: Any) -> tuple[Any, Any]:
        """Row number at a position, and whether a split is possible after it."""
        code = self.at(sequence, k)
        row = self.b.zext(self.b.lshr(code, ir.Constant(ROW, 1)), INDEX)
        return row, self.b.trunc(code, ir.IntType(1))

    def left_part(self, masks: Any, row: Any, value: Any) -> Any:
        """`value` in the lanes that have the row on the left, else 0."""
        mask = self.at(masks, row)
        if self.lanes < MASK.width:
            mask = self.b.trunc(mask, ir.IntType(self.lanes))
        bits = self.b.bitcast(mask, ir.VectorType(ir.IntType(1), self.lanes))
        return self.b.select(bits, value, self.zero)

    def loop(
        self, first: Any, last: Any, step: int, state: list[Any], body: Callable[..., list[Any]]
    ) -> list[Any]:
        """Run `body(k, state) -> state` for k from first to last, and return the last state."""
        b = self.b
        before = b.block
        head, inside, after = (b.append_basic_block(name) for name in ("head", "body", "after"))
        b.branch(head)
        b.position_at_end(head)
        k = b.phi(INDEX)
        k.add_incoming(first, before)
        phis = [b.phi(value.type) for value in state]
        for phi, value in zip(phis, state, strict=True):
            phi.add_incoming(value, before)
        going = b.icmp_signed("<=", k, last) if step > 0 else b.icmp_signed(">=", k, last)
        b.cbranch(going, inside, after)
        b.position_at_end(inside)
        new = body(k, list(phis))
        k.add_incoming(b.add(k, ir.Constant(INDEX, step)), b.block)
        for phi, value in zip(phis, new, strict=True):
            phi.add_incoming(value, b.block)
        b.branch(head)
        b.position_at_end(after)
        return list(phis)

    def only_if(self, condition: Any, state: list[Any], body: Callable[[], list[Any]]) -> list[Any]:
        """State after `body()` where a condition holds, else the state as it was."""
        b = self.b
        before = b.block
        then, after = b.append_basic_block("then"), b.append_basic_block("joined")
        b.cbranch(condition, then, after)
        b.position_at_end(then)
        new = body()
        end = b.block
        b.branch(after)
        b.position_at_end(after)
        joined = []
        for old, value in zip(state, new, strict=True):
            phi = b.phi(value.type)
            phi.add_incoming(old, before)
            phi.add_incoming(value, end)
            joined.append(phi)
        return joined
