"""The language's types as NumPy knows them, and random numbers of each."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

__all__ = [
    "FLOATS",
    "FP8",
    "INTEGERS",
    "NUMPY",
    "SIGNED",
    "UNSIGNED",
    "Array",
    "canonical",
    "integers",
    "is_float",
    "name_of",
    "normals",
]

Array = npt.NDArray[Any]

#: name in the language -> NumPy's type
NUMPY: dict[str, np.dtype[Any]] = {
    "int1": np.dtype(np.bool_), "int8": np.dtype(np.int8), "int16": np.dtype(np.int16), "int32": np.dtype(np.int32),
    "int64": np.dtype(np.int64), "uint8": np.dtype(np.uint8), "uint16": np.dtype(np.uint16),
    "uint32": np.dtype(np.uint32), "uint64": np.dtype(np.uint64), "fp16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16), "fp32": np.dtype(np.float32), "fp64": np.dtype(np.float64),
    "fp8e4nv": np.dtype(ml_dtypes.float8_e4m3fn), "fp8e5": np.dtype(ml_dtypes.float8_e5m2),
    "fp8e4b8": np.dtype(ml_dtypes.float8_e4m3fnuz), "fp8e5b16": np.dtype(ml_dtypes.float8_e5m2fnuz),
}  # fmt: skip
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)
_NAMES = {dtype: name for name, dtype in NUMPY.items()}
FLOATS = ("fp16", "bf16", "fp32", "fp64")
FP8 = ("fp8e4nv", "fp8e5", "fp8e4b8", "fp8e5b16")


def canonical(name: str) -> str:
    """``int32`` for ``i32`` and ``int32`` alike."""
    if name[:1] == "i" and name[1:].isdigit():
        return f"int{name[1:]}"
    if name[:1] == "u" and name[1:].isdigit():
        return f"uint{name[1:]}"
    return name


def name_of(dtype: np.dtype[Any]) -> str:
    """The language's name of a type of :data:`NUMPY`."""
    return _NAMES[dtype]


def is_float(name: str) -> bool:
    """True if ``name`` is a floating-point type."""
    return name.startswith(("fp", "bf"))


def integers(
    rng: np.random.Generator, dtype: str, count: int, low: int | None = None, high: int | None = None
) -> Array:
    """``count`` integers of all that ``dtype`` holds, or of ``low`` to ``high`` inclusive."""
    kind = NUMPY[dtype]
    if dtype == "int1":
        return rng.integers(0, 2, count).astype(np.bool_)
    info = np.iinfo(kind)
    first = info.min if low is None else max(low, info.min)
    last = info.max if high is None else min(high, info.max)
    return rng.integers(first, last, count, dtype=kind, endpoint=True)


def normals(rng: np.random.Generator, dtype: str, count: int) -> Array:
    """``count`` numbers: normally distributed floats, or integers of every size."""
    if is_float(dtype):
        return rng.standard_normal(count).astype(NUMPY[dtype])
    return integers(rng, dtype, count)
