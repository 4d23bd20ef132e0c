"""The common part of descriptors of buffers, whatever memory these are in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

from tri.language.constexpr import constexpr
from tri.language.structure import Structure

if TYPE_CHECKING:
    from tri.language import types as t
    from tri.language.tensor import tensor

__all__ = ["memory_descriptor"]


class memory_descriptor(Structure):
    """A tensor in a memory of the chip, or a view of a part of one; ``handle`` is a value of type ``!ttg.memdesc``."""

    __slots__ = ("handle",)

    def __init__(self, handle: tensor) -> None:
        self.handle = handle

    def structure_parts(self) -> tuple[Any, ...]:
        """The one value."""
        return (self.handle,)

    def structure_with(self, parts: Iterable[Any]) -> Self:
        """Another descriptor of this type."""
        return type(self)(*parts)

    def structure_names(self) -> tuple[str, ...]:
        """A name for messages."""
        return ("handle",)

    @property
    def type(self) -> Any:
        """Element type, shape and layout."""
        return self.handle.type

    @property
    def dtype(self) -> t.dtype:
        """The type of the elements."""
        found: t.dtype = self.type.element_ty
        return found

    @property
    def shape(self) -> tuple[constexpr, ...]:
        """The dimensions."""
        return tuple(map(constexpr, self.type.shape))

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.type.shape)

    def __repr__(self) -> str:
        return repr(self.type)
