"""Effects of ops: what memory an op reads and writes, and whom it waits for, declared once in its dialect.

A dialect declares them beside MLIR's traits, where the op is defined::

    class StoreOp(TT.Operation, name="store", traits=[Effects(WRITE_GLOBAL)]): ...

An op that is :class:`~tri_core.ir.traits.Pure` has none; those of an op with regions are its own, without its regions'.
An op that declares nothing may do anything.

An effect says which operands or results it is about, by their names in the op's definition::

    class LocalStoreOp(TTG.Operation, name="local_store", traits=[Effects(WRITE_SHARED.on("dst"))]): ...

and :func:`accesses_of` gives the values that an op reads and writes in a memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tri_core.ir.traits import is_pure
from tri_core.ir.upstream import EFFECTLESS_DIALECTS, EFFECTLESS_OPS
from tri_core.ir.views import cast
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir

__all__ = [
    "ALLOCATE_GLOBAL",
    "ALLOCATE_SHARED",
    "ASYNC",
    "FREE_SHARED",
    "HOST",
    "NOTHING",
    "READ_DESCRIBED",
    "READ_GLOBAL",
    "READ_SHARED",
    "SYNCHRONIZE_CTA",
    "SYNCHRONIZE_GRID",
    "SYNCHRONIZE_LAUNCHES",
    "WRITE_DESCRIBED",
    "WRITE_GLOBAL",
    "WRITE_SHARED",
    "Effect",
    "EffectOn",
    "Effects",
    "accesses_of",
    "effects_of",
    "has_at_most",
    "may_have",
]


class Effect(NamedTuple):
    """Effect of an op on ``resource``: ``read``, ``write``, ``allocate`` and ``free`` are MLIR's.

    ``synchronize``: orders accesses of this CTA's threads, or of the grid's, or waits for them.  ``run``: goes on after
    the op, ordered by another one.  A vendor's dialect may have resources of its own.
    """

    kind: str
    resource: str

    def on(self, *names: str, filled_by: str | None = None, ordered: bool = False) -> EffectOn:
        """This effect on the operands or results that the op's definition calls ``names``.

        ``filled_by``: memory that is allocated is written as well where the op has this optional operand.  ``ordered``: barriers in
        memory order this write with those who read, so that it is no conflict with their reads.
        """
        return EffectOn(self, names, filled_by, ordered)


@dataclass(frozen=True)
class EffectOn:
    """An effect and the operands or results that it is on; :meth:`Effect.on` makes it."""

    effect: Effect
    names: tuple[str, ...]
    filled_by: str | None = None
    ordered: bool = False


#: global memory through pointers
READ_GLOBAL, WRITE_GLOBAL = Effect("read", "global"), Effect("write", "global")
#: global memory that a descriptor describes
READ_DESCRIBED, WRITE_DESCRIBED = Effect("read", "described"), Effect("write", "described")
READ_SHARED, WRITE_SHARED = Effect("read", "shared"), Effect("write", "shared")
#: a buffer of its own, with what it holds at first
ALLOCATE_SHARED, FREE_SHARED = Effect("allocate", "shared"), Effect("free", "shared")
#: global memory of this program's own
ALLOCATE_GLOBAL = Effect("allocate", "global")
#: a copy or dot that runs on its own, or a wait for such
ASYNC = Effect("run", "async")
SYNCHRONIZE_CTA, SYNCHRONIZE_GRID = Effect("synchronize", "cta"), Effect("synchronize", "grid")
#: with the launches before or behind this one
SYNCHRONIZE_LAUNCHES = Effect("synchronize", "launches")
#: what the host sees: printed text, failed assertions
HOST = Effect("write", "host")

NOTHING: frozenset[Effect] = frozenset()


class Effects:
    """The trait of an op that does ``effects`` and no more; without any, what the op's regions do.

    One that does not say what it is on is on any of the op's operands.
    """

    _declared: dict[str, frozenset[Effect]] = {}  # noqa: RUF012  filled while dialects are loaded
    _parts: dict[str, tuple[EffectOn, ...]] = {}  # noqa: RUF012  as well

    def __init__(self, *effects: Effect | EffectOn) -> None:
        self.effects = frozenset(e.effect if isinstance(e, EffectOn) else e for e in effects)
        self.parts = tuple(e for e in effects if isinstance(e, EffectOn))

    def attach(self, name: str) -> None:
        """The op called ``name`` has these; the bindings call it when the dialect is loaded."""
        self._declared[name] = self.effects
        self._parts[name] = self.parts

    @classmethod
    def declared_by(cls, name: str) -> frozenset[Effect] | None:
        """Those of ops called ``name``; None: nothing is declared."""
        return cls._declared.get(name)

    @classmethod
    def parts_of(cls, name: str) -> tuple[EffectOn, ...]:
        """The effects of ops called ``name`` that say what they are on."""
        return cls._parts.get(name, ())


def effects_of(op: ir.Operation) -> frozenset[Effect] | None:
    """Effects of ``op`` itself; None: any."""
    name = op.name
    declared = Effects.declared_by(name)
    if declared is not None:
        return declared
    if name.startswith(EFFECTLESS_DIALECTS) or name in EFFECTLESS_OPS or is_pure(op):
        return NOTHING
    return None


def may_have(op: ir.Operation, *effects: Effect) -> bool:
    """True if ``op`` itself may have one of ``effects``, without its regions."""
    found = effects_of(op)
    return found is None or not found.isdisjoint(effects)


def has_at_most(op: ir.Operation, *effects: Effect) -> bool:
    """True if ``op`` is known to have no effects but ``effects``; False for an op with regions that is not
    pure.
    """
    found = effects_of(op)
    if found is None or (len(op.regions) and not is_pure(op)):
        return False
    return found.issubset(effects)


def accesses_of(op: ir.Operation, resource: str) -> tuple[Sequence[ir.Value], Sequence[ir.Value]] | None:
    """The operands and results through which ``op`` itself reads, and those through which it writes, ``resource``.

    None: ``op`` declares no effects, and may do anything to what it is given.  A write that barriers in memory order, a barrier in
    shared memory that the op arrives at or waits for, and one that counts what the op runs, are read: they must be there.
    """
    name = op.name
    parts = Effects.parts_of(name)
    reads: list[ir.Value] = []
    writes: list[ir.Value] = []
    for part in parts:
        kind, of = part.effect
        if (kind == "read" and of == resource) or (kind in ("synchronize", "run") and resource == "shared"):
            reads += _values(op, part.names)
        elif of != resource:
            continue
        elif kind == "write":
            (reads if part.ordered else writes).extend(_values(op, part.names))
        elif kind == "allocate" and part.filled_by is not None and _values(op, (part.filled_by,)):
            writes += _values(op, part.names)
    effects = effects_of(op)
    if effects is None:
        return None
    silent = effects - {part.effect for part in parts}
    if silent:
        reads += op.operands if Effect("read", resource) in silent else ()
        writes += op.operands if Effect("write", resource) in silent else ()
    return reads, writes


#: the classes of ops that were asked
_kinds: dict[str, type[Any]] = {}


def _values(op: ir.Operation, names: Sequence[str]) -> list[ir.Value]:
    """The operands and results that the definition of ``op`` calls ``names``; none for an optional one that is not there."""
    kind = _kinds.get(op.name)
    if kind is None:
        kind = _kinds[op.name] = type(op.opview)
    view: Any = cast(op, kind)
    found: list[ir.Value] = []
    for name in names:
        value = getattr(view, name)
        if value is not None:
            found += [value] if isinstance(value, ir.Value) else value
    return found
