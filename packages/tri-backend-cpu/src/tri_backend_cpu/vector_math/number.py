"""Vector values with Python's operators, so that a function reads like its formula."""

from __future__ import annotations

from typing import Self

from tri_backend_cpu.builder import I32, I64, Builder, width_of
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.ttir.types import DType

__all__ = ["Float", "Int", "Mask", "polynomial"]


@dataclass(frozen=True)
class _Number:
    b: Builder
    value: ir.Value
    dtype: DType

    def _wrap(self, value: ir.Value) -> Self:
        return type(self)(self.b, value, self.dtype)

    def lift(self, other: Self | float) -> Self:
        """A Python number as a constant of this type and width."""
        if isinstance(other, _Number):
            return other
        return self._wrap(self.b.constant(other, self.dtype, width_of(self.value)))

    def _binary(self, name: str, other: Self | float) -> Self:
        return self._wrap(self.b.same(name, self.value, self.lift(other).value))


class Mask(_Number):
    """Truth values, one per lane."""

    def __and__(self, other: Mask) -> Mask:
        return self._binary("arith.andi", other)

    def __or__(self, other: Mask) -> Mask:
        return self._binary("arith.ori", other)

    def choose(self, yes: Float, no: Float | float) -> Float:
        """``yes`` where true, ``no`` elsewhere."""
        return Float(self.b, self.b.select(self.value, yes.value, yes.lift(no).value), yes.dtype)

    def choose_int(self, yes: Int, no: Int | int) -> Int:
        """``yes`` where true, ``no`` elsewhere."""
        return Int(self.b, self.b.select(self.value, yes.value, yes.lift(no).value), yes.dtype)


class Int(_Number):
    """Integers of the width of the floats at hand."""

    def __add__(self, other: Int | int) -> Int:
        return self._binary("arith.addi", other)

    def __sub__(self, other: Int | int) -> Int:
        return self._binary("arith.subi", other)

    def __and__(self, other: Int | int) -> Int:
        return self._binary("arith.andi", other)

    def __or__(self, other: Int | int) -> Int:
        return self._binary("arith.ori", other)

    def __xor__(self, other: Int | int) -> Int:
        return self._binary("arith.xori", other)

    def __lshift__(self, count: int) -> Int:
        return self._binary("arith.shli", count)

    def __rshift__(self, count: int) -> Int:
        """Arithmetic shift."""
        return self._binary("arith.shrsi", count)

    def shift_right_logical(self, count: int) -> Int:
        """Shift that brings in zeros."""
        return self._binary("arith.shrui", count)

    def equals(self, other: Int | int) -> Mask:
        """Lanes where both are equal."""
        return Mask(self.b, self.b.cmp("eq", self.value, self.lift(other).value), self.dtype)

    def as_float(self, dtype: DType) -> Float:
        """The same bits as a float."""
        return Float(self.b, self.b.bitcast(self.value, dtype), dtype)

    def to_float(self, dtype: DType) -> Float:
        """The same number as a float."""
        kind = self.b.type(dtype, width_of(self.value))
        return Float(self.b, self.b.op("arith.sitofp", kind, self.value), dtype)


class Float(_Number):
    """f32 or f64."""

    def __add__(self, other: Float | float) -> Float:
        return self._binary("arith.addf", other)

    def __sub__(self, other: Float | float) -> Float:
        return self._binary("arith.subf", other)

    def __mul__(self, other: Float | float) -> Float:
        return self._binary("arith.mulf", other)

    def __truediv__(self, other: Float | float) -> Float:
        return self._binary("arith.divf", other)

    def __neg__(self) -> Float:
        return self._wrap(self.b.same("arith.negf", self.value))

    def fma(self, factor: Float | float, addend: Float | float) -> Float:
        """``self * factor + addend``, rounded once."""
        operands = self.value, self.lift(factor).value, self.lift(addend).value
        return self._wrap(self.b.same("math.fma", *operands))

    def round(self) -> Float:
        """The nearest integer, ties to even."""
        return self._wrap(self.b.same("math.roundeven", self.value))

    def sqrt(self) -> Float:
        """The square root, rounded to nearest."""
        return self._wrap(self.b.same("math.sqrt", self.value))

    def abs(self) -> Float:
        """The absolute value."""
        return self._wrap(self.b.same("math.absf", self.value))

    def copysign(self, sign: Float) -> Float:
        """The magnitude of self with the sign of ``sign``."""
        return self._wrap(self.b.same("math.copysign", self.value, sign.value))

    def at_most(self, limit: float) -> Float:
        """``limit`` where self is above it; NaN stays."""
        return (self > limit).choose(self.lift(limit), self)

    def at_least(self, limit: float) -> Float:
        """``limit`` where self is below it; NaN stays."""
        return (self < limit).choose(self.lift(limit), self)

    def bits(self) -> Int:
        """The bits as an integer."""
        dtype = self.integer
        return Int(self.b, self.b.bitcast(self.value, dtype), dtype)

    def to_int(self) -> Int:
        """The integer part, which has to fit."""
        dtype = self.integer
        kind = self.b.type(dtype, width_of(self.value))
        return Int(self.b, self.b.op("arith.fptosi", kind, self.value), dtype)

    @property
    def integer(self) -> DType:
        """The integer type of the same size."""
        return I32 if self.dtype.bits == 32 else I64

    def _compare(self, predicate: str, other: Float | float) -> Mask:
        return Mask(self.b, self.b.fcmp(predicate, self.value, self.lift(other).value), self.dtype)

    def __lt__(self, other: Float | float) -> Mask:
        return self._compare("olt", other)

    def __gt__(self, other: Float | float) -> Mask:
        return self._compare("ogt", other)

    def equals(self, other: Float | float) -> Mask:
        """Lanes where both are equal (never for NaN)."""
        return self._compare("oeq", other)

    def is_nan(self) -> Mask:
        """Lanes that hold NaN."""
        return self._compare("uno", self)


def polynomial(x: Float, coefficients: tuple[float, ...]) -> Float:
    """``coefficients[0] + coefficients[1] * x + ...``, by Horner's rule."""
    result = x.lift(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = result.fma(x, coefficient)
    return result
