"""Floats of 8 bits as DPAS of f16 takes them: several at once, in the words that they were loaded in.

A word's even bytes make one operand and its odd bytes another, so that of 32 neighbours along k the first DPAS has the even ones
and the second the odd ones.  Both operands are split so, and k may be summed in any order: no byte goes to another lane or word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tri_backend_intel.dialect.matrix import packed
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder

__all__ = ["SMALL_FLOATS", "widened"]

Registers = Sequence[ir.Value]


def widened(b: Builder, values: Registers, kind: str, bits: int) -> list[list[ir.Value]]:
    """``values`` (8 bits each, of type ``kind``, neighbours along k in words of ``bits``) as f16: the even ones, the odd ones."""
    container = b.int_type(bits)
    per = bits // 8
    words: list[ir.Value] = []
    for first in range(0, len(values), 16):
        made = packed(b, list(values[first : first + 16]), container)
        words += b.unpack(made) if isinstance(made.type, ir.VectorType) else [made]
    assert len(words) * per == len(values)
    convert = SMALL_FLOATS[kind]
    return [
        [half for word in words for half in convert(b, b.shl(word, 8) if shifted else word)]
        for shifted in (True, False)
    ]


def _constant(b: Builder, type_: ir.Type, half: int) -> ir.Value:
    """``half`` in all 16-bit parts of an integer of ``type_``."""
    return b.const(type_, half if type_.width == 16 else half << 16 | half)


def _halves(b: Builder, word: ir.Value) -> list[ir.Value]:
    """The f16 that an integer holds."""
    f16 = ir.F16Type.get()
    if word.type.width == 16:
        return [b.bitcast(word, f16)]
    return b.unpack(b.bitcast(word, b.vector_type(f16, 2)))


def _from_e5m2(b: Builder, word: ir.Value) -> list[ir.Value]:
    """The upper bytes of a word's halves: f16 with fewer bits of the mantissa, infinities and NaN too."""
    return _halves(b, b.and_(word, _constant(b, word.type, 0xFF00)))


def _from_e4m3(b: Builder, word: ir.Value) -> list[ir.Value]:
    """The upper bytes: exponent and mantissa moved to those of f16, times 2^8 for the bias; exact, denormals too.

    Of a magnitude only NaN (0x7F) reaches bit 14 when one is added to it: with that bit it is NaN in f16.
    """
    type_ = word.type

    def constant(half: int) -> ir.Value:
        return _constant(b, type_, half)

    if type_.width == 16:
        number = b.and_(b.ashr(word, 1), constant(0xBF80))
    else:
        sign = b.and_(word, constant(0x8000))
        number = b.or_(b.and_(b.lshr(word, 1), constant(0x3F80)), sign)
    number = b.or_(number, b.and_(b.add(number, constant(0x0080)), constant(0x4000)))
    scale = b.float_(256.0, ir.F16Type.get())
    return [b.fmul(half, scale) for half in _halves(b, number)]


#: by MLIR's names: the f16 of the upper bytes of a word's halves
SMALL_FLOATS: dict[str, Callable[[Builder, ir.Value], list[ir.Value]]] = {
    "f8E5M2": _from_e5m2,
    "f8E4M3FN": _from_e4m3,
}
