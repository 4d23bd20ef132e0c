"""Helpers of Triton's ``language.core`` and ``language.standard`` that code outside of it uses."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from tri.language import types
from tri.language.builtin import builtin_of_constexprs, constexpr_function
from tri.language.constexpr import constexpr, constexpr_type, tuple_type
from tri.language.descriptors import tensor_descriptor
from tri.language.externs import extern_elementwise
from tri.language.tensor import tensor

__all__ = [
    "CONSTEXPR_0",
    "TRITON_BUILTIN",
    "_log2",
    "_unwrap_if_constexpr",
    "base_type",
    "base_value",
    "check_bit_width",
    "extern",
    "extern_elementwise",
    "get_int_dtype",
    "is_builtin",
    "is_negative_zero",
    "tensor_descriptor_base",
    "tensor_descriptor_base_type",
]

#: the default of arguments such as an axis
CONSTEXPR_0 = constexpr(0)
#: for annotations and ``isinstance``: values of the language, and types of run-time ones
base_value = (tensor, constexpr, types.dtype)
base_type = (types.dtype, constexpr_type, tuple_type)
tensor_descriptor_base = tensor_descriptor
tensor_descriptor_base_type = types.tensor_descriptor_type

#: the attribute that marks functions which compile to operations
TRITON_BUILTIN = "__triton_builtin__"


@constexpr_function
def _unwrap_if_constexpr(value: Any) -> Any:
    """The value of a constexpr; of a list or tuple, those of its items."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_unwrap_if_constexpr, value))
    return value.value if isinstance(value, constexpr) else value


@constexpr_function
def get_int_dtype(bitwidth: int, signed: bool) -> types.dtype:
    """The integer of ``bitwidth`` bits; ValueError when there is none."""
    found = getattr(types, f"{'int' if signed or bitwidth == 1 else 'uint'}{bitwidth}", None)
    if not isinstance(found, types.dtype):
        raise ValueError(f"there is no integer of {bitwidth} bits")
    return found


def extern(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark ``fn`` as callable from kernels, as functions of a library are: Triton's decorator of wrappers of ``extern_elementwise``."""
    return builtin_of_constexprs(fn)


def is_builtin(fn: Any) -> bool:
    """True if ``fn`` is a function of the language."""
    from tri.language.builtin import is_builtin as found

    return bool(found(fn))


def is_negative_zero(value: Any) -> bool:
    """True if ``value`` is -0.0."""
    return isinstance(value, float) and value == 0.0 and math.copysign(1.0, value) < 0


def check_bit_width(value: Any, shift_value: Any) -> None:
    """Warn where a constant shift is wider than ``value``'s integers, whose result is undefined."""
    if isinstance(value, tensor) and isinstance(shift_value, constexpr):
        bits = value.type.scalar.primitive_bitwidth
        if shift_value.value >= bits:
            warnings.warn(f"{shift_value.value} exceeds the {bits} bits of {value.type}", stacklevel=3)


@constexpr_function
def _log2(value: int) -> int:
    """The exponent of a power of two."""
    return value.bit_length() - 1
