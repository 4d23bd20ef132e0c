"""Blocks of a descriptor, from and to registers: ops of TTGIR.

They mean what XeGPU's ``load_nd``, ``store_nd`` and ``prefetch_nd`` do: zeros are read outside of the tensor, nothing is
written there.  Each is done by the hardware's 2D blocks, or, with ``by_elements``, by one access for each element.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

from tri_backend_intel.dialect.ttig import TTIG
from tri_core.ir.access import MemoryAccess
from tri_core.ir.effects import READ_DESCRIBED, WRITE_DESCRIBED, Effects
from tri_core.ir.traits import Pure, Trait
from tri_core.mlir import ext, ir

__all__ = [
    "BY_ELEMENTS",
    "BlockAccess",
    "RegisterSliceOp",
    "TileLoadOp",
    "TilePrefetchOp",
    "TileStoreOp",
    "coordinates",
    "is_block_access",
    "is_transposed",
]

#: the attribute of an access that is done element by element
BY_ELEMENTS = "by_elements"


class BlockAccess(Trait):
    """Accesses a block of its first operand, a descriptor; its last operands are where the block begins."""


class TileLoadOp(
    TTIG.Operation,
    name="tile_load",
    traits=[BlockAccess, Effects(READ_DESCRIBED), MemoryAccess("descriptor", offsets=("indices",))],
):
    """The block at ``indices`` (i32: row, column) in registers, in any layout; of its transpose, where ``transposed``."""

    result: ext.Result[Any]
    descriptor: ext.Operand[Any]
    indices: Sequence[ext.Operand[Any]]


class TileStoreOp(
    TTIG.Operation,
    name="tile_store",
    traits=[
        BlockAccess,
        Effects(WRITE_DESCRIBED),
        MemoryAccess("descriptor", offsets=("indices",), stored="value"),
    ],
):
    """Writes ``value`` to the block at ``indices``."""

    descriptor: ext.Operand[Any]
    value: ext.Operand[Any]
    indices: Sequence[ext.Operand[Any]]


class TilePrefetchOp(TTIG.Operation, name="tile_prefetch", traits=[Effects(READ_DESCRIBED)]):
    """Brings the block at ``indices`` into the cache: a hint."""

    descriptor: ext.Operand[Any]
    indices: Sequence[ext.Operand[Any]]


class RegisterSliceOp(TTIG.Operation, name="register_slice", traits=[Pure]):
    """The part of ``source`` at ``offsets`` that has the result's shape: registers that each lane has, none moves."""

    result: ext.Result[Any]
    source: ext.Operand[Any]
    offsets: Any


def is_block_access(op: ir.Operation) -> bool:
    """True if ``op`` reads or writes a block of a descriptor."""
    return BlockAccess.declared_by(op.name)


def is_transposed(op: ir.Operation) -> bool:
    """True if a load transposes the block."""
    return "transposed" in op.attributes


def coordinates(op: ir.Operation) -> list[ir.Value]:
    """Row and column that the block of an access or prefetch begins at."""
    return list(op.operands)[-2:]
