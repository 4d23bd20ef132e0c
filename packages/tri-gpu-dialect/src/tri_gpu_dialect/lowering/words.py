"""Values as 32-bit words, which shuffles move, and as what memory holds."""

from __future__ import annotations

from tri_core.mlir import ir
from tri_gpu_dialect.lowering.builder import Builder

__all__ = ["bit_width", "from_memory", "from_words", "is_pointer", "memory_type", "to_memory", "to_words"]


def is_pointer(type_: ir.Type) -> bool:
    """True if ``type_`` is an LLVM pointer."""
    return not isinstance(type_, (ir.IntegerType, ir.FloatType, ir.VectorType))


def bit_width(type_: ir.Type) -> int:
    """The bits of a scalar; pointers count 64."""
    return 64 if is_pointer(type_) else int(type_.width)


def to_words(b: Builder, values: list[ir.Value]) -> list[ir.Value]:
    """Scalars of one type as i32 words: two per 64-bit scalar, one per 32-bit, narrow ones packed."""
    width = bit_width(values[0].type)
    bits = [_to_bits(b, v) for v in values]
    if width == 32:
        return bits
    if width == 64:
        return [b.int_cast(part, b.i32) for v in bits for part in (v, b.lshr(v, 32))]
    if width == 1:
        bits, width = [b.int_cast(v, b.i8) for v in bits], 8
    per = 32 // width
    words = []
    for first in range(0, len(bits), per):
        group = bits[first : first + per]
        if len(group) > 1:  # a whole word: no integer types of odd widths
            group += group[-1:] * (per - len(group))
        packed = b.bitcast(b.pack(group), b.int_type(width * len(group)))
        words.append(b.int_cast(packed, b.i32))
    return words


def from_words(b: Builder, words: list[ir.Value], type_: ir.Type, count: int) -> list[ir.Value]:
    """The ``count`` scalars of ``type_`` that :func:`to_words` made ``words`` of."""
    width = bit_width(type_)
    if width == 32:
        bits = words
    elif width == 64:
        halves = [b.int_cast(w, b.i64) for w in words]
        bits = [b.or_(low, b.shl(high, 32)) for low, high in zip(halves[::2], halves[1::2], strict=True)]
    else:
        bits = _split_words(b, words, 8 if width == 1 else width, count)
    return [_from_bits(b, v, type_) for v in bits]


def _split_words(b: Builder, words: list[ir.Value], width: int, count: int) -> list[ir.Value]:
    per, element = 32 // width, b.int_type(width)
    parts: list[ir.Value] = []
    for word in words:
        if count - len(parts) == 1:
            parts.append(b.int_cast(word, element))
        else:
            parts += b.unpack(b.bitcast(word, b.vector_type(element, per)))
    return parts[:count]


def _to_bits(b: Builder, value: ir.Value) -> ir.Value:
    if is_pointer(value.type):
        return b.ptr_to_int(value)
    return b.bitcast(value, b.int_type(value.type.width))


def _from_bits(b: Builder, bits: ir.Value, type_: ir.Type) -> ir.Value:
    if is_pointer(type_):
        return b.int_to_ptr(bits, type_)
    if type_.width == 1:
        return _to_bool(b, bits)
    return b.bitcast(b.int_cast(bits, b.int_type(type_.width)), type_)


def _to_bool(b: Builder, value: ir.Value) -> ir.Value:
    """True (i1) if ``value`` is not 0.

    Of truncations of a vector's elements LLVM makes vectors of single bits, 128 for one of 16 bytes, which
    not every target has.
    """
    return b.cmp("ne", value, b.const(value.type, 0))


def memory_type(b: Builder, type_: ir.Type) -> ir.Type:
    """Type in shared memory of a scalar of ``type_``: i1 as i8, pointers as i64."""
    if is_pointer(type_):
        return b.i64
    return b.i8 if type_.width < 8 else type_


def to_memory(b: Builder, value: ir.Value) -> ir.Value:
    """A scalar as memory holds it."""
    if is_pointer(value.type):
        return b.ptr_to_int(value)
    return b.int_cast(value, b.i8) if value.type.width < 8 else value


def from_memory(b: Builder, value: ir.Value, type_: ir.Type) -> ir.Value:
    """A scalar of ``type_`` from what memory holds."""
    if is_pointer(type_):
        return b.int_to_ptr(value, type_)
    return _to_bool(b, value) if type_.width == 1 else value
