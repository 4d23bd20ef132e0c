"""``str_to_ty``: types by the names that signatures have for them, tuples and constants included."""

from __future__ import annotations

from typing import Any

from tri.language.constexpr import constexpr_type, tuple_type
from tri.language.types import dtype, parse_type

__all__ = ["str_to_ty"]


def str_to_ty(name: str | tuple[Any, ...], c: Any = None) -> dtype | tuple_type | constexpr_type:
    """The type that a signature writes as ``name``: see :func:`~tri.language.types.parse_type`; ValueError for another text.

    A tuple of names is the type of a tuple, a named one with its fields; ``"constexpr"`` that of the constant ``c``.
    """
    if isinstance(name, tuple):
        return tuple_type([str_to_ty(item, c) for item in name], getattr(name, "_fields", None))
    return constexpr_type(c) if name.startswith("constexpr") else parse_type(name)
