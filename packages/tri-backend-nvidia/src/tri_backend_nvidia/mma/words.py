"""Fragments as the registers that matrix instructions take, and ``mma.sync`` itself."""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_nvidia.machine import ConvertOp, MmaOp
from tri_backend_nvidia.mma.table import PTX_TYPES, accumulator_type
from tri_core.dialects.tt.enums import InputPrecision
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder

__all__ = ["multiply", "operand", "packed_sums", "unpacked_sums"]

#: k of the instructions by the width of an operand's element; a row of eight values per four lanes
_INNER = {8: 32, 16: 16, 32: 8, 64: 4}
#: Instructions cut f32 off to tf32, by 0 to 2 of its halves of a last place, which makes sums of products 7e-4 too small.  A factor of
#: 1 + c * 2**-11 goes before it: numbers of tf32, infinities and NaN stay what they are, the error is in (-c, c] of a number's 2**-11 (less
#: than 2 - c beneath a power of two), and where mantissas are spread as 1/m its mean is 0 for c = 1 / (2 ln 2).  ``cvt.rna``, which rounds to nearest, is a
#: comparison and a predicated addition: twice as much for an RMS of 0.43 for 0.45 (docs/design/matmul.md).
_TO_TF32 = 1 + 0.7213 * 2.0**-11


def operand(b: Builder, dot: ir.Operation, index: int, registers: Sequence[ir.Value]) -> list[ir.Value]:
    """32-bit words of packed elements; f32 as tf32 (for tf32x3 rounded to nearest and, after it, what that leaves)."""
    element = dot.operands[index].type.element_type
    width = element.width
    if width == 64:
        return list(registers)
    if width == 32:
        return _tf32(b, registers, exact=_precision(dot) is InputPrecision.TF32X3)
    return _packed(b, registers, 32 // width)


def _packed(b: Builder, registers: Sequence[ir.Value], per: int) -> list[ir.Value]:
    groups = [registers[i : i + per] for i in range(0, len(registers), per)]
    return [b.bitcast(b.pack(list(group)), b.i32) for group in groups]


def packed_sums(b: Builder, registers: Sequence[ir.Value]) -> list[ir.Value]:
    """An accumulator's registers: f16 in pairs of neighbours along a row, the first in the low bits; others as they are.

    PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type" and "Register Fragments" of ``wgmma``: ``.f16x2``.
    """
    return _packed(b, registers, 2) if str(registers[0].type) == "f16" else list(registers)


def unpacked_sums(b: Builder, words: Sequence[ir.Value], element: ir.Type) -> list[ir.Value]:
    """Undo :func:`packed_sums` for an accumulator of ``element``."""
    if str(element) != "f16":
        return list(words)
    pair = b.vector_type(element, 2)
    return [value for word in words for value in b.unpack(b.bitcast(word, pair))]


def _precision(dot: ir.Operation) -> InputPrecision:
    return InputPrecision(ir.IntegerAttr(dot.attributes["inputPrecision"]).value)


def _round(b: Builder, value: ir.Value) -> ir.Value:
    name = ir.StringAttr.get("cvt.rna.tf32.f32")
    return ConvertOp.build([value], [b.i32], {"instruction": name})[0]


def _tf32(b: Builder, registers: Sequence[ir.Value], *, exact: bool) -> list[ir.Value]:
    if not exact:
        return [b.bitcast(b.fmul(value, b.float_(_TO_TF32)), b.i32) for value in registers]
    large = [_round(b, value) for value in registers]
    rest = [b.fsub(value, b.bitcast(word, b.f32)) for value, word in zip(registers, large, strict=True)]
    return large + [_round(b, value) for value in rest]


def multiply(
    b: Builder,
    dot: ir.Operation,
    left: Sequence[ir.Value],
    right: Sequence[ir.Value],
    total: Sequence[ir.Value],
) -> Sequence[ir.Value]:
    """One ``mma.sync``; three for tf32x3, the small dots first."""
    elements = [v.type.element_type for v in list(dot.operands)[:2]]
    m, n = 8 if elements[0].width == 64 else 16, 8
    kinds = [
        *(PTX_TYPES[str(e)] for e in elements),
        accumulator_type(total[0].type),
    ]
    sums = packed_sums(b, total)
    attributes: dict[str, ir.Attribute] = {
        "shape": ir.StringAttr.get(f"m{m}n{n}k{_INNER[elements[0].width]}"),
        "kinds": ir.StringAttr.get(" ".join(kinds)),
    }
    for one, other in _dots(left, right, split=elements[0].width == 32 and len(left) == 8):
        attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([len(one), len(other), len(sums)])
        sums = MmaOp.build([*one, *other, *sums], [t.type for t in sums], attributes)
    return unpacked_sums(b, sums, total[0].type)


def _dots(
    left: Sequence[ir.Value], right: Sequence[ir.Value], *, split: bool
) -> list[tuple[Sequence[ir.Value], Sequence[ir.Value]]]:
    if not split:
        return [(left, right)]
    (large, small), (wide, rest) = (left[:4], left[4:]), (right[:2], right[2:])
    return [(small, wide), (large, rest), (large, wide)]
