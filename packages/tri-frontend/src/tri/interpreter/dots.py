"""Dots: one fused multiply-add per element of the inner dimension, in order, rounded every time."""

from __future__ import annotations

import numpy as np

from tri.interpreter.arrays import Array, Data, numpy_type
from tri.interpreter.calls import Call, Rule
from tri.interpreter.floats import narrow, product_sum, tf32, widen
from tri.language import types as t

__all__ = ["RULES", "multiply"]

#: by the numbers of tt.InputPrecision
_TF32, _TF32X3, _IEEE, _BF16X3, _BF16X6 = range(5)


def _bf16(data: Data) -> Data:
    return narrow(data, t.bfloat16).astype(np.float32)


def _terms(data: Data, precision: int) -> list[Data]:
    """Terms that fp32 operands are read as: numbers of a narrower format, whose sum approximates the operand."""
    if precision == _TF32:
        return [tf32(data)]
    if precision == _TF32X3:
        high = tf32(data)
        return [high, tf32(data - high)]
    if precision in (_BF16X3, _BF16X6):
        high = _bf16(data)
        middle = _bf16(data - high)
        return [high, middle, _bf16(data - high - middle)]
    return [data]


#: which terms of both operands are multiplied, the small terms first
_PRODUCTS: dict[int, tuple[tuple[int, int], ...]] = {
    _TF32: ((0, 0),),
    _TF32X3: ((1, 0), (0, 1), (0, 0)),
    _IEEE: ((0, 0),),
    _BF16X3: ((1, 0), (0, 1), (0, 0)),
    _BF16X6: ((1, 1), (2, 0), (0, 2), (1, 0), (0, 1), (0, 0)),
}


def multiply(x: Data, y: Data, total: Data, precision: int = _IEEE) -> Data:
    """``total + x @ y`` of fp32 (or fp64) arrays, over the last two dimensions."""
    if total.dtype == np.float64:
        for k in range(x.shape[-1]):
            total = total + x[..., :, k, None] * y[..., k, None, :]
        return total
    left, right = _terms(x, precision), _terms(y, precision)
    for i, j in _PRODUCTS[precision]:
        total = product_sum(left[i], right[j], total)
    return total


def _dot(call: Call) -> Array:
    x, y, acc = (v.data for v in call.operands)
    if call.result.scalar.is_int():
        kind = [unsigned_or_signed(v, type_) for v, type_ in zip((x, y), call.types, strict=False)]
        return Array(np.asarray(acc + np.matmul(kind[0], kind[1])))
    if call.result.scalar.is_fp64():
        return Array(multiply(x, y, acc))
    x, y, acc = (widen(v, type_) for v, type_ in zip((x, y, acc), call.types, strict=True))
    precision = call.attributes["inputPrecision"] if call.types[0].scalar.is_fp32() else _IEEE
    return Array(np.asarray(narrow(multiply(x, y, acc, precision), call.result)))


def unsigned_or_signed(data: Data, type_: t.dtype) -> Data:
    """8-bit integers as int32, which holds their products."""
    return (data.view(np.uint8) if type_.scalar.is_int_unsigned() else data).astype(np.int32)


# --- scaled operands --------------------------------------------------------------------------------------

_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
#: by the numbers of tt.ScaleDotElemType; 4 is e2m1, two in a byte
_FORMATS: dict[int, t.dtype] = {0: t.float8e4nv, 1: t.float8e5, 5: t.bfloat16, 6: t.float16}
_PAIRS = 4
_GROUP = 32


def _unpacked(data: Data, axis: int) -> Data:
    """Two e2m1 numbers of each byte along ``axis``, the first from the low bits, as fp64."""
    codes = np.stack([data & 15, (data >> 4) & 15], axis=axis % data.ndim + 1)
    shape = list(data.shape)
    shape[axis] *= 2
    return np.asarray(_E2M1[codes.reshape(shape)])


def _scaled(data: Data, format_: int, pack_axis: int, scale: Data | None, k_axis: int) -> Data:
    """An operand times its scales (e8m0, of rows or columns by groups along K), exactly, as fp64."""
    if format_ == _PAIRS:
        made = _unpacked(data, pack_axis)
    else:
        made = data.view(numpy_type(_FORMATS[format_])).astype(np.float64)
    if scale is None:
        return made
    codes = scale.view(np.uint8)
    factors = np.where(codes == 0xFF, np.nan, 2.0 ** (codes.astype(np.float64) - 127))
    spread = np.repeat(factors, _GROUP, axis=-1)
    return made * (spread if k_axis == -1 else np.swapaxes(spread, -1, -2))


def _dot_scaled(call: Call) -> Array:
    """Operands scaled exactly, then as a dot of fp32."""
    x, y, acc, *scales = (v.data for v in call.operands)
    given, attributes = call.attributes["operandSegmentSizes"], call.attributes
    x_scale = scales.pop(0) if given[3] else None
    y_scale = scales.pop(0) if given[4] else None
    x_pack, y_pack = (attributes.get(f"{side}_k_pack", True) for side in ("lhs", "rhs"))
    left = _scaled(x, attributes["a_elem_type"], -1 if x_pack else -2, x_scale, -1)
    right = _scaled(y, attributes["b_elem_type"], -2 if y_pack else -1, y_scale, -2)
    return Array(product_sum(left, right, acc))


RULES: dict[str, Rule] = {"tt.dot": _dot, "tt.dot_scaled": _dot_scaled}
