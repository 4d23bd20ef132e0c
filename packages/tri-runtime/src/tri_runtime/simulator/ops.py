"""Ops of the ``llvm`` dialect, over all threads at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_core.mlir import ir
from tri_runtime.simulator.fused import fma_f64
from tri_runtime.simulator.values import Shape, shape_of, to_bf16, to_f32, unsigned

__all__ = ["PURE", "Function"]

Array = npt.NDArray[Any]

#: computes a result from operands
Function = Callable[..., Any]

#: makes the function of an op once, from its attributes and types
Maker = Callable[[ir.OpView], Function]


def _divide(x: Array, y: Array) -> Array:
    """C's division: toward zero; the least number by -1, which C leaves open, is itself, as on hardware that wraps."""
    quotient = (_size(x) // np.maximum(_size(y), 1)).astype(unsigned(x).dtype)
    return np.where((x < 0) != (y < 0), np.negative(quotient), quotient).astype(x.dtype)


def _size(x: Array) -> Array:
    """Absolute values, as unsigned numbers of the same bytes: that of the least one too."""
    bits = unsigned(x)
    return np.where(x < 0, np.negative(bits), bits)


def _remainder(x: Array, y: Array) -> Array:
    return (x - _divide(x, y) * y).astype(x.dtype)


def _as_unsigned(function: Function) -> Function:
    def call(x: Array, y: Array) -> Array:
        made: Array = function(unsigned(x), unsigned(y)).view(x.dtype)
        return made

    return call


def _safe(function: Function) -> Function:
    """Division by zero happens in threads that do not take part: give anything."""
    return lambda x, y: function(x, np.where(y == 0, np.ones_like(y), y))


def _shift(function: Function) -> Function:
    def call(x: Array, y: Array) -> Array:
        bits = np.asarray(x.dtype.itemsize * 8 - 1, y.dtype)
        made: Array = function(x, y & bits)
        return made

    return call


def _bool_arithmetic(function: Function) -> Function:
    """i1 counts modulo 2."""

    def call(x: Array, y: Array) -> Array:
        if x.dtype != np.bool_:
            made: Array = function(x, y)
            return made
        return (function(x.astype(np.int8), y.astype(np.int8)) & 1).astype(np.bool_)

    return call


_INTEGER: dict[str, Function] = {
    "llvm.add": _bool_arithmetic(np.add),
    "llvm.sub": _bool_arithmetic(np.subtract),
    "llvm.mul": _bool_arithmetic(np.multiply),
    "llvm.and": np.bitwise_and,
    "llvm.or": np.bitwise_or,
    "llvm.xor": np.bitwise_xor,
    "llvm.shl": _shift(np.left_shift),
    "llvm.ashr": _shift(np.right_shift),
    "llvm.lshr": _as_unsigned(_shift(np.right_shift)),
    "llvm.sdiv": _safe(_divide),
    "llvm.srem": _safe(_remainder),
    "llvm.udiv": _as_unsigned(_safe(np.floor_divide)),
    "llvm.urem": _as_unsigned(_safe(np.remainder)),
    "llvm.intr.smax": np.maximum,
    "llvm.intr.smin": np.minimum,
    "llvm.intr.umax": _as_unsigned(np.maximum),
    "llvm.intr.umin": _as_unsigned(np.minimum),
}

_FLOAT: dict[str, Function] = {
    "llvm.fadd": np.add,
    "llvm.fsub": np.subtract,
    "llvm.fmul": np.multiply,
    "llvm.fdiv": np.divide,
    "llvm.frem": np.fmod,
    "llvm.fneg": np.negative,
    "llvm.intr.maximum": np.maximum,
    "llvm.intr.minimum": np.minimum,
    "llvm.intr.maxnum": np.fmax,
    "llvm.intr.minnum": np.fmin,
    "llvm.intr.fabs": np.abs,
    "llvm.intr.floor": np.floor,
    "llvm.intr.ceil": np.ceil,
    "llvm.intr.trunc": np.trunc,
    "llvm.intr.rint": np.rint,
    "llvm.intr.roundeven": np.rint,
    "llvm.intr.sqrt": np.sqrt,
    "llvm.intr.copysign": np.copysign,
    "llvm.intr.exp": np.exp,
    "llvm.intr.exp2": np.exp2,
    "llvm.intr.log": np.log,
    "llvm.intr.log2": np.log2,
    "llvm.intr.log10": np.log10,
    "llvm.intr.sin": np.sin,
    "llvm.intr.cos": np.cos,
}


def _fma(x: Array, y: Array, z: Array) -> Array:
    """Rounded once: the product of two f32 is exact in f64, and a doubtful sum is rounded to odd there."""
    if x.dtype == np.float64:
        return fma_f64(x, y, z)
    product = x.astype(np.float64) * y.astype(np.float64)
    addend = z.astype(np.float64)
    total = product + addend
    near: Array = total.astype(x.dtype)
    doubtful = _twice_rounded(total, x.dtype)
    if doubtful.any():
        near[doubtful] = _to_odd_sum(product[doubtful], addend[doubtful], total[doubtful]).astype(x.dtype)
    return near


def _to_odd_sum(product: Array, addend: Array, total: Array) -> Array:
    """``total``, the rounded sum, with its last bit set where it is not exact: rounding it again rounds the truth."""
    # the error of the sum, exactly (Knuth); its sign says to which side of `total` the truth lies
    part = total - product
    error = (product - (total - part)) + (addend - part)
    if not error.any():
        return total
    bits = total.view(np.int64)
    even = (bits & 1) == 0
    inexact = np.isfinite(total) & np.isfinite(error) & (error != 0)
    step = np.where((error > 0) == (total > 0), 1, -1)
    return np.where(inexact & even, bits + step, bits).view(np.float64)


#: what f64 has more than a type, in bits of the fraction, and the least normal number of the type
_NARROWER = {np.dtype(np.float32): (29, 2.0**-126), np.dtype(np.float16): (42, 2.0**-14)}


def _twice_rounded(total: Array, dtype: np.dtype[Any]) -> Array:
    """Mask of elements where rounding f64 ``total`` to ``dtype`` may differ from rounding the exact sum: at
    ties, and below normal.
    """
    bits, least = _NARROWER[dtype]
    ties: Array = (total.view(np.int64) & ((1 << bits) - 1)) == 1 << (bits - 1)
    small = np.abs(total) < least
    if small.any():
        ties |= small & (total != 0)
    return ties


def _through_f32(function: Function, shape: Shape) -> Function:
    """bf16 is computed in f32."""
    if not shape.bf16:
        return function
    return lambda *xs: to_bf16(function(*map(to_f32, xs)))


def _float(name: str) -> Maker:
    return lambda op: _through_f32(_FLOAT[name], shape_of(op.results[0].type))


def _fma_op(op: ir.OpView) -> Function:
    return _through_f32(_fma, shape_of(op.results[0].type))


# --- comparison -------------------------------------------------------------------------------------------


def _icmp(op: ir.OpView) -> Function:
    number = ir.IntegerAttr(op.attributes["predicate"]).value
    functions = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
    if number < 6:
        return functions[number]
    chosen = functions[number - 4]
    return lambda x, y: chosen(unsigned(x), unsigned(y))


def _fcmp(op: ir.OpView) -> Function:
    """Predicates 1 to 7 say which of equal (1), greater (2), less (4) hold; 8 to 14 the same, or unordered."""
    number = ir.IntegerAttr(op.attributes["predicate"]).value
    relations = number if number < 8 else number - 7
    unordered = 8 <= number <= 15
    if number in (14, 15):
        relations = 0 if number == 14 else 7
    bf16 = shape_of(op.operands[0].type).bf16

    def call(x: Array, y: Array) -> Array:
        if bf16:
            x, y = to_f32(x), to_f32(y)
        result = np.isnan(x) | np.isnan(y) if unordered else np.zeros(np.shape(x), np.bool_)
        for bit, test in ((1, x == y), (2, x > y), (4, x < y)):
            if relations & bit:
                result = result | test
        return result

    return call


# --- casts ------------------------------------------------------------------------------------------------


def _trunc(op: ir.OpView) -> Function:
    to = shape_of(op.results[0].type)
    return (lambda x: (x & 1).astype(np.bool_)) if to.bits == 1 else (lambda x: x.astype(to.dtype))


def _sext(op: ir.OpView) -> Function:
    to = shape_of(op.results[0].type).dtype
    return lambda x: -x.astype(to) if x.dtype == np.bool_ else x.astype(to)


def _zext(op: ir.OpView) -> Function:
    to = shape_of(op.results[0].type).dtype
    return lambda x: unsigned(x).astype(to)


def _bitcast(op: ir.OpView) -> Function:
    to = shape_of(op.results[0].type)

    def call(x: Array) -> Array:
        if x.dtype == to.dtype:
            return x
        made: Array = np.ascontiguousarray(x.reshape(len(x), -1)).view(to.dtype)
        return made[:, 0] if to.count == 1 else made

    return call


def _float_cast(op: ir.OpView) -> Function:
    source, to = shape_of(op.operands[0].type), shape_of(op.results[0].type)

    def call(x: Array) -> Array:
        wide = to_f32(x) if source.bf16 else x
        return to_bf16(_to_odd(wide)) if to.bf16 else wide.astype(to.dtype)

    return call


def _to_odd(x: Array) -> Array:
    """f64 as f32 whose last bit is set when inexact; other types as they are."""
    if x.dtype != np.float64:
        return x.astype(np.float32)
    near = x.astype(np.float32)
    bits = near.view(np.int32) - (np.abs(near.astype(np.float64)) > np.abs(x))
    return (
        np.where(near.astype(np.float64) == x, near.view(np.int32), bits | 1)
        .astype(np.int32)
        .view(np.float32)
    )


def _to_float(signed: bool) -> Maker:
    def make(op: ir.OpView) -> Function:
        to = shape_of(op.results[0].type)

        def call(x: Array) -> Array:
            source = x if signed and x.dtype != np.bool_ else unsigned(x)
            if signed and x.dtype == np.bool_:
                source = -x.astype(np.int8)
            return to_bf16(source.astype(np.float32)) if to.bf16 else source.astype(to.dtype)

        return call

    return make


def _to_integer(signed: bool) -> Maker:
    def make(op: ir.OpView) -> Function:
        source, to = shape_of(op.operands[0].type), shape_of(op.results[0].type)

        def call(x: Array) -> Array:
            wide = (to_f32(x) if source.bf16 else x).astype(np.float64)
            if signed:
                return np.nan_to_num(wide).astype(np.int64).astype(to.dtype)
            return np.nan_to_num(np.maximum(wide, 0)).astype(np.uint64).astype(to.dtype)

        return call

    return make


# --- vectors, pointers, structs ---------------------------------------------------------------------------


def _constant(value: ir.Value) -> int | None:
    """The number that ``value`` always is; None when it is computed."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "llvm.mlir.constant":
        return None
    return ir.IntegerAttr(owner.attributes["value"]).value


def _extract(op: ir.OpView) -> Function:
    fixed = _constant(op.operands[1])
    if fixed is not None:
        return lambda vector, index: vector[:, fixed]

    def call(vector: Array, index: Array) -> Array:
        made: Array = np.take_along_axis(vector, index.astype(np.int64)[:, None], 1)[:, 0]
        return made

    return call


def _insert(op: ir.OpView) -> Function:
    fixed = _constant(op.operands[2])

    def call_fixed(vector: Array, value: Array, index: Array) -> Array:
        made = vector.copy()
        made[:, fixed] = value
        return made

    if fixed is not None:
        return call_fixed

    def call(vector: Array, value: Array, index: Array) -> Array:
        made = vector.copy()
        np.put_along_axis(made, index.astype(np.int64)[:, None], value[:, None], 1)
        return made

    return call


def _shuffle_vector(op: ir.OpView) -> Function:
    mask = list(ir.DenseI32ArrayAttr(op.attributes["mask"]))
    return lambda x, y: np.concatenate([x, y], 1)[:, mask]


def _gep(op: ir.OpView) -> Function:
    """Pointers to scalars and arrays of them: one index."""
    element = ir.TypeAttr(op.attributes["elem_type"]).value
    shape = shape_of(element)
    size = max(shape.bits // 8, 1) * shape.count
    (constant,) = ir.DenseI32ArrayAttr(op.attributes["rawConstantIndices"])

    def call(base: Array, *index: Array) -> Array:
        steps = index[0].astype(np.int64) if index else constant
        made: Array = base + steps * size
        return made

    return call


def _position(op: ir.OpView) -> Sequence[int]:
    return list(ir.DenseI64ArrayAttr(op.attributes["position"]))


def _extract_value(op: ir.OpView) -> Function:
    (index,) = _position(op)
    return lambda struct: struct[index]


def _select(condition: Array, x: Array, y: Array) -> Array:
    return np.where(condition if x.ndim == condition.ndim else condition[:, None], x, y)


def _popcount(x: Array) -> Array:
    bits = np.unpackbits(np.ascontiguousarray(x).view(np.uint8).reshape(len(x), -1), axis=1)
    return bits.sum(1).astype(x.dtype)


def _fixed(function: Function) -> Maker:
    return lambda op: function


#: ops whose result depends on their operands alone
PURE: dict[str, Maker] = {
    **{name: _fixed(function) for name, function in _INTEGER.items()},
    **{name: _float(name) for name in _FLOAT},
    "llvm.intr.fma": _fma_op,
    "llvm.intr.fmuladd": _fma_op,
    "llvm.icmp": _icmp,
    "llvm.fcmp": _fcmp,
    "llvm.select": _fixed(_select),
    "llvm.trunc": _trunc,
    "llvm.sext": _sext,
    "llvm.zext": _zext,
    "llvm.bitcast": _bitcast,
    "llvm.fpext": _float_cast,
    "llvm.fptrunc": _float_cast,
    "llvm.sitofp": _to_float(True),
    "llvm.uitofp": _to_float(False),
    "llvm.fptosi": _to_integer(True),
    "llvm.fptoui": _to_integer(False),
    "llvm.ptrtoint": _trunc,
    "llvm.inttoptr": _zext,
    "llvm.addrspacecast": _fixed(lambda x: x),
    "llvm.freeze": _fixed(lambda x: x),
    "llvm.extractelement": _extract,
    "llvm.insertelement": _insert,
    "llvm.shufflevector": _shuffle_vector,
    "llvm.getelementptr": _gep,
    "llvm.extractvalue": _extract_value,
    "llvm.intr.ctpop": _fixed(_popcount),
}
