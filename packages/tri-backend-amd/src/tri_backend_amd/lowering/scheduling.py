"""The rule of ``amdg.instruction_sched_hint``, groups of instructions for LLVM's scheduler; priorities, waits and barriers to scheduling as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from tri_backend_amd.dialect.copies import WaitLoadsOp
from tri_backend_amd.dialect.scheduling import (
    IglpOp,
    SchedBarrierOp,
    SchedGroupOp,
    SetPriorityOp,
    count_of,
    variant_of,
)
from tri_core.errors import Unsupported
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Lowered, Lowering, LoweringTable

__all__ = ["add_rules", "groups"]

#: kinds of instructions in a group's mask (LLVM's "User Guide for AMDGPU Backend", ``llvm.amdgcn.sched.group.barrier``)
MATRIX, GLOBAL_READ, LDS_READ, LDS_WRITE = 0x8, 0x20, 0x100, 0x200

_IGLP = {"llvm_iglp_0": 0, "llvm_iglp_1": 1}


def groups(matrix: int, global_reads: int, lds_reads: int, lds_writes: int) -> Iterator[tuple[int, int]]:
    """Masks and sizes of groups: accesses one by one, as many matrix instructions behind each as there are for it.

    LDS is written before new data is asked for, and read last, for the next iteration.
    """
    accesses = [
        kind
        for pair in zip_longest([LDS_WRITE] * lds_writes, [GLOBAL_READ] * global_reads)
        for kind in pair
        if kind is not None
    ]
    accesses += [LDS_READ] * lds_reads
    for number, kind in enumerate(accesses):
        yield kind, 1
        behind = matrix * (number + 1) // len(accesses) - matrix * number // len(accesses)
        if behind:
            yield MATRIX, behind


def _hint(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    variant = variant_of(op)
    if variant != "none" and not ctx.target.has("mfma"):
        raise Unsupported(
            f"the schedule {variant} on {ctx.target}, which has no MFMA",
            remedy="leave amdg.instruction_sched_hint out, or compile for gfx90a, gfx942 or gfx950",
        )
    if variant == "llvm_iglp_1" and ctx.hw.num_warps != 1:
        # LLVM ends the process where the loop of several wavefronts has no LDS writes of the shape that it looks for
        raise Unsupported(
            f"the schedule {variant}, which is for work groups of one wavefront, with {ctx.hw.num_warps}",
            remedy="use llvm_iglp_0 or local_prefetch, or num_warps=1",
        )
    if variant in _IGLP:
        IglpOp.build([], [], {"which": ir.IntegerAttr.get(ctx.b.i32, _IGLP[variant])})
    elif variant == "local_prefetch":
        reads, writes, loads = (
            sum(count_of(op, f"{name}{operand}") for operand in "AB")
            for name in ("numDsReads", "numDsWrites", "numGlobalLoads")
        )
        for mask, size in groups(count_of(op, "numMMAs"), loads, reads, writes):
            attributes = {
                "mask": ir.IntegerAttr.get(ctx.b.i32, mask),
                "size": ir.IntegerAttr.get(ctx.b.i32, size),
            }
            SchedGroupOp.build([], [], attributes)
    return []


def _as_it_is(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """A machine op that TTGIR has as well."""
    op.clone()
    return []


def add_rules(table: LoweringTable) -> None:
    """Register the rules."""
    for made in (SchedBarrierOp, SetPriorityOp, WaitLoadsOp):
        table.add(made.OPERATION_NAME, _as_it_is, owner=f"{__name__}.{made.OPERATION_NAME}")
    table.add("amdg.instruction_sched_hint", _hint, owner=f"{__name__}.instruction_sched_hint")
