"""Casts between float formats by ``cvt`` instructions.

Small floats that LLVM has no type for are integers of their width.  A packed conversion takes two values, neighbours of a tensor's
registers (ptxas merges nothing); of a value alone its upper half is zero, and one instruction still replaces a dozen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tri_backend_nvidia.machine import ConvertOp
from tri_core.api import Target
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder

__all__ = ["cast", "cast_all"]

#: MLIR's name -> that of the packed PTX type
_FP8 = {"f8E4M3FN": "e4m3x2", "f8E5M2": "e5m2x2"}
#: formats that hold every 8-bit float, and that f32 holds
_WIDER = ("f16", "bf16", "f32")


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


def cast_all(
    b: Builder, target: Target, values: Sequence[ir.Value], source: str, result: str, rounding: str
) -> list[ir.Value] | None:
    """``values`` of format ``source`` as ``result``, two to an instruction; None where each is cast alone."""
    if not target.has("fp8-convert"):
        return None
    paired = len(values) // 2 * 2
    pairs = [(values[i], values[i + 1]) for i in range(0, paired, 2)]
    if source in _FP8 and result in _WIDER:
        made = [value for pair in pairs for value in _pair_from_fp8(b, pair, _FP8[source], result)]
    elif result in _FP8 and source in _WIDER and rounding == "rtne":
        made = [value for pair in pairs for value in _pair_to_fp8(b, pair, source, _FP8[result])]
    else:
        return None
    alone = (cast(b, target, value, source, result, rounding) for value in values[paired:])
    return [*made, *(value for value in alone if value is not None)]


def _pair_from_fp8(b: Builder, pair: Sequence[ir.Value], packed: str, result: str) -> Iterator[ir.Value]:
    bits = b.bitcast(b.pack(pair), b.i16)
    halves = b.bitcast(_convert(b, f"cvt.rn.f16x2.{packed}", [bits], b.i32), b.vector_type(b.f16, 2))
    if result == "bf16":
        singles = b.op("llvm.fpext", (halves,), b.vector_type(b.f32, 2))
        yield from b.unpack(b.op("llvm.fptrunc", (singles,), b.vector_type(b.bf16, 2)))
        return
    for half in b.unpack(halves):
        yield half if result == "f16" else b.op("llvm.fpext", (half,), b.f32)


def _pair_to_fp8(b: Builder, pair: Sequence[ir.Value], source: str, packed: str) -> list[ir.Value]:
    low, high = (value if source == "f32" else b.op("llvm.fpext", (value,), b.f32) for value in pair)
    bits = _convert(b, f"cvt.rn.satfinite.{packed}.f32", [high, low], b.i16)
    return b.unpack(b.bitcast(bits, b.vector_type(b.i8, 2)))


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
    if result not in (*_WIDER, "f64"):
        return None
    halves = _convert(b, f"cvt.rn.f16x2.{packed}", [b.int_cast(value, b.i16)], b.i32)
    half = b.bitcast(b.int_cast(halves, b.i16), b.f16)
    if result == "f16":
        return half
    single = b.op("llvm.fpext", (half,), b.f64 if result == "f64" else b.f32)
    return b.op("llvm.fptrunc", (single,), b.bf16) if result == "bf16" else single


def _toward_zero(b: Builder, target: Target, value: ir.Value, result: str) -> ir.Value | None:
    if result == "bf16" and not target.has("bf16"):
        return None
    bits = _convert(b, f"cvt.rz.{result}.f32", [value], b.i16)
    return b.bitcast(bits, b.f16 if result == "f16" else b.bf16)
