"""Casts to and from 8-bit floats by instructions that take two, four to a register; ``f8E5M2`` is the upper half of f16 anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tri_backend_amd.dialect import ConvertScaledOp, DecodeFloat8Op, EncodeFloat8Op, PermuteBytesOp
from tri_backend_amd.dialect.microscaling import SOURCES
from tri_core.mlir import ir
from tri_core.target import Target
from tri_gpu_dialect.lowering import Builder
from tri_gpu_dialect.lowering.formats import narrow_to_odd

__all__ = ["cast_all", "upper_half"]

_FNUZ = ("f8E4M3FNUZ", "f8E5M2FNUZ")
_OCP = ("f8E4M3FN", "f8E5M2")
#: formats that instructions convert, by family of processors
_FORMATS = {"cdna3": _FNUZ, "cdna4": _OCP, "rdna4": _OCP, "cdna5": _OCP}


def cast_all(
    b: Builder, target: Target, values: Sequence[ir.Value], source: str, result: str, rounding: str
) -> list[ir.Value] | None:
    """``values`` of format ``source`` as ``result``; None where plain LLVM or bit manipulation does it."""
    known = next((formats for family, formats in _FORMATS.items() if target.has(family)), ())
    if source == "f8E5M2" and result in ("f16", *(() if source in known else ("f32",))):
        halves = list(_upper_halves(b, values))
        return halves if result == "f16" else [b.op("llvm.fpext", (half,), b.f32) for half in halves]
    if source in known and result in ("f16", "bf16") and target.has("cdna4"):
        return list(_scaled(b, values, source, result))
    if source in known and result in _FROM_F32:
        return [_FROM_F32[result](b, value) for value in _decoded(b, values, source)]
    if result in known and source in _TO_F32 and rounding == "rtne":
        return list(_encoded(b, [_TO_F32[source](b, value) for value in values], result))
    return None


def _words(b: Builder, values: Sequence[ir.Value]) -> Iterator[tuple[ir.Value, int]]:
    """``values`` in words of four, the last one filled with zeros, and how many are in each."""
    for four in _batches(values, 4):
        filled = [*four, *[b.const(b.int_type(8), 0)] * (4 - len(four))]
        yield b.bitcast(b.pack(filled), b.i32), len(four)


def _upper_halves(b: Builder, values: Sequence[ir.Value]) -> Iterator[ir.Value]:
    """f16 whose upper bytes are ``values``."""
    type_ = b.vector_type(b.f16, 2)
    for word, count in _words(b, values):
        for first in range(0, count, 2):
            selector = sum(byte << 8 * i for i, byte in enumerate((4, first, 4, first + 1)))
            attributes = {"selector": ir.IntegerAttr.get(b.i32, selector)}
            (pair,) = PermuteBytesOp.build([word, b.int_(0)], [b.i32], attributes)
            yield from b.unpack(b.bitcast(pair, type_))[: count - first]


def _decoded(b: Builder, values: Sequence[ir.Value], format_: str) -> Iterator[ir.Value]:
    """f32 of ``values``."""
    type_ = b.vector_type(b.f32, 2)
    for word, count in _words(b, values):
        for first in range(0, count, 2):
            pair = DecodeFloat8Op.build([word], [type_], _which(b, "format", format_, first))[0]
            yield from b.unpack(pair)[: count - first]


def _scaled(b: Builder, values: Sequence[ir.Value], format_: str, result: str) -> Iterator[ir.Value]:
    """``values`` times one as f16 or bf16."""
    type_ = b.vector_type(b.f16 if result == "f16" else b.bf16, 2)
    source = next(name for name, each in SOURCES.items() if each.type == format_)
    for word, count in _words(b, values):
        for first in range(0, count, 2):
            which = _which(b, "source", source, first)
            pair = ConvertScaledOp.build([word, b.float_(1.0)], [type_], which)[0]
            yield from b.unpack(pair)[: count - first]


def _encoded(b: Builder, values: Sequence[ir.Value], format_: str) -> Iterator[ir.Value]:
    """``values`` (f32) as numbers of ``format_``."""
    for four in _batches(values, 4):
        word = b.int_(0)
        for half, pair in enumerate(_batches(four, 2)):
            operands = [pair[0], pair[-1], word]
            word = EncodeFloat8Op.build(operands, [b.i32], _which(b, "format", format_, half))[0]
        yield from b.unpack(b.bitcast(word, b.vector_type(b.int_type(8), 4)))[: len(four)]


def _batches(values: Sequence[ir.Value], size: int) -> Iterator[Sequence[ir.Value]]:
    for first in range(0, len(values), size):
        yield values[first : first + size]


def _which(b: Builder, name: str, value: str, half: int) -> dict[str, ir.Attribute]:
    return {name: ir.StringAttr.get(value), "high": ir.IntegerAttr.get(b.i32, int(half > 0))}


def upper_half(b: Builder, value: ir.Value) -> ir.Value:
    """As bf16, an f32 that it holds exactly."""
    return b.bitcast(b.int_cast(b.lshr(b.bitcast(value, b.i32), 16), b.i16), b.bf16)


#: what f32 that hold 8-bit floats become, exactly
_FROM_F32: dict[str, Callable[[Builder, ir.Value], ir.Value]] = {
    "f16": lambda b, value: b.op("llvm.fptrunc", (value,), b.f16),
    "bf16": upper_half,
    "f32": lambda _, value: value,
    "f64": lambda b, value: b.op("llvm.fpext", (value,), b.f64),
}
#: f32 that round to the same 8-bit floats
_TO_F32: dict[str, Callable[[Builder, ir.Value], ir.Value]] = {
    "f16": lambda b, value: b.op("llvm.fpext", (value,), b.f32),
    "bf16": lambda b, value: b.op("llvm.fpext", (value,), b.f32),
    "f32": lambda _, value: value,
    "f64": narrow_to_odd,
}
