"""Elementwise ops: one rule per op, the same for scalars and for vectors of any width.

A rule takes the builder, the graph's op and its operands as register values of one width, and gives the
result.  Narrow floats are computed on in f32 and rounded after every op, as hardware does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tri_backend_cpu import vector_math
from tri_backend_cpu.builder import (
    FLOAT_PREDICATES,
    I64,
    INT_PREDICATES,
    POINTER,
    Builder,
    is_native_float,
    width_of,
)
from tri_backend_cpu.graph.floats import float_bits
from tri_backend_cpu.lower import integers
from tri_backend_cpu.lower.casts import compute_type, convert, narrow, widen
from tri_core.api import Unsupported, located
from tri_core.dialects.tt.enums import PropagateNan, RoundingMode
from tri_core.mlir import ir
from tri_core.ttir import DType, Op, constant_of

__all__ = ["ELEMENTWISE", "lower_constant", "lower_elementwise"]

Rule = Callable[[Builder, Op, Sequence[ir.Value]], ir.Value]

#: ops on integers that are the same op at any width
_INTEGER = {
    *("arith.addi", "arith.subi", "arith.muli", "arith.andi", "arith.ori", "arith.xori"),
    *("arith.maxsi", "arith.maxui", "arith.minsi", "arith.minui"),
    *("math.absi", "math.ctpop", "math.ctlz", "math.cttz"),
}
#: ops on floats that are the same op at any width, in the compute type
_FLOAT = {
    *("arith.negf", "arith.divf", "arith.remf"),
    *("arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"),
    *("math.absf", "math.ceil", "math.floor", "math.trunc", "math.round", "math.roundeven"),
    *("math.sqrt", "math.copysign", "math.fma"),
}
#: float ops that may be fused with their neighbours
_CONTRACTABLE = {"arith.addf", "arith.subf", "arith.mulf"}
#: ops that mean one of the above
_SYNONYMS = {
    "tt.precise_sqrt": "math.sqrt",
    "tt.precise_divf": "arith.divf",
    "arith.maxf": "arith.maximumf",
    "arith.minf": "arith.minimumf",
}
_DIVISIONS = {"arith.divsi", "arith.divui", "arith.remsi", "arith.remui"}
_SHIFTS = {"arith.shli", "arith.shrsi", "arith.shrui"}
#: conversions: whether the integer in it is signed
_CONVERSIONS = {
    "arith.extsi": True,
    "arith.extui": False,
    "arith.trunci": True,
    "arith.extf": True,
    "arith.truncf": True,
    "arith.sitofp": True,
    "arith.uitofp": False,
    "arith.fptosi": True,
    "arith.fptoui": False,
    "tt.fp_to_fp": True,
}


def lower_constant(b: Builder, number: Any, dtype: DType, width: int = 0) -> ir.Value:
    """``number`` as a register constant of ``dtype``."""
    if dtype.is_float and not is_native_float(dtype):
        return b.constant(float_bits(float(number), dtype), dtype, width)
    return b.constant(float(number) if dtype.is_float else int(number), dtype, width)


def lower_elementwise(b: Builder, op: Op, operands: Sequence[ir.Value]) -> ir.Value:
    """The result of ``op`` on ``operands``, which have one width; Unsupported for an unknown op."""
    rule = ELEMENTWISE.get(op.name)
    if rule is None:
        raise located(Unsupported, op.location, f"the CPU backend has no rule for {op.name}")
    return rule(b, op, operands)


# --- rules ----------------------------------------------------------------------------------------------


def _same(b: Builder, op: Op, operands: Sequence[ir.Value]) -> ir.Value:
    return b.same(op.name, *operands)


def _float(b: Builder, op: Op, operands: Sequence[ir.Value]) -> ir.Value:
    dtype = op.operands[0].dtype
    wide = [widen(b, v, dtype) for v in operands]
    return narrow_result(b, b.same(_SYNONYMS.get(op.name, op.name), *wide), dtype)


def _contractable(b: Builder, op: Op, operands: Sequence[ir.Value]) -> ir.Value:
    dtype = op.operands[0].dtype
    wide = [widen(b, v, dtype) for v in operands]
    made = b.op(op.name, wide[0].type, *wide, fastmath=b.fastmath)
    return narrow_result(b, made, dtype)


def _function(b: Builder, op: Op, operands: Sequence[ir.Value]) -> ir.Value:
    dtype = op.operands[0].dtype
    wide = [widen(b, v, dtype) for v in operands]
    return narrow_result(b, vector_math.apply(b, op.name, compute_type(dtype), *wide), dtype)


def narrow_result(b: Builder, value: ir.Value, dtype: DType) -> ir.Value:
    """``value`` of the compute type of ``dtype`` as ``dtype``."""
    return value if compute_type(dtype) == dtype else narrow(b, value, dtype)


def _divide(b: Builder, op: Op, operands: Sequence[ir.Value]) -> ir.Value:
    x, y = operands
    return integers.divide(b, op.name, op.result.dtype, x, y, constant_of(op.operands[1]))


def _shift(b: Builder, op: Op, operands: Sequence[ir.Value]) -> ir.Value:
    x, count = operands
    return integers.shift(b, op.name, op.result.dtype, x, count, constant_of(op.operands[1]))


def _multiply_high(b: Builder, op: Op, operands: Sequence[ir.Value]) -> ir.Value:
    return integers.multiply_high(b, op.result.dtype, *operands)


def _convert(b: Builder, op: Op, operands: Sequence[ir.Value]) -> ir.Value:
    toward_zero = op.attributes.get("rounding") == RoundingMode.RTZ
    source, target = op.operands[0].dtype, op.result.dtype
    return convert(b, operands[0], source, target, signed=_CONVERSIONS[op.name], toward_zero=toward_zero)


def _bitcast(b: Builder, op: Op, operands: Sequence[ir.Value]) -> ir.Value:
    if op.operands[0].dtype.is_pointer or op.result.dtype.is_pointer:
        return _pointer_cast(b, operands[0], op.result.dtype)
    return b.bitcast(operands[0], op.result.dtype)


def _reinterpret(b: Builder, op: Op, operands: Sequence[ir.Value]) -> ir.Value:
    return _pointer_cast(b, operands[0], op.result.dtype)


def _pointer_cast(b: Builder, value: ir.Value, to: DType) -> ir.Value:
    width = width_of(value)
    is_pointer = value.type == b.type(POINTER, width)
    if to.is_pointer:
        return value if is_pointer else b.op("llvm.inttoptr", b.type(POINTER, width), value)
    return b.op("llvm.ptrtoint", b.type(to, width), value) if is_pointer else value


def _advance(b: Builder, op: Op, operands: Sequence[ir.Value]) -> ir.Value:
    pointer, index = operands
    return b.offset(pointer, b.convert_int(index, I64), op.result.dtype.element)


def _compare_int(b: Builder, op: Op, operands: Sequence[ir.Value]) -> ir.Value:
    if op.operands[0].dtype.is_pointer:
        operands = [_pointer_cast(b, v, I64) for v in operands]
    return b.cmp(INT_PREDICATES[op.attributes["predicate"]], *operands)


def _compare_float(b: Builder, op: Op, operands: Sequence[ir.Value]) -> ir.Value:
    dtype = op.operands[0].dtype
    return b.fcmp(FLOAT_PREDICATES[op.attributes["predicate"]], *(widen(b, v, dtype) for v in operands))


def _select(b: Builder, op: Op, operands: Sequence[ir.Value]) -> ir.Value:
    return b.select(*operands)


def _clamp(b: Builder, op: Op, operands: Sequence[ir.Value]) -> ir.Value:
    dtype = op.operands[0].dtype
    x, low, high = (widen(b, v, dtype) for v in operands)
    nan_wins = op.attributes.get("propagateNan") == PropagateNan.ALL
    larger, smaller = ("maximumf", "minimumf") if nan_wins else ("maxnumf", "minnumf")
    return narrow_result(b, b.same(f"arith.{smaller}", b.same(f"arith.{larger}", x, low), high), dtype)


ELEMENTWISE: dict[str, Rule] = {
    **dict.fromkeys(_INTEGER, _same),
    **dict.fromkeys(_FLOAT | set(_SYNONYMS), _float),
    **dict.fromkeys(_CONTRACTABLE, _contractable),
    **dict.fromkeys(vector_math.FUNCTIONS, _function),
    **dict.fromkeys(_DIVISIONS, _divide),
    **dict.fromkeys(_SHIFTS, _shift),
    **dict.fromkeys(_CONVERSIONS, _convert),
    "tt.mulhiui": _multiply_high,
    "arith.bitcast": _bitcast,
    "tt.bitcast": _bitcast,
    "tt.int_to_ptr": _reinterpret,
    "tt.ptr_to_int": _reinterpret,
    "tt.addptr": _advance,
    "arith.cmpi": _compare_int,
    "arith.cmpf": _compare_float,
    "arith.select": _select,
    "tt.clampf": _clamp,
}
