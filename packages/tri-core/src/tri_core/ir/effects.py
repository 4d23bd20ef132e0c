"""Effects of ops: what memory an op reads and writes, and whom it waits for, declared once in its dialect.

A dialect declares them beside MLIR's traits, where the op is defined::

    class StoreOp(TT.Operation, name="store", traits=[Effects(WRITE_GLOBAL)]): ...

An op that is :class:`~tri_core.ir.traits.Pure` has none; those of an op with regions are its own, without its regions'.
An op that declares nothing may do anything.
"""

from __future__ import annotations

from typing import NamedTuple

from tri_core.ir.traits import is_pure
from tri_core.ir.upstream import EFFECTLESS_DIALECTS, EFFECTLESS_OPS
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
    "Effects",
    "effects_of",
    "has_at_most",
    "may_have",
]


class Effect(NamedTuple):
    """What an op does to ``resource``: ``read``, ``write``, ``allocate`` and ``free`` are MLIR's.

    ``synchronize``: orders accesses of this CTA's threads, or of the grid's, or waits for them.  ``run``: goes on after
    the op, ordered by another one.  A vendor's dialect may have resources of its own.
    """

    kind: str
    resource: str


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
    """The trait of an op that does ``effects`` and no more; without any, what the op's regions do."""

    _declared: dict[str, frozenset[Effect]] = {}  # noqa: RUF012  filled while dialects are loaded

    def __init__(self, *effects: Effect) -> None:
        self.effects = frozenset(effects)

    def attach(self, name: str) -> None:
        """The op called ``name`` has these; the bindings call it when the dialect is loaded."""
        self._declared[name] = self.effects

    @classmethod
    def declared_by(cls, name: str) -> frozenset[Effect] | None:
        """Those of ops called ``name``; None: nothing is declared."""
        return cls._declared.get(name)


def effects_of(op: ir.Operation) -> frozenset[Effect] | None:
    """What ``op`` itself does; None: anything."""
    name = op.name
    declared = Effects.declared_by(name)
    if declared is not None:
        return declared
    if name.startswith(EFFECTLESS_DIALECTS) or name in EFFECTLESS_OPS or is_pure(op):
        return NOTHING
    return None


def may_have(op: ir.Operation, *effects: Effect) -> bool:
    """Whether ``op`` itself may have one of ``effects``; ops in its regions are asked on their own."""
    found = effects_of(op)
    return found is None or not found.isdisjoint(effects)


def has_at_most(op: ir.Operation, *effects: Effect) -> bool:
    """Whether ``op`` is known to do nothing but ``effects``; not of an op with regions that is not pure."""
    found = effects_of(op)
    if found is None or (len(op.regions) and not is_pure(op)):
        return False
    return found.issubset(effects)
