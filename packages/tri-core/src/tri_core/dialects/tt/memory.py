"""The ops of the ``tt`` dialect that access memory, and those that order grids; :mod:`.ops` has the others.

Results come first because optional operands must come last.  Source: Triton's ``TritonOps.td``.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any, TypeAlias

from tri_core.dialects.tt.accesses import reads_again
from tri_core.dialects.tt.dialect import TT
from tri_core.ir.access import MemoryAccess
from tri_core.ir.effects import (
    READ_DESCRIBED,
    READ_GLOBAL,
    SYNCHRONIZE_GRID,
    SYNCHRONIZE_LAUNCHES,
    WRITE_DESCRIBED,
    WRITE_GLOBAL,
    Effects,
)
from tri_core.ir.traits import Pure
from tri_core.mlir import ext, ir

__all__ = [
    "AtomicCasOp",
    "AtomicLoadOp",
    "AtomicPollOp",
    "AtomicRmwOp",
    "AtomicStoreOp",
    "DescriptorGatherOp",
    "DescriptorLoadOp",
    "DescriptorReduceOp",
    "DescriptorScatterOp",
    "DescriptorStoreOp",
    "GridDependencyLaunchDependentsOp",
    "GridDependencyWaitOp",
    "LoadOp",
    "MakeTensorDescriptorOp",
    "StoreOp",
]

_In: TypeAlias = ext.Operand[Any]
_Out: TypeAlias = ext.Result[Any]
_Opt: TypeAlias = ext.Operand[Any] | None
_Ins: TypeAlias = Sequence[ext.Operand[Any]]


class _Reads(ir.MemoryEffectsOpInterface):
    """A load that has to read again counts as a write too, so that it is neither merged nor erased."""

    @staticmethod
    def get_effects(op, effects):
        effects.append(ir.MemoryEffect.Read)
        if reads_again(op):
            effects.append(ir.MemoryEffect.Write)


# --- memory ---------------------------------------------------------------------------------------------


class LoadOp(
    TT.Operation,
    name="load",
    traits=[_Reads, Effects(READ_GLOBAL), MemoryAccess("ptr", mask="mask", other="other")],
):
    """Reads through pointers; where ``mask`` is false, ``other`` (or anything) without touching memory."""

    result: _Out
    ptr: _In
    mask: _Opt = None
    other: _Opt = None


class StoreOp(
    TT.Operation,
    name="store",
    traits=[Effects(WRITE_GLOBAL), MemoryAccess("ptr", stored="value", mask="mask")],
):
    """Writes ``value`` through pointers where ``mask`` is true."""

    ptr: _In
    value: _In
    mask: _Opt = None


class AtomicRmwOp(
    TT.Operation,
    name="atomic_rmw",
    traits=[Effects(READ_GLOBAL, WRITE_GLOBAL), MemoryAccess("ptr", stored="val", mask="mask")],
):
    """Atomic read-modify-write; yields the old values.  ``sem`` and ``scope`` as in :mod:`.enums`."""

    result: _Out
    atomic_rmw_op: ir.IntegerAttr
    ptr: _In
    val: _In
    sem: ir.IntegerAttr
    scope: ir.IntegerAttr
    mask: _Opt = None


class AtomicCasOp(
    TT.Operation,
    name="atomic_cas",
    traits=[Effects(READ_GLOBAL, WRITE_GLOBAL), MemoryAccess("ptr", stored="val")],
):
    """Atomic compare-and-swap; yields the old values."""

    ptr: _In
    cmp: _In
    val: _In
    sem: ir.IntegerAttr
    scope: ir.IntegerAttr
    result: _Out


class AtomicLoadOp(
    TT.Operation,
    name="atomic_load",
    traits=[Effects(READ_GLOBAL, SYNCHRONIZE_GRID), MemoryAccess("ptr", mask="mask")],
):
    """Atomic load with order ``sem`` and ``scope``."""

    result: _Out
    ptr: _In
    sem: ir.IntegerAttr
    scope: ir.IntegerAttr
    mask: _Opt = None


class AtomicStoreOp(
    TT.Operation,
    name="atomic_store",
    traits=[Effects(WRITE_GLOBAL, SYNCHRONIZE_GRID), MemoryAccess("ptr", stored="val", mask="mask")],
):
    """Atomic store with order ``sem`` and ``scope``."""

    ptr: _In
    val: _In
    sem: ir.IntegerAttr
    scope: ir.IntegerAttr
    mask: _Opt = None


class AtomicPollOp(
    TT.Operation, name="atomic_poll", traits=[Effects(READ_GLOBAL, SYNCHRONIZE_GRID), MemoryAccess("ptr")]
):
    """Spins until memory holds ``expected``, or ``timeout_ns`` passes."""

    result: _Out
    ptr: _In
    expected: _In
    sem: ir.IntegerAttr
    scope: ir.IntegerAttr
    timeout_ns: _Opt = None


# --- tensor descriptors ---------------------------------------------------------------------------------


class MakeTensorDescriptorOp(TT.Operation, name="make_tensor_descriptor", traits=[Pure]):
    """A descriptor of the tensor at ``base`` with run-time shape and strides."""

    base: _In
    shape: _Ins
    strides: _Ins
    result: _Out


class DescriptorLoadOp(
    TT.Operation,
    name="descriptor_load",
    traits=[Effects(READ_DESCRIBED), MemoryAccess("desc", offsets=("indices",))],
):
    """The block at ``indices``; out of bounds reads as the padding."""

    desc: _In
    indices: _Ins
    result: _Out


class DescriptorStoreOp(
    TT.Operation,
    name="descriptor_store",
    traits=[Effects(WRITE_DESCRIBED), MemoryAccess("desc", offsets=("indices",), stored="src")],
):
    """Writes the block at ``indices``; out of bounds is dropped."""

    desc: _In
    src: _In
    indices: _Ins


class DescriptorReduceOp(
    TT.Operation,
    name="descriptor_reduce",
    traits=[
        Effects(READ_DESCRIBED, WRITE_DESCRIBED),
        MemoryAccess("desc", offsets=("indices",), stored="src"),
    ],
):
    """Atomic reduction of the block at ``indices``; ``kind`` as in ``tt.DescriptorReduceKind``."""

    kind: ir.IntegerAttr
    desc: _In
    src: _In
    indices: _Ins


class DescriptorGatherOp(
    TT.Operation,
    name="descriptor_gather",
    traits=[Effects(READ_DESCRIBED), MemoryAccess("desc", offsets=("x_offsets", "y_offset"))],
):
    """Rows ``x_offsets`` at column ``y_offset``."""

    desc: _In
    x_offsets: _In
    y_offset: _In
    result: _Out


class DescriptorScatterOp(
    TT.Operation,
    name="descriptor_scatter",
    traits=[Effects(WRITE_DESCRIBED), MemoryAccess("desc", offsets=("x_offsets", "y_offset"), stored="src")],
):
    """Writes rows ``x_offsets`` at column ``y_offset``."""

    desc: _In
    x_offsets: _In
    y_offset: _In
    src: _In


# --- order of grids -------------------------------------------------------------------------------------


class GridDependencyWaitOp(TT.Operation, name="grid_dependency_wait", traits=[Effects(SYNCHRONIZE_LAUNCHES)]):
    """Waits for the grids before this one and sees what they wrote."""


class GridDependencyLaunchDependentsOp(
    TT.Operation, name="grid_dependency_launch_dependents", traits=[Effects(SYNCHRONIZE_LAUNCHES)]
):
    """Lets the grids that wait for this one begin."""
