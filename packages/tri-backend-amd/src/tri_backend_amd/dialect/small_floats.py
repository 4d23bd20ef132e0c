"""Two f32 as 8-bit floats, and the way back: instructions of CDNA3 and later, and of RDNA4.

CDNA3 has the formats without infinities and negative zero (``fnuz``), the others OCP's (AMD's guides of the instruction sets:
``v_cvt_pk_fp8_f32`` and its like).
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_amd.dialect.amdg import AMDG
from tri_core.ir.traits import Pure
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA
from tri_gpu_dialect.lowering.formats import FORMATS

__all__ = ["DecodeFloat8Op", "EncodeFloat8Op"]

_In = ext.Operand[Any]
_Out = ext.Result[Any]
Array = npt.NDArray[Any]


def _name(format_: str) -> str:
    """Name in instructions of the format with so many bits of exponent."""
    return "bf8" if FORMATS[format_].exponent == 5 else "fp8"


@cache
def _numbers(format_: str) -> Array:
    """The numbers of all patterns, as f32."""
    given = FORMATS[format_]
    half = [given.value(p) if p <= given.largest else np.nan for p in range(given.sign)]
    if given.infinity is not None:
        half[given.infinity] = np.inf
    numbers = np.array([*half, *(-n for n in half)], np.float32)
    if not given.negative_zero:
        numbers[given.nan] = np.nan
    return numbers


class EncodeFloat8Op(MachineOp, dialect=AMDG, name="cvt_pk_f8", traits=[Pure]):
    """``first`` and ``second`` (f32) to the nearest number of ``format``, in a half of ``word`` (i32): the upper one if ``high``.

    What is larger than the largest number becomes it; NaN stays NaN.
    """

    computes_floats = True

    first: _In
    second: _In
    word: _In
    format: ir.StringAttr
    high: ir.IntegerAttr
    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """The instruction gives NaN, or infinity, for what is too large: it is limited before."""
        largest = FORMATS[self.format.value].value(FORMATS[self.format.value].largest)
        limited = _limited if FORMATS[self.format.value].negative_zero else _limited_by_median
        both = [limited(b, each, largest) for each in (self.first, self.second)]
        high = b.const(b.int_type(1), self.high.value)
        name = f"llvm.amdgcn.cvt.pk.{_name(self.format.value)}.f32"
        return b.intrinsic(name, [*both, self.word, high], [b.i32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """By the numbers between which others are."""
        *both, word = operands
        first, second = (_encoded(each, self.format.value) for each in both)
        shift = 16 if self.high.value else 0
        kept = word.view(np.uint32) & np.uint32(0xFFFF << (16 - shift))
        return [(kept | (first | second << 8) << shift).astype(np.uint32).view(np.int32)]


def _limited(b: Builder, value: ir.Value, largest: float) -> ir.Value:
    """NaN stays what it is: instructions of CDNA4 and RDNA4."""
    least = b.op("llvm.intr.minimum", (value, b.float_(largest)), b.f32)
    return b.op("llvm.intr.maximum", (least, b.float_(-largest)), b.f32)


def _limited_by_median(b: Builder, value: ir.Value, largest: float) -> ir.Value:
    """The median of three gives a number for NaN, so that is looked at by itself."""
    operands = [value, b.float_(-largest), b.float_(largest)]
    (median,) = b.intrinsic("llvm.amdgcn.fmed3.f32", operands, [b.f32])
    return b.select(b.fcmp("uno", value, value), value, median)


def _encoded(values: Array, format_: str) -> Array:
    """Patterns of the nearest numbers, ties to even, as u32."""
    given = FORMATS[format_]
    positive = _numbers(format_)[: given.largest + 1].astype(np.float64)
    size = np.minimum(np.abs(values.astype(np.float64)), positive[-1])
    between = (positive[1:] + positive[:-1]) / 2  # exact
    nearest = np.searchsorted(between, size)
    is_tie = between[np.minimum(nearest, len(between) - 1)] == size
    nearest = np.where(is_tie, nearest + (nearest & 1), nearest)
    sign = np.where(np.signbit(values), given.sign, 0)
    if not given.negative_zero:
        sign = np.where(nearest == 0, 0, sign)
    nan = given.nan if not given.negative_zero else given.nan | sign
    return np.where(np.isnan(values), nan, nearest | sign).astype(np.uint32)


class DecodeFloat8Op(MachineOp, dialect=AMDG, name="cvt_pk_f32_f8", traits=[Pure]):
    """Two numbers of ``format`` in a half of ``word`` (i32), the upper one if ``high``, as f32, exactly."""

    computes_floats = True

    word: _In
    format: ir.StringAttr
    high: ir.IntegerAttr
    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """An intrinsic."""
        high = b.const(b.int_type(1), self.high.value)
        name = f"llvm.amdgcn.cvt.pk.f32.{_name(self.format.value)}"
        return b.intrinsic(name, [self.word, high], [self.result.type])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """By the table of the format's numbers."""
        word = operands[0].view(np.uint32) >> (16 if self.high.value else 0)
        numbers = _numbers(self.format.value)
        return [np.stack([numbers[word & 0xFF], numbers[word >> 8 & 0xFF]], axis=1)]
