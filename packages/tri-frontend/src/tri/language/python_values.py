"""Values of Python as values of the language."""

from __future__ import annotations

import types as python_types
from typing import Any

from tri.kernel import Kernel
from tri.language import types as t
from tri.language.builtin import is_builtin
from tri.language.constexpr import constexpr
from tri.language.structure import Structure, remake
from tri.language.tensor import tensor
from tri_core.lazy_dataclasses import dataclass

__all__ = ["BoundMethod", "wrap"]


@dataclass(frozen=True)
class BoundMethod:
    """``x.f`` before it is called."""

    receiver: Any
    function: Any


#: classes whose objects are values of the language as they are
_LANGUAGE = (
    tensor, constexpr, t.dtype, Kernel, BoundMethod, Structure, python_types.ModuleType, type
)  # fmt: skip


def wrap(value: Any) -> Any:
    """A Python value as a value of the language: primitives become constexprs."""
    if isinstance(value, _LANGUAGE):
        return value
    if isinstance(value, tuple):
        return remake(value, map(wrap, value))
    if isinstance(value, list):
        return tuple(map(wrap, value))
    return value if is_builtin(value) else constexpr(value)
