"""Rules of ops where floats are integers modulo a power of two (:mod:`tri_core.ring`): the judge of exact passes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tri.interpreter.arrays import Array, Data, numpy_type
from tri.interpreter.calls import Call, Rule
from tri.interpreter.dots import RULES as DOTS
from tri.interpreter.floats import from_f64
from tri.language import types as t
from tri_core import ring
from tri_core.errors import Unsupported

__all__ = ["EXACT_RULES", "add", "constant"]

#: by the name in the ring
_NAMES = {
    "arith.addf": "add", "arith.subf": "sub", "arith.mulf": "mul", "arith.divf": "div", "arith.remf": "rem", "arith.negf": "neg",
    "arith.maximumf": "max", "arith.minimumf": "min", "arith.maxnumf": "max", "arith.minnumf": "min",
    "tt.precise_divf": "div", "tt.approx_divf": "div", "tt.precise_sqrt": "sqrt",
    **{f"math.{name}": name for name in ring.FUNCTIONS},
}  # fmt: skip
#: the operand precisions of dots that are one product: by the numbers of tt.InputPrecision
_ONE_PRODUCT = (0, 2)


def constant(value: float, type_: t.dtype) -> Data:
    """The element for a literal, as one float of ``type_``."""
    dtype = _checked(type_)
    rounded = float(from_f64(value, type_))
    return np.asarray(ring.literal(rounded, 8 * dtype.itemsize)).astype(f"i{dtype.itemsize}").view(dtype)


def _checked(type_: t.dtype) -> np.dtype[Any]:
    dtype = numpy_type(type_)
    if type_.scalar.is_fp8() or dtype.itemsize < 2:
        raise Unsupported(
            f"{type_.scalar} has no exact arithmetic", remedy="verify the kernel without exact passes"
        )
    return dtype


def _numbers(call: Call) -> list[Data]:
    for type_ in call.types:
        _checked(type_)
    return [ring.numbers(v.data) for v in call.operands]


def _function(name: str) -> Rule:
    function = ring.function(name)
    return lambda call: Array(np.asarray(function(*_numbers(call))).view(_checked(call.result)))


def _compare(call: Call) -> Array:
    return Array(ring.compare(call.attributes["predicate"], *_numbers(call)))


def _clamp(call: Call) -> Array:
    x, low, high = _numbers(call)
    raised = ring.function("max")(x, low)
    return Array(ring.function("min")(raised, high).view(call.dtype))


def _always(truth: Callable[[Data], Data]) -> Rule:
    return lambda call: Array(np.asarray(truth(_numbers(call)[0])))


def _is_infinite(x: Data) -> Data:
    return np.asarray((x == ring.INFINITY) | (x == -ring.INFINITY))


# --- conversions ----------------------------------------------------------------------------------------


def _between_floats(call: Call) -> Array:
    """The low bits, or an extension by the sign; toward zero a function of its own."""
    (x,) = _numbers(call)
    dtype = _checked(call.result)
    if call.attributes.get("rounding", 1) == 0 and dtype.itemsize < x.dtype.itemsize:
        x = ring.function("rtz")(x)
    return Array(x.astype(f"i{dtype.itemsize}").view(dtype))


def _to_float(call: Call, *, signed: bool) -> Array:
    (source,) = call.operands
    data, dtype = source.data, _checked(call.result)
    if data.dtype == np.bool_:
        data = -data.astype(np.int8) if signed else data.astype(np.int8)
    elif not signed:
        data = data.view(f"u{data.dtype.itemsize}")
    return Array(np.asarray(data.astype(f"i{dtype.itemsize}")).view(dtype))


def _to_integer(call: Call, *, signed: bool) -> Array:
    (x,) = _numbers(call)
    if call.dtype == np.bool_:
        return Array(np.asarray((x & 1).astype(np.bool_)))
    source = x if signed else x.view(f"u{x.dtype.itemsize}")
    return Array(np.asarray(source.astype(call.dtype)))


# --- dots and sums --------------------------------------------------------------------------------------


def _dot(call: Call) -> Array:
    if call.result.scalar.is_int():
        made = DOTS["tt.dot"](call)
        assert isinstance(made, Array)
        return made
    if call.attributes["inputPrecision"] not in _ONE_PRODUCT and call.types[0].scalar.is_fp32():
        raise Unsupported(
            "a dot whose operands are split into narrower ones has no exact arithmetic",
            remedy='use input_precision="ieee" or "tf32" in what is verified',
        )
    x, y, total = _numbers(call)
    # sums narrower than f32 are cut once, and wrap around in the same way
    return Array(np.asarray(ring.product_sum(x, y, total)).view(_checked(call.result)))


def _refused(call: Call) -> Array:
    raise Unsupported(f"{call.name} has no exact arithmetic", remedy="verify the kernel without exact passes")


def add(old: Data, new: Data) -> Data:
    """Content of memory behind an atomic addition."""
    return np.asarray(ring.numbers(old) + ring.numbers(new)).view(old.dtype)


EXACT_RULES: dict[str, Rule] = {
    **{op: _function(name) for op, name in _NAMES.items()},
    "arith.cmpf": _compare,
    "tt.clampf": _clamp,
    "math.isnan": _always(lambda x: np.zeros(x.shape, np.bool_)),
    "math.isinf": _always(_is_infinite),
    "math.isfinite": _always(lambda x: ~_is_infinite(x)),
    **dict.fromkeys(("arith.extf", "arith.truncf", "tt.fp_to_fp"), _between_floats),
    "arith.sitofp": partial(_to_float, signed=True),
    "arith.uitofp": partial(_to_float, signed=False),
    "arith.fptosi": partial(_to_integer, signed=True),
    "arith.fptoui": partial(_to_integer, signed=False),
    "tt.dot": _dot,
    "tt.dot_scaled": _refused,
}
