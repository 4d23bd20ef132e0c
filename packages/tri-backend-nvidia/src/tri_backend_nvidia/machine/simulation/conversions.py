"""Simulation of the conversion instructions (``nvm.convert``), in NumPy."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from tri_backend_nvidia.machine.base import Array
from tri_core.api import Unsupported
from tri_gpu_dialect.lowering.formats import FORMATS, encode_constant

__all__ = ["convert"]

#: the instruction set's names of packed formats -> MLIR's
_PACKED = {"e4m3x2": "f8E4M3FN", "e5m2x2": "f8E5M2"}


def convert(instruction: str, operands: Sequence[Array]) -> Array:
    """The result of ``cvt.<mode>.<to>.<from>``: bits as integers, the first operand in the upper half."""
    _, *modes, target, source = instruction.split(".")
    if target in _PACKED:
        high, low = (_encode(o, _PACKED[target]) for o in operands)
        return (high.astype(np.uint16) << 8 | low).view(np.int16)
    if source in _PACKED:
        (pair,) = operands
        table = _decoded(_PACKED[source])
        high, low = (table[pair.view(np.uint16) >> shift & 0xFF] for shift in (8, 0))
        return (high.view(np.uint16).astype(np.uint32) << 16 | low.view(np.uint16)).view(np.int32)
    if modes == ["rz"] and source == "f32":
        return _toward_zero(operands[0], target)
    if (modes, target, source) == (["rna"], "tf32", "f32"):
        return _nearest_away(operands[0])
    raise Unsupported(f"{instruction} is not simulated", remedy="use the generic expansion")


def _encode(values: Array, name: str) -> Array:
    format_ = FORMATS[name]
    return np.array([encode_constant(float(v), format_) for v in values], np.uint8)


@functools.cache
def _decoded(name: str) -> Array:
    """The f16 value of every pattern of a format of 8 bits; NaNs become the hardware's one NaN, all ones."""
    format_ = FORMATS[name]

    def value(pattern: int) -> float:
        sign, magnitude = (-1.0 if pattern & format_.sign else 1.0), pattern & (format_.sign - 1)
        if format_.infinity is not None and magnitude == format_.infinity:
            return sign * math.inf
        return math.nan if magnitude > format_.largest else sign * format_.value(magnitude)

    table = np.array([value(p) for p in range(256)], np.float16)
    table.view(np.uint16)[np.isnan(table)] = 0x7FFF
    return table


def _nearest_away(values: Array) -> Array:
    """f32 with ten bits of fraction, halves away from zero."""
    bits = values.view(np.uint32)
    rounded = (bits + 0x1000) & 0xFFFFE000
    return np.where(np.isfinite(values), rounded, bits).astype(np.uint32).view(np.int32)


def _toward_zero(values: Array, target: str) -> Array:
    if target == "bf16":
        return (values.view(np.uint32) >> 16).astype(np.uint16).view(np.int16)
    near = values.astype(np.float16)
    over = np.abs(near.astype(np.float32)) > np.abs(values)
    return (near.view(np.int16) - over.astype(np.int16)).astype(np.int16)
