"""Operands of MFMA as numbers: registers' bits to values whose products are exact in double precision."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["values"]

Array = npt.NDArray[Any]

#: 8-bit floats: bits of exponent and mantissa, and what encodings beyond numbers mean: IEEE 754's, the OCP formats' single NaN
#: ("fn"), or a NaN instead of the negative zero and an exponent's bias greater by 1 ("fnuz")
_FLOAT8 = {
    "f8E4M3FN": (4, 3, "fn"),
    "f8E5M2": (5, 2, ""),
    "f8E4M3FNUZ": (4, 3, "fnuz"),
    "f8E5M2FNUZ": (5, 2, "fnuz"),
}
#: magnitudes of e2m1 by their bits (OCP Microscaling Formats 1.0)
_E2M1 = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
#: bits of f32's mantissa that xf32 lacks
_XF32 = np.uint32(0xFFFFE000)


@cache
def _float8(kind: str) -> Array:
    """All values of an 8-bit float, by their bits."""
    exponent, mantissa, special = _FLOAT8[kind]
    bits = np.arange(256)
    e, f = bits >> mantissa & (1 << exponent) - 1, bits & (1 << mantissa) - 1
    bias = (1 << exponent - 1) - (special != "fnuz")
    size = np.where(e == 0, f * 2.0 ** (1 - bias - mantissa), (1 + f / (1 << mantissa)) * 2.0 ** (e - bias))
    top = e == (1 << exponent) - 1
    if not special:
        size = np.where(top, np.where(f == 0, np.inf, np.nan), size)
    if special == "fn":
        size = np.where(top & (f == (1 << mantissa) - 1), np.nan, size)
    signed = np.where(bits >> 7 == 1, -size, size)
    return np.where(bits == 0x80, np.nan, signed) if special == "fnuz" else signed


def _e2m1(words: Array) -> Array:
    """Two numbers a byte, the first in the low bits."""
    codes = np.stack([words.view(np.uint8) & 15, words.view(np.uint8) >> 4], axis=-1)
    codes = codes.reshape(len(words), -1)
    return np.where(codes & 8, -1.0, 1.0) * _E2M1[codes & 7]


_DECODE: dict[str, Callable[[Array], Array]] = {
    "f16": lambda words: words.view(np.float16).astype(np.float64),
    "bf16": lambda words: (words.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64),
    "i8": lambda words: words.view(np.int8).astype(np.int64),
    "f32": lambda words: words.view(np.float32).astype(np.float64),
    "xf32": lambda words: (words.view(np.uint32) & _XF32).view(np.float32).astype(np.float64),
    "f64": lambda words: words.view(np.float64),
    "e2m1": _e2m1,
}


def values(words: Array, kind: str) -> Array:
    """(threads, elements) of ``words``, the registers of each thread; ``kind`` is MLIR's element type, ``xf32`` or ``e2m1``."""
    words = np.ascontiguousarray(words)
    words = words.reshape(len(words), -1)
    return _float8(kind)[words.view(np.uint8)] if kind in _FLOAT8 else _DECODE[kind](words)
