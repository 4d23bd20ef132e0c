"""Registers as NumPy sees them: bits of a register as unsigned words over the threads, and PTX types as views of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_nvidia.text.syntax import bits_of

__all__ = ["Array", "as_type", "dtype_of", "is_float", "is_signed", "joined", "raw", "split", "word"]

Array = npt.NDArray[Any]

_WORDS: dict[int, type[np.generic]] = {1: np.bool_, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
_FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def word(bits: int) -> np.dtype[Any]:
    """The word of ``bits``; 1: a predicate.  Words of 128 bits are rows of two."""
    return np.dtype(_WORDS[64 if bits == 128 else bits])


def is_float(type_: str) -> bool:
    """True for a type of floats, packed ones too."""
    return type_[0] == "f" or type_.startswith(("bf", "e4m3", "e5m2", "tf32"))


def is_signed(type_: str) -> bool:
    """True for ``s8`` to ``s64``."""
    return type_[0] == "s"


def dtype_of(type_: str) -> np.dtype[Any]:
    """The dtype in which a scalar type computes; bf16, packed and bit types are unsigned words."""
    if type_ in _FLOATS:
        return np.dtype(_FLOATS[type_])
    bits = bits_of(type_)
    if is_signed(type_) and "x" not in type_:
        return np.dtype(f"i{bits // 8}")
    return word(bits)


def as_type(values: Array, type_: str) -> Array:
    """The lowest bits of register words as ``type_``."""
    kind = dtype_of(type_)
    if kind == np.bool_ or values.ndim > 1:
        return values
    return np.ascontiguousarray(values.astype(word(8 * kind.itemsize), copy=False)).view(kind)


def raw(values: Array, type_: str, bits: int) -> Array:
    """Values of ``type_`` as words of a register of ``bits``: extended by the sign where the type has one."""
    if bits == 1 or values.ndim > 1:
        return values
    kind = dtype_of(type_)
    found = np.ascontiguousarray(values.astype(kind, copy=False))
    if 8 * kind.itemsize == bits:
        return found.view(word(bits))
    if kind.kind == "f":
        found = found.view(word(8 * kind.itemsize))
    return found.astype(word(bits))


def split(values: Array, bits: int, count: int) -> list[Array]:
    """``count`` words that make up each of ``values`` of ``bits``, the lowest first."""
    part = bits // count
    whole = np.ascontiguousarray(values).reshape(len(values), -1).view(word(part))
    return [np.ascontiguousarray(whole[:, i]) for i in range(count)]


def joined(parts: Sequence[Array], bits: int) -> Array:
    """Words side by side, the first lowest, as words of ``bits``."""
    stacked = np.ascontiguousarray(np.stack(parts, axis=1)).view(word(bits))
    return stacked if bits == 128 else stacked[:, 0]
