"""Casts between float formats by ``cvt`` instructions.

Small floats that LLVM has no type for are integers of their width.  A packed conversion takes two values;
its upper half is left zero, and ptxas merges nothing, but one instruction still replaces a dozen.
"""

from __future__ import annotations

from tri_backend_nvidia.machine import ConvertOp
from tri_core.api import Target
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder

__all__ = ["cast"]

#: MLIR's name -> that of the packed PTX type
_FP8 = {"f8E4M3FN": "e4m3x2", "f8E5M2": "e5m2x2"}


def cast(
    b: Builder, target: Target, value: ir.Value, source: str, result: str, rounding: str
) -> ir.Value | None:
    """``value`` of format ``source`` as ``result``; None where plain LLVM or bit manipulation does it."""
    if target.has("fp8-convert"):
        if result in _FP8 and rounding == "rtne":
            return _to_fp8(b, value, source, _FP8[result])
        if source in _FP8:
            return _from_fp8(b, value, _FP8[source], result)
    if rounding == "rtz" and source == "f32" and result in ("f16", "bf16"):
        return _toward_zero(b, target, value, result)
    return None


def _convert(b: Builder, instruction: str, values: list[ir.Value], type_: ir.Type) -> ir.Value:
    return ConvertOp.build(values, [type_], {"instruction": ir.StringAttr.get(instruction)})[0]


def _to_fp8(b: Builder, value: ir.Value, source: str, packed: str) -> ir.Value | None:
    """From f32, or from what f32 holds exactly; rounding twice would be wrong for f64."""
    if source in ("f16", "bf16"):
        value = b.op("llvm.fpext", (value,), b.f32)
    elif source != "f32":
        return None
    instruction = f"cvt.rn.satfinite.{packed}.f32"
    pair = _convert(b, instruction, [b.float_(0.0), value], b.i16)
    return b.int_cast(pair, b.i8)


def _from_fp8(b: Builder, value: ir.Value, packed: str, result: str) -> ir.Value | None:
    """To f16, which holds every fp8 exactly, and from there on."""
    if result not in ("f16", "f32", "f64"):
        return None
    halves = _convert(b, f"cvt.rn.f16x2.{packed}", [b.int_cast(value, b.i16)], b.i32)
    half = b.bitcast(b.int_cast(halves, b.i16), b.f16)
    return half if result == "f16" else b.op("llvm.fpext", (half,), b.f32 if result == "f32" else b.f64)


def _toward_zero(b: Builder, target: Target, value: ir.Value, result: str) -> ir.Value | None:
    if result == "bf16" and not target.has("bf16"):
        return None
    bits = _convert(b, f"cvt.rz.{result}.f32", [value], b.i16)
    return b.bitcast(bits, b.f16 if result == "f16" else b.bf16)
