"""Matrix products: one fused multiply-add per element of the inner dimension, in order, rounded every time."""

from __future__ import annotations

import numpy as np

from tri.interpreter.arrays import Array, Data
from tri.interpreter.calls import Call, Rule
from tri.interpreter.floats import narrow, product_sum, tf32, widen
from tri.language import types as t

__all__ = ["RULES", "multiply"]

#: by the numbers of tt.InputPrecision
_TF32, _TF32X3, _IEEE, _BF16X3, _BF16X6 = range(5)


def _bf16(data: Data) -> Data:
    return narrow(data, t.bfloat16).astype(np.float32)


def _terms(data: Data, precision: int) -> list[Data]:
    """What fp32 operands are read as: numbers of a narrower format, whose sum comes near the operand."""
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


#: which terms of both operands are multiplied, the small products first
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


RULES: dict[str, Rule] = {"tt.dot": _dot}
