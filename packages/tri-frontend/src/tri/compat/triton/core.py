"""Helpers of Triton's ``language.core`` and ``language.standard`` that code outside of it uses."""

from __future__ import annotations

from typing import Any

from tri.language import types
from tri.language.builtin import constexpr_function
from tri.language.constexpr import constexpr

__all__ = ["TRITON_BUILTIN", "_log2", "_unwrap_if_constexpr", "get_int_dtype", "is_builtin"]

#: the attribute that marks functions which compile to operations
TRITON_BUILTIN = "__triton_builtin__"


def _unwrap_if_constexpr(value: Any) -> Any:
    """The value of a constexpr; of a list or tuple, those of its items."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_unwrap_if_constexpr, value))
    return value.value if isinstance(value, constexpr) else value


def get_int_dtype(bitwidth: int, signed: bool) -> types.dtype:
    """The integer of ``bitwidth`` bits; ValueError when there is none."""
    found = getattr(types, f"{'int' if signed or bitwidth == 1 else 'uint'}{bitwidth}", None)
    if not isinstance(found, types.dtype):
        raise ValueError(f"there is no integer of {bitwidth} bits")
    return found


def is_builtin(fn: Any) -> bool:
    """Whether ``fn`` is a function of the language."""
    from tri.language.builtin import is_builtin as found

    return bool(found(fn))


@constexpr_function
def _log2(value: int) -> int:
    """The exponent of a power of two."""
    return value.bit_length() - 1
