"""``tensor``: a value inside a kernel, a scalar or a block."""

from __future__ import annotations

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

    def __repr__(self) -> str:
        return f"tensor{self.type}" if self.type.is_block() else f"tensor<{self.type}>"

    def __bool__(self) -> bool:
        raise TypeError("a kernel's value has no truth value while it is compiled")

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


def dimensions(value: tensor) -> tuple[int, ...]:
    """The shape of ``value`` as plain ints; ``()`` for a scalar."""
    return value.type.shape if isinstance(value.type, block_type) else ()
