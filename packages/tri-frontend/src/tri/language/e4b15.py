"""``fp8e4b15``: an 8-bit float without infinities and NaN, whose bits are those of an fp16 without the low 7.

No target and no IR knows it, so it is bytes in the IR, and conversions go through fp16: exact one way, to
nearest with ties away from zero the other, as Triton does it.  Numbers beyond 1.75, and NaN, become 1.75.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tri.language import types as t
from tri.language.e4b15_bits import LARGEST, SHIFT, SIGN
from tri.language.tensor import tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from tri.compiler.builder import Builder

__all__ = ["convert_e4b15"]


def convert_e4b15(
    b: Builder, x: tensor, target: t.dtype, rounding: str | None, convert: Callable[..., tensor]
) -> tensor:
    """``x`` from or to fp8e4b15; ``convert`` converts between all other float types."""
    if x.dtype.is_fp8e4b15():
        return convert(b, _decoded(b, x), target, None)
    if x.dtype.is_bf16():
        x = convert(b, x, t.float32, None)
    if x.dtype.primitive_bitwidth > 16:
        x = convert(b, x, t.float16, "rtz")  # the bits that are lost decide no tie
    elif not x.dtype.is_fp16():
        x = convert(b, x, t.float16, None)
    return _encoded(b, x, toward_zero=rounding == "rtz")


def _op(b: Builder, name: str, x: tensor, number: int) -> tensor:
    return b.value(name, x.type, x, b.constant(number, x.type))


def _decoded(b: Builder, x: tensor) -> tensor:
    wide = b.value("arith.extui", x.type.with_element_ty(t.int16), x)
    magnitude = _op(b, "arith.shli", _op(b, "arith.andi", wide, SIGN - 1), SHIFT)
    sign = _op(b, "arith.shli", _op(b, "arith.andi", wide, SIGN), 8)
    bits = b.value("arith.ori", wide.type, magnitude, sign)
    return b.value("tt.bitcast", x.type.with_element_ty(t.float16), bits)


def _encoded(b: Builder, x: tensor, *, toward_zero: bool) -> tensor:
    bits = b.value("tt.bitcast", x.type.with_element_ty(t.int16), x)
    magnitude = _op(b, "arith.minui", _op(b, "arith.andi", bits, 0x7FFF), LARGEST)
    if not toward_zero:
        magnitude = _op(b, "arith.addi", magnitude, 1 << (SHIFT - 1))
    magnitude = _op(b, "arith.shrui", magnitude, SHIFT)
    sign = _op(b, "arith.andi", _op(b, "arith.shrui", bits, 8), SIGN)
    byte = b.value("arith.ori", bits.type, magnitude, sign)
    return b.value("arith.trunci", x.type.with_element_ty(t.float8e4b15), byte)
