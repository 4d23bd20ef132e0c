"""Element types and tensor shapes, independent of the bindings."""

from __future__ import annotations

import math
from functools import cache
from typing import Literal

from tri_core.lazy_dataclasses import dataclass

__all__ = ["DType", "FloatFormat", "Type", "dtype_of"]


@dataclass(frozen=True)
class FloatFormat:
    """The bit layout of a float type: exponent and mantissa bits, and which special values exist.

    ``nonfinite``: ``"ieee"`` (infinities and NaNs), ``"nan_all_ones"`` (no infinity, one NaN pattern per
    sign), ``"nan_negative_zero"`` (no infinity, the pattern of -0 is the only NaN).
    """

    exponent: int
    mantissa: int
    bias: int
    nonfinite: Literal["ieee", "nan_all_ones", "nan_negative_zero"] = "ieee"


#: float types by MLIR's name
FLOAT_FORMATS: dict[str, FloatFormat] = {
    "f64": FloatFormat(11, 52, 1023),
    "f32": FloatFormat(8, 23, 127),
    "f16": FloatFormat(5, 10, 15),
    "bf16": FloatFormat(8, 7, 127),
    "f8E5M2": FloatFormat(5, 2, 15),
    "f8E4M3FN": FloatFormat(4, 3, 7, "nan_all_ones"),
    "f8E4M3FNUZ": FloatFormat(4, 3, 8, "nan_negative_zero"),
    "f8E5M2FNUZ": FloatFormat(5, 2, 16, "nan_negative_zero"),
    "f8E4M3B11FNUZ": FloatFormat(4, 3, 11, "nan_negative_zero"),
}


@dataclass(frozen=True)
class DType:
    """An element type: ``name`` as MLIR writes it (``"ptr"`` for pointers), ``bits`` in memory.

    For a pointer ``pointee`` is what it points to.
    """

    name: str
    kind: Literal["int", "float", "ptr"]
    bits: int
    pointee: DType | None = None

    @property
    def is_float(self) -> bool:
        """True if the type is a float of any width."""
        return self.kind == "float"

    @property
    def is_int(self) -> bool:
        """True if the type is an integer (booleans included)."""
        return self.kind == "int"

    @property
    def is_pointer(self) -> bool:
        """True if the type is a pointer."""
        return self.kind == "ptr"

    @property
    def nbytes(self) -> int:
        """Bytes of one element in memory; booleans take one."""
        return max(self.bits, 8) // 8

    @property
    def element(self) -> DType:
        """Pointee type of a pointer; the type itself for numbers."""
        return self.pointee or self

    @property
    def format(self) -> FloatFormat:
        """The float format; KeyError for other types."""
        return FLOAT_FORMATS[self.name]

    def __str__(self) -> str:
        return f"ptr<{self.pointee}>" if self.pointee is not None else self.name


@cache
def dtype_of(name: str) -> DType:
    """The integer or float type of MLIR's ``name``; KeyError for any other."""
    if name in FLOAT_FORMATS:
        layout = FLOAT_FORMATS[name]
        return DType(name, "float", 1 + layout.exponent + layout.mantissa)
    if name.startswith("i") and name[1:].isdigit():
        return DType(name, "int", int(name[1:]))
    raise KeyError(name)


@dataclass(frozen=True)
class Type:
    """A scalar (``shape`` is None) or a tensor of ``dtype``."""

    dtype: DType
    shape: tuple[int, ...] | None = None

    @property
    def numel(self) -> int:
        """The number of elements; 1 for a scalar."""
        return math.prod(self.shape or ())

    def __str__(self) -> str:
        if self.shape is None:
            return str(self.dtype)
        return f"tensor<{'x'.join(map(str, (*self.shape, self.dtype)))}>"
