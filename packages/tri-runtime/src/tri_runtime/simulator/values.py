"""Types of the ``llvm`` dialect as NumPy sees them.

A value is an array whose first axis is the threads: a scalar has shape ``(threads,)``, a vector of n
``(threads, n)``, a struct is a tuple.  i1 is bool, iN intN, a pointer int64, bf16 the bits in uint16.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tri_core.errors import Unsupported
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir

__all__ = ["Shape", "shape_of", "to_bf16", "to_f32", "unsigned"]

Array = npt.NDArray[Any]

_FLOATS = {"f16": np.float16, "bf16": np.uint16, "f32": np.float32, "f64": np.float64}
_INTEGERS = {1: np.bool_, 8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}


@dataclass(frozen=True)
class Shape:
    """Type of a value: ``dtype``, elements (1 for a scalar), bits of an element, a flag for bf16."""

    dtype: np.dtype[np.generic]
    count: int
    bits: int
    bf16: bool = False


def shape_of(type_: ir.Type) -> Shape:
    """The shape of a scalar, vector or pointer type."""
    count = 1
    if isinstance(type_, ir.VectorType):
        count, type_ = type_.shape[0], type_.element_type
    if isinstance(type_, ir.IntegerType):
        if type_.width not in _INTEGERS:
            raise Unsupported(f"the simulator has no i{type_.width}")
        return Shape(np.dtype(_INTEGERS[type_.width]), count, type_.width)
    if isinstance(type_, ir.FloatType):
        name = str(type_)
        if name not in _FLOATS:
            raise Unsupported(f"the simulator has no {name}")
        return Shape(np.dtype(_FLOATS[name]), count, type_.width, name == "bf16")
    if str(type_).startswith("!llvm.ptr"):
        return Shape(np.dtype(np.int64), count, 64)
    raise Unsupported(f"the simulator has no {type_}")


def unsigned(values: Array) -> Array:
    """The same bits as unsigned integers; bool stays."""
    return values if values.dtype == np.bool_ else values.view(f"u{values.dtype.itemsize}")


def to_f32(bits: Array) -> Array:
    """bf16 bits as f32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def to_bf16(values: Array) -> Array:
    """Floats rounded to nearest even, as bf16 bits."""
    wide = np.asarray(values, np.float32).view(np.uint32)
    rounded = ((wide + 0x7FFF + ((wide >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FC0), rounded)
