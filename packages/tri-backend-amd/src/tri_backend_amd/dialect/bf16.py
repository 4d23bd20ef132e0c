"""bf16 in simulations: arrays of their bits (u16)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["from_f32", "to_f32"]

Array = npt.NDArray[Any]


def to_f32(bits: Array) -> Array:
    """The numbers, exactly."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def from_f32(values: Array) -> Array:
    """Rounded to nearest, ties to even."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)
