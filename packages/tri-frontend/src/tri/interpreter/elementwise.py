"""Ops on floats, conversions, choices: element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tri.interpreter.arrays import Array, Data, unsigned
from tri.interpreter.calls import Call, Rule
from tri.interpreter.floats import fma, narrow, single, widen
from tri.language import types as t

__all__ = ["RULES"]

_Function = Callable[..., Any]


def _float(function: _Function) -> Rule:
    """A float op: narrow operands are computed on in fp32 and the result is rounded."""

    def apply(call: Call) -> Array:
        type_ = call.result
        return Array(np.asarray(single(function(*(widen(v.data, type_) for v in call.operands)), type_)))

    return apply


def _precise(function: _Function) -> Rule:
    """A function that NumPy gives to a few ulp: computed in fp64, so that fp32 and less are correctly rounded."""

    def apply(call: Call) -> Array:
        type_ = call.result
        made = function(*(widen(v.data, type_).astype(np.float64) for v in call.operands))
        return Array(np.asarray(narrow(np.asarray(made, np.float64), type_)))

    return apply


def _scalar(function: Callable[..., float]) -> _Function:
    """A function of Python's math module on arrays."""
    each = np.vectorize(function, otypes=[np.float64])
    return lambda *args: each(*args)


_ERF, _ERFC = _scalar(math.erf), _scalar(math.erfc)

_COMPARISONS: dict[int, _Function] = {
    1: np.equal,
    2: np.greater,
    3: np.greater_equal,
    4: np.less,
    5: np.less_equal,
    6: lambda x, y: np.not_equal(x, y) & ~np.isnan(x) & ~np.isnan(y),
    7: lambda x, y: ~np.isnan(x) & ~np.isnan(y),
    8: lambda x, y: np.equal(x, y) | np.isnan(x) | np.isnan(y),
    13: np.not_equal,
    14: lambda x, y: np.isnan(x) | np.isnan(y),
}


def _compare(call: Call) -> Array:
    x, y = (widen(v.data, type_) for v, type_ in zip(call.operands, call.types, strict=True))
    return Array(np.asarray(_COMPARISONS[call.attributes["predicate"]](x, y)))


def _clamp(call: Call) -> Array:
    x, low, high = (widen(v.data, call.result) for v in call.operands)
    if call.attributes["propagateNan"]:
        made = np.minimum(np.maximum(x, low), high)
    else:
        made = np.fmin(np.fmax(x, low), high)
    return Array(np.asarray(single(made, call.result)))


def _fma(call: Call) -> Array:
    x, y, z = (v.data for v in call.operands)
    return Array(np.asarray(fma(x, y, z, call.result)))


def _negate(call: Call) -> Array:
    data = call.operands[0].data
    if call.result.scalar.is_fp8():
        return Array(np.asarray(single(-widen(data, call.result), call.result)))
    return Array(np.asarray(-data))


def _select(call: Call) -> Array:
    """Besides the elements, where they come from and how they would be without wrap-around is chosen."""
    truth, x, y = call.operands
    data = np.asarray(np.where(truth.data, x.data, y.data))
    exact = None
    if x.exact is not None or y.exact is not None:
        exact = np.where(truth.data, _exact(x, call.result), _exact(y, call.result))
    owner: Any = x.owner
    if isinstance(x.owner, np.ndarray) or isinstance(y.owner, np.ndarray) or x.owner != y.owner:
        owner = np.where(truth.data, _owner(x), _owner(y))
    return Array(data, exact, x.origin or y.origin, owner)


def _exact(value: Array, type_: t.dtype) -> Data:
    if value.exact is not None:
        return value.exact
    return (unsigned(value.data) if type_.scalar.is_int_unsigned() else value.data).astype(np.int64)


def _owner(value: Array) -> Any:
    return -1 if value.owner is None else value.owner


# --- conversions ----------------------------------------------------------------------------------------


def _between_floats(call: Call) -> Array:
    (x,) = call.operands
    toward_zero = call.attributes.get("rounding", 1) == 0
    return Array(np.asarray(narrow(widen(x.data, call.types[0]), call.result, toward_zero=toward_zero)))


def _to_float(call: Call) -> Array:
    (x,) = call.operands
    data = x.data if call.name == "arith.sitofp" and x.data.dtype != np.bool_ else unsigned(x.data)
    wide = np.float64 if call.result.scalar.is_fp64() else np.float32
    return Array(np.asarray(narrow(data.astype(wide), call.result)))


def _to_integer(call: Call) -> Array:
    """Toward zero; what does not fit becomes the nearest integer that does, NaN becomes 0."""
    wide = np.trunc(widen(call.operands[0].data, call.types[0]).astype(np.float64))
    bits, signed = call.result.scalar.int_bitwidth, call.name == "arith.fptosi"
    low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if signed else (0, 1 << bits)
    kind = np.dtype(np.int64 if signed else np.uint64)
    inside = np.where((wide >= low) & (wide < high), wide, 0.0).astype(kind)
    made = np.where(
        wide >= high, kind.type(high - 1), np.where(wide < low, kind.type(low & -1 if signed else 0), inside)
    )
    return Array(_fit(np.asarray(made), call))


def _fit(data: Data, call: Call) -> Data:
    if call.dtype == np.bool_:
        return data != 0
    return data.view(np.int64).astype(call.dtype)


def _bitcast(call: Call) -> Array:
    (x,) = call.operands
    if call.result.scalar.is_ptr() or x.owner is not None:
        return x
    return Array(np.asarray(x.data).view(call.dtype))


def _reciprocal_root(x: Data) -> Data:
    return np.asarray(1 / np.sqrt(x))


def _round_away(x: Data) -> Data:
    return np.asarray(np.copysign(np.floor(np.abs(x) + 0.5), x))


_FLOATS: dict[str, _Function] = {
    "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply, "arith.divf": np.divide,
    "arith.remf": np.fmod, "arith.maximumf": np.maximum, "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax, "arith.minnumf": np.fmin, "tt.precise_divf": np.divide,
    "tt.approx_divf": np.divide, "tt.precise_sqrt": np.sqrt, "math.sqrt": np.sqrt, "math.absf": np.abs,
    "math.floor": np.floor, "math.ceil": np.ceil, "math.trunc": np.trunc, "math.roundeven": np.rint,
    "math.round": _round_away, "math.copysign": np.copysign,
}  # fmt: skip
_PRECISE: dict[str, _Function] = {
    "math.exp": np.exp, "math.exp2": np.exp2, "math.expm1": np.expm1, "math.log": np.log, "math.log2": np.log2,
    "math.log10": np.log10, "math.log1p": np.log1p, "math.sin": np.sin, "math.cos": np.cos, "math.tan": np.tan,
    "math.sinh": np.sinh, "math.cosh": np.cosh, "math.tanh": np.tanh, "math.asin": np.arcsin,
    "math.acos": np.arccos, "math.atan": np.arctan, "math.atan2": np.arctan2, "math.asinh": np.arcsinh,
    "math.acosh": np.arccosh, "math.atanh": np.arctanh, "math.cbrt": np.cbrt, "math.powf": np.power,
    "math.rsqrt": _reciprocal_root, "math.erf": _ERF, "math.erfc": _ERFC,
}  # fmt: skip
_TESTS: dict[str, _Function] = {
    "math.isnan": np.isnan, "math.isinf": np.isinf, "math.isfinite": np.isfinite,
}  # fmt: skip


def _test(function: _Function) -> Rule:
    return lambda call: Array(np.asarray(function(widen(call.operands[0].data, call.types[0]))))


RULES: dict[str, Rule] = {
    **{name: _float(function) for name, function in _FLOATS.items()},
    **{name: _precise(function) for name, function in _PRECISE.items()},
    **{name: _test(function) for name, function in _TESTS.items()},
    "arith.cmpf": _compare,
    "tt.clampf": _clamp,
    "math.fma": _fma,
    "arith.negf": _negate,
    "arith.select": _select,
    "arith.extf": _between_floats,
    "arith.truncf": _between_floats,
    "tt.fp_to_fp": _between_floats,
    "arith.sitofp": _to_float,
    "arith.uitofp": _to_float,
    "arith.fptosi": _to_integer,
    "arith.fptoui": _to_integer,
    "tt.bitcast": _bitcast,
}
