"""Static knowledge of a random program's values, and the rules of Triton for the type of a result."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

__all__ = [
    "BOOL",
    "COLUMNS_AND_ROWS",
    "DTYPES",
    "FLOATS",
    "INTEGERS",
    "MATRICES",
    "VECTORS",
    "Array",
    "Shape",
    "Value",
    "bits",
    "broadcast",
    "is_float",
    "is_signed",
    "numpy_dtype",
    "promoted",
    "summed",
]

Array = npt.NDArray[Any]
Shape = tuple[int, ...]

BOOL = "int1"
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
DTYPES = (*INTEGERS, *FLOATS)
VECTORS: tuple[Shape, ...] = ((32,), (64,), (128,))
MATRICES: tuple[Shape, ...] = ((8, 16), (16, 16), (16, 32), (4, 32))
COLUMNS_AND_ROWS: tuple[Shape, ...] = ((8, 1), (16, 1), (1, 16), (1, 32))

_NUMPY = {BOOL: np.dtype(bool), "bfloat16": np.dtype(ml_dtypes.bfloat16)}


@dataclass(frozen=True)
class Value:
    """A name of the program; ``exact`` says that every target must compute the same value."""

    name: str
    dtype: str
    shape: Shape
    exact: bool = field(default=True)

    @property
    def numel(self) -> int:
        """Elements of the block."""
        return math.prod(self.shape)


def numpy_dtype(name: str) -> np.dtype[Any]:
    """NumPy's type of a type's name; ``int1`` is bool."""
    return _NUMPY.get(name) or np.dtype(name)


def is_float(dtype: str) -> bool:
    """True if ``dtype`` is a floating-point type."""
    return dtype in FLOATS


def is_signed(dtype: str) -> bool:
    """True if ``dtype`` is a signed integer type; ``int1`` is unsigned."""
    return dtype.startswith("int") and dtype != BOOL


def bits(dtype: str) -> int:
    """The width of ``dtype``."""
    return int("".join(c for c in dtype if c.isdigit()))


def promoted(x: str, y: str) -> str:
    """The type in which Triton computes with two tensors: its ``computation_type_impl``.

    fp64 over fp32 over fp16; bf16 with anything but itself or fp16 gives fp32; integers as in C, without
    the promotion to int.
    """
    if x == y:
        return x
    kinds = {x, y}
    for dtype in ("float64", "float32", "float16"):
        if dtype in kinds:
            return dtype
    if "bfloat16" in kinds:
        return "float32"
    if is_signed(x) == is_signed(y):
        return x if bits(x) > bits(y) else y
    unsigned, signed = (y, x) if is_signed(x) else (x, y)
    return unsigned if bits(unsigned) >= bits(signed) else signed


def summed(dtype: str) -> str:
    """The type of a sum, running sum or running product: integers narrower than 32 bits become 32 bits wide."""
    if is_float(dtype) or bits(dtype) >= 32:
        return dtype
    return "int32" if is_signed(dtype) else "uint32"


def broadcast(x: Shape, y: Shape) -> Shape:
    """The shape of an operation on two shapes of one rank, or on a scalar and another."""
    return tuple(np.broadcast_shapes(x, y))
