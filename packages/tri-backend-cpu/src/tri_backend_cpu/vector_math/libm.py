"""Calls of the C library's functions, one per lane."""

from __future__ import annotations

from tri_backend_cpu.builder import Builder, width_of
from tri_core.mlir import ir
from tri_core.ttir.types import DType

__all__ = ["per_lane"]


def per_lane(b: Builder, name: str, dtype: DType, *operands: ir.Value) -> ir.Value:
    """C function ``name`` (``sin``; f32 takes its ``sinf``) of every lane of ``operands``."""
    symbol = name + ("f" if dtype.bits == 32 else "")
    width = width_of(operands[0])
    if not width:
        return b.call(symbol, operands[0].type, *operands)
    result = b.undefined(dtype, width)
    for lane in range(width):
        scalars = [b.extract(o, lane) for o in operands]
        result = b.insert(result, b.call(symbol, scalars[0].type, *scalars), lane)
    return result
