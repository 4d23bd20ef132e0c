"""What a random program knows of its values: type, shape, how large, how exact."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

__all__ = [
    "DTYPES",
    "FLOATS",
    "INTEGERS",
    "MATRICES",
    "VECTORS",
    "Shape",
    "Value",
    "bits",
    "fits_integer",
    "is_float",
    "largest",
    "tensor_type",
]

Shape = tuple[int, ...]

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
#: with the largest finite value of each
FLOATS = {"float16": 65504.0, "bfloat16": 3.0e38, "float32": 3.0e38, "float64": 1.0e308}
DTYPES = (*INTEGERS, *FLOATS)
VECTORS: tuple[Shape, ...] = ((32,), (64,), (128,))
MATRICES: tuple[Shape, ...] = ((8, 16), (16, 16), (16, 32), (4, 32))


@dataclass(frozen=True)
class Value:
    """A name of the program.

    ``bound`` is at least the largest absolute value of a float, infinite when it may overflow; integers wrap
    around and have none.  ``exact`` says that every target must compute the same value.
    """

    name: str
    dtype: str
    shape: Shape
    bound: float = math.inf
    exact: bool = field(default=True)

    @property
    def numel(self) -> int:
        """Elements of the block."""
        return math.prod(self.shape)


def is_float(dtype: str) -> bool:
    """Whether ``dtype`` is a floating-point type."""
    return dtype in FLOATS


def bits(dtype: str) -> int:
    """The width of ``dtype``."""
    return int("".join(c for c in dtype if c.isdigit()))


def largest(dtype: str) -> float:
    """The largest magnitude that every integer type or float ``dtype`` represents."""
    if dtype in FLOATS:
        return FLOATS[dtype]
    return float(2 ** (bits(dtype) - (0 if dtype.startswith("u") else 1)) - 1)


def fits_integer(value: Value, dtype: str) -> bool:
    """Whether a float is known to be in the range of the integer type: other casts mean nothing."""
    return not dtype.startswith("u") and value.bound < largest(dtype)


def tensor_type(dtype: str) -> str:
    """``tl.int32`` of ``int32``."""
    return f"tl.{dtype}"
