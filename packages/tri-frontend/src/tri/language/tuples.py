"""``tl.tuple``: tuples that know their type on the host, too."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Any, Self, SupportsIndex, overload

from tri.language.constexpr import tuple_type

__all__ = ["tuple"]


class _OfAnyTuple(type):
    """Tuples of kernels are Python's: each of them is one."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, builtins.tuple)


class tuple(builtins.tuple[Any, ...], metaclass=_OfAnyTuple):
    """Values of the language in a row. Kernels make Python's tuples of it, and ``isinstance`` takes either for the other."""

    __slots__ = ()

    def __new__(cls, args: Iterable[Any] = ()) -> Self:
        """The values of ``args``."""
        return super().__new__(cls, args)

    @property
    def type(self) -> tuple_type:
        """The type of each value: a number's is that of a constexpr."""
        return tuple_type.of(self)

    @property
    def values(self) -> list[Any]:
        """The values as a list."""
        return list(self)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> tuple: ...
    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return tuple(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> tuple:
        return tuple(super().__add__(builtins.tuple(other)))
