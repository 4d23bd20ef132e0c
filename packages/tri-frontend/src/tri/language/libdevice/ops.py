"""Elementwise operations that the language has no public name for, one builtin each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tri.language.builtin import builtin
from tri.language.tensor import tensor

if TYPE_CHECKING:
    from tri.compiler.builder import Builder
    from tri.language.types import dtype

__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "copysign",
    "cosh",
    "divide_rn",
    "erfc",
    "expm1",
    "has_type",
    "log1p",
    "log10",
    "pow",
    "rint",
    "sinh",
    "sqrt_rn",
    "tan",
    "tanh",
    "trunc",
]  # fmt: skip


@builtin
def has_type(type_: dtype, *, _semantic: Builder) -> bool:
    """True if the target computes with ``type_``, natively or emulated; known when the kernel is compiled."""
    spec = _semantic.target.spec
    return type_.name in spec.dtypes | spec.emulated_dtypes


def _elementwise(op: str) -> Callable[..., tensor]:
    """A builtin that makes ``op`` of operands of one type."""

    def function(*operands: tensor, _semantic: Builder) -> tensor:
        return _semantic.value(op, operands[0].type, *operands)

    function.__name__ = function.__qualname__ = op.partition(".")[2]
    function.__doc__ = f"``{op}`` of fp32 or fp64."
    return builtin(function)


acos = _elementwise("math.acos")
acosh = _elementwise("math.acosh")
asin = _elementwise("math.asin")
asinh = _elementwise("math.asinh")
atan = _elementwise("math.atan")
atan2 = _elementwise("math.atan2")
atanh = _elementwise("math.atanh")
cbrt = _elementwise("math.cbrt")
copysign = _elementwise("math.copysign")
cosh = _elementwise("math.cosh")
divide_rn = _elementwise("tt.precise_divf")
erfc = _elementwise("math.erfc")
expm1 = _elementwise("math.expm1")
log10 = _elementwise("math.log10")
log1p = _elementwise("math.log1p")
pow = _elementwise("math.powf")
rint = _elementwise("math.roundeven")
sinh = _elementwise("math.sinh")
sqrt_rn = _elementwise("tt.precise_sqrt")
tan = _elementwise("math.tan")
tanh = _elementwise("math.tanh")
trunc = _elementwise("math.trunc")
