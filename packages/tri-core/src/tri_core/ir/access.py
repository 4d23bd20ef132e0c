"""Accesses of memory through pointers or descriptors, whatever op does them: where, what, and under which mask.

An op declares, where it is defined, which of its operands are what::

    class StoreOp(TT.Operation, name="store", traits=[Effects(WRITE_GLOBAL), MemoryAccess("ptr", stored="value", mask="mask")]): ...

and passes ask :func:`access_of`: a vendor's buffer store, or a load of a block, is then met as ``tt.store`` and ``tt.load`` are.  Which
memory is read or written is an effect (:mod:`.effects`).
"""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar

from tri_core.ir.effects import READ_GLOBAL, effects_of
from tri_core.ir.views import cast
from tri_core.mlir import ir

__all__ = ["Access", "MemoryAccess", "access_of", "global_load"]


class MemoryAccess:
    """The trait of an op that reads or writes through ``address``, the name of its operand: pointers, or a descriptor.

    ``offsets``: names of operands that say where, from the address; ``stored``: what is written, or combined with what is there; without
    it something is read: to the buffer ``into``, or as result 0.  ``mask``: where memory is accessed; ``other``: what is given elsewhere.
    """

    _declared: ClassVar[dict[str, MemoryAccess]] = {}

    def __init__(
        self,
        address: str,
        *,
        offsets: tuple[str, ...] = (),
        stored: str | None = None,
        mask: str | None = None,
        other: str | None = None,
        into: str | None = None,
    ) -> None:
        self.address, self.offsets, self.stored = address, offsets, stored
        self.mask, self.other, self.into = mask, other, into
        #: the class that declares it, once an op has been asked
        self.kind: type[Any] | None = None

    def attach(self, name: str) -> None:
        """As :meth:`tri_core.ir.traits.Trait.attach`."""
        self._declared[name] = copy(self)

    @classmethod
    def of(cls, name: str) -> MemoryAccess | None:
        """Declared accesses of ops called ``name``; None if they access nothing through pointers or
        descriptors.
        """
        return cls._declared.get(name)


class Access:
    """The access that ``operation`` does; :func:`access_of` makes it."""

    __slots__ = ("_parts", "_view", "operation")

    def __init__(self, operation: ir.Operation, parts: MemoryAccess) -> None:
        self.operation, self._parts = operation, parts
        if parts.kind is None:
            parts.kind = type(operation.opview)
        self._view: Any = cast(operation, parts.kind)

    @property
    def address(self) -> ir.Value:
        """Pointers, one or a tensor of them, or a descriptor."""
        value: ir.Value = getattr(self._view, self._parts.address)
        return value

    @property
    def offsets(self) -> list[ir.Value]:
        """Offsets from the address, in the order of the op's definition: indices of a block, or offsets in
        elements.
        """
        found: list[ir.Value] = []
        for name in self._parts.offsets:
            value = getattr(self._view, name)
            found += [value] if isinstance(value, ir.Value) else value
        return found

    @property
    def stored(self) -> ir.Value | None:
        """Value that is written, or combined with memory; None: the op only reads."""
        return self._named(self._parts.stored)

    @property
    def mask(self) -> ir.Value | None:
        """Mask of the access; None: unmasked."""
        return self._named(self._parts.mask)

    @property
    def other(self) -> ir.Value | None:
        """Value where the mask is false; None: undefined, or unmasked."""
        return self._named(self._parts.other)

    @property
    def value(self) -> ir.Value:
        """Value that is moved: a stored or loaded value, or the destination buffer."""
        moved = self._named(self._parts.stored or self._parts.into)
        return self.operation.results[0] if moved is None else moved

    def _named(self, name: str | None) -> ir.Value | None:
        if name is None:
            return None
        value: ir.Value | None = getattr(self._view, name)
        return value


def access_of(op: ir.Operation) -> Access | None:
    """The access that ``op`` declares; None: it declares none."""
    parts = MemoryAccess.of(op.name)
    return None if parts is None else Access(op, parts)


def global_load(op: ir.Operation) -> Access | None:
    """The access of ``op`` where all that it does is to read global memory through pointers, and to give that as its result; else None."""
    parts = MemoryAccess.of(op.name)
    if parts is None or parts.stored or parts.into or effects_of(op) != frozenset({READ_GLOBAL}):
        return None
    return Access(op, parts)
