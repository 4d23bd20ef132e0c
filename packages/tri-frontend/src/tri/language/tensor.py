"""``tensor``: a value inside a kernel, a scalar or a block."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tri.language.constexpr import constexpr
from tri.language.types import block_type, dtype

if TYPE_CHECKING:
    from tri_core.mlir import ir

__all__ = ["tensor"]


class tensor:
    """A run-time value of a kernel: an SSA ``handle`` and its language ``type``.

    Its operators and methods are the functions of :mod:`tri.language`; they work inside kernels only.
    """

    __slots__ = ("handle", "type")
    handle: ir.Value
    type: dtype

    def __init__(self, handle: ir.Value, type: dtype) -> None:
        self.handle = handle
        self.type = type

    @property
    def dtype(self) -> dtype:
        """The element type."""
        return self.type.scalar

    @property
    def shape(self) -> tuple[constexpr, ...]:
        """The dimensions; empty for a scalar."""
        return tuple(map(constexpr, dimensions(self)))

    @property
    def numel(self) -> constexpr:
        """The number of elements."""
        return constexpr(self.type.numel if isinstance(self.type, block_type) else 1)

    def __str__(self) -> str:
        """As ``static_print`` shows it, in Triton's words."""
        if getattr(self.handle, "shown", None) is not None:
            return repr(self)
        return f"{self.dtype}[{', '.join(f'constexpr[{d}]' for d in dimensions(self))}]"

    def __repr__(self) -> str:
        text = f"tensor{self.type}" if self.type.is_block() else f"tensor<{self.type}>"
        shown = getattr(self.handle, "shown", None)
        return text if shown is None else f"{text} {shown(self.type)}"

    # --- values while a kernel is interpreted -----------------------------------------------------------

    def _number(self, what: str) -> Any:
        """The one element, as a Python number."""
        number = getattr(self.handle, "number", None)
        if number is None:
            raise TypeError(f"a kernel's value has no {what} while it is compiled")
        return number(self.type, what)

    def __bool__(self) -> bool:
        return bool(self._number("truth value"))

    def __index__(self) -> int:
        return operator.index(self._number("integer value"))

    def __int__(self) -> int:
        return int(self._number("integer value"))

    def __float__(self) -> float:
        return float(self._number("float value"))

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"a value of a kernel ({self.type}) cannot be iterated over")

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


def dimensions(value: tensor) -> tuple[int, ...]:
    """The shape of ``value`` as plain ints; ``()`` for a scalar."""
    return value.type.shape if isinstance(value.type, block_type) else ()
