"""Makes every dot work in one type: narrow operands are converted before, a narrow result after it.

Done on the graph, before planning, so that the conversions are fused like any other op: they happen while
the operands are written to the arena, outside of loops where the operand is.
"""

from __future__ import annotations

from tri_core.api import Unsupported, located
from tri_core.dialects import tt
from tri_core.ir.views import isa
from tri_core.ttir import Block, DType, Op, Type, Value, dtype_of

__all__ = ["widen_dots"]


def widen_dots(body: Block) -> None:
    """Rewrite the dots of ``body`` so that operands, accumulator and result have one type."""
    for op in list(body.walk()):
        if isa(op, tt.DotOp):
            _widen(op)


def _widen(dot: Op) -> None:
    wide = _accumulator(dot.result.dtype)
    for position, operand in enumerate(list(dot.operands)):
        if operand.dtype == wide:
            continue
        if operand.dtype.kind != wide.kind or operand.dtype.bits > wide.bits:
            raise located(Unsupported, dot.location, f"a dot of {operand.dtype} that accumulates in {wide}")
        dot.use(position, _converted(operand, wide))
    if dot.result.dtype != wide:
        _narrow_result(dot, wide)


def _accumulator(dtype: DType) -> DType:
    if dtype.is_float:
        return dtype if dtype.bits >= 32 else dtype_of("f32")
    return dtype if dtype.bits >= 32 else dtype_of("i32")


def _converted(value: Value, dtype: DType) -> Value:
    """``value`` as ``dtype``, computed where ``value`` is defined."""
    block = value.op.parent if value.op is not None else value.block
    if block is None:
        raise ValueError("a value without a block")
    name = "arith.extf" if dtype.is_float else "arith.extsi"
    at = block.ops.index(value.op) + 1 if value.op is not None else 0
    return _insert(block, at, name, value, dtype, value.op or block.ops[0])


def _insert(block: Block, at: int, name: str, value: Value, dtype: DType, like: Op) -> Value:
    op = Op(name, [], [], {}, like.location, block, like.order)
    made = Value(Type(dtype, value.type.shape), 0, op=op)
    op.results.append(made)
    op.use(0, value)
    block.ops.insert(at, op)
    return made


def _narrow_result(dot: Op, wide: DType) -> None:
    narrow, uses = dot.result.dtype, dot.result.uses
    dot.result.type, dot.result.uses = Type(wide, dot.result.type.shape), []
    if dot.parent is None:
        raise ValueError("a dot without a block")
    name = "arith.truncf" if narrow.is_float else "arith.trunci"
    made = _insert(dot.parent, dot.parent.ops.index(dot) + 1, name, dot.result, narrow, dot)
    for user, position in uses:
        user.use(position, made)
