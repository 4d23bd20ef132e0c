"""Mutability of captured values, and detection of changes."""

from __future__ import annotations

import dataclasses
import enum
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from tri.compiler.values_key import stable
from tri.kernel import Kernel
from tri.language.constexpr import unwrap
from tri.language.structure import Structure
from tri.language.types import dtype

__all__ = ["Contents", "is_fixed"]

#: what never changes in place
_FIXED = (
    bool, int, float, complex, str, bytes, range, slice, type(None), type(Ellipsis), type, FunctionType,
    BuiltinFunctionType, ModuleType, enum.Enum, dtype, Structure, Kernel,
)  # fmt: skip


class Contents:
    """An object that may change in place: asked for like a name in a dictionary, it gives its text."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.text = stable(value)

    def get(self, name: str) -> str | None:
        """The text that it had; None when it has another."""
        return self.text if stable(self.value) == self.text else None


def is_fixed(value: Any) -> bool:
    """True if ``value`` can't change in place, except in attributes that are watched by their own names."""
    value = unwrap(value)
    if isinstance(value, (tuple, frozenset)):
        return all(map(is_fixed, value))
    if isinstance(value, _FIXED):
        return True
    if dataclasses.is_dataclass(value) and getattr(type(value), "__dataclass_params__").frozen:  # noqa: B009
        return all(is_fixed(getattr(value, field.name)) for field in dataclasses.fields(value))
    return callable(value)
