"""A made-up GPU, as small as a target can be: what tests of the generic lowering run on.

Its words are five machine ops; everything else is the defaults of :class:`Primitives`.  Kernels run in
the simulator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy.typing as npt

from tri_core.mlir import ir
from tri_core.options import CommonOptions
from tri_core.target import Memory, Target, TargetKey, TargetSpec
from tri_gpu_dialect.lowering import Builder, LoweringTable, Primitives, generic_table, lower
from tri_gpu_dialect.plans.scratch import SHARED, ScratchMeasures
from tri_gpu_dialect.testing.machine import BarrierOp, PartitionBarrierOp, ProgramOp, ShuffleOp, ThreadIdOp
from tri_gpu_dialect.testing.matrix import MatrixOp
from tri_gpu_dialect.transforms.memory.placement import buffer_bytes
from tri_runtime.simulator import simulate

__all__ = ["ReferencePrimitives", "make_target", "place_in_memory", "run"]

Array = npt.NDArray[Any]


class ReferencePrimitives(Primitives):
    """The five words of the reference GPU."""

    def address_space(self, name: str) -> int:
        """Global 1, shared 3, constant 4."""
        return {"global": 1, "shared": 3, "constant": 4}.get(name, 0)

    def kernel_attributes(self, name: str) -> Mapping[str, ir.Attribute]:
        """None."""
        return {}

    def _program(self, b: Builder, axis: int, count: int) -> ir.Value:
        given = {"axis": ir.IntegerAttr.get(b.i32, axis), "count": ir.IntegerAttr.get(b.i32, count)}
        return ProgramOp.build([], [b.i32], given)[0]

    def program_id(self, b: Builder, axis: int) -> ir.Value:
        """``ref.program``."""
        return self._program(b, axis, 0)

    def num_programs(self, b: Builder, axis: int) -> ir.Value:
        """``ref.program``."""
        return self._program(b, axis, 1)

    def thread_id(self, b: Builder) -> ir.Value:
        """``ref.thread_id``."""
        return ThreadIdOp.build([], [b.i32])[0]

    def barrier(self, b: Builder) -> None:
        """``ref.barrier``."""
        BarrierOp.build([])

    def partition_barrier(self, b: Builder, number: int, warps: int) -> None:
        """``ref.partition_barrier``."""
        given = {"number": ir.IntegerAttr.get(b.i32, number), "warps": ir.IntegerAttr.get(b.i32, warps)}
        PartitionBarrierOp.build([], (), given)

    def shuffle_idx(self, b: Builder, value: ir.Value, lane: ir.Value) -> ir.Value:
        """``ref.shuffle``."""
        return ShuffleOp.build([value, lane], [b.i32])[0]

    def matrix_multiply(
        self,
        b: Builder,
        dot: ir.Operation,
        left: Sequence[ir.Value],
        right: Sequence[ir.Value],
        total: Sequence[ir.Value],
    ) -> Sequence[ir.Value]:
        """``refm.multiply``."""
        groups = ir.DenseI32ArrayAttr.get([len(left), len(right), len(total)])
        return MatrixOp.build(
            [*left, *right, *total], [t.type for t in total], {"operandSegmentSizes": groups}
        )


def make_target(threads_per_warp: int = 32, dtypes: Sequence[str] = ("fp16", "bf16"), **spec: Any) -> Target:
    """A target of the reference GPU."""
    return Target(
        key=TargetKey("ref", "v1"),
        spec=TargetSpec(
            threads_per_warp=(threads_per_warp,),
            dtypes=frozenset(dtypes),
            memories=(Memory(name="global", address_space=1), Memory(name="shared", address_space=3)),
            **spec,
        ),
    )


def place_in_memory(module: ir.Module, measures: ScratchMeasures = SHARED) -> int:
    """Give every op that needs shared memory a place of its own, with barriers before; bytes in all.

    A stand-in for the allocation and barrier passes, in which no two ops share memory; ``measures``: the target's.
    """
    used = 0
    i32 = ir.IntegerType.get_signless(32)
    for op in list(_all_ops(module.operation)):
        size = buffer_bytes(op.results[0].type) if op.name == "ttg.local_alloc" else measures.bytes(op)
        if size:
            op.attributes["allocation.offset"] = ir.IntegerAttr.get(i32, used)
            used = -(-(used + size) // 128) * 128
        if size or op.name in _ACCESSES:
            space = {"addrSpace": ir.IntegerAttr.get(i32, 1)}
            ir.Operation.create("ttg.barrier", attributes=space, ip=ir.InsertionPoint(op), loc=op.location)
    module.operation.attributes["ttg.shared"] = ir.IntegerAttr.get(i32, used)
    return used


_ACCESSES = frozenset(
    {"ttg.local_load", "ttg.local_store", "ttg.local_gather", "ttg.local_scatter", "ttg.local_dot"}
)


def _all_ops(op: ir.Operation) -> Iterator[ir.Operation]:
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation
                yield from _all_ops(inner.operation)


def run(
    module: ir.Module,
    arguments: Sequence[Array | float],
    *,
    grid: tuple[int, int, int] = (1, 1, 1),
    target: Target | None = None,
    options: CommonOptions | None = None,
    words: type[ReferencePrimitives] = ReferencePrimitives,
    table: LoweringTable | None = None,
) -> ir.Module:
    """Lower the kernel of a TTGIR module in terms of ``words`` and run it on arrays, in place; gives the lowered module.

    The rules are the generic ones where ``table`` is None.
    """
    attributes = module.operation.attributes
    warps, lanes = (
        ir.IntegerAttr(attributes[name]).value for name in ("ttg.num-warps", "ttg.threads-per-warp")
    )
    extra = "ttg.total-num-warps"
    total = ir.IntegerAttr(attributes[extra]).value if extra in attributes else warps
    target = target or make_target(lanes)
    options = options or CommonOptions(num_warps=warps)
    table = table or generic_table()
    place_in_memory(module, table.scratch_measures)
    made = words(target, options, threads_per_warp=lanes, num_warps=total)
    lowered = lower(module, target, options, made, table)
    lowered.module.operation.verify()
    simulate(
        lowered.module,
        lowered.name,
        grid,
        arguments,
        num_threads=total * lanes,
        threads_per_warp=lanes,
        shared_bytes=lowered.shared_bytes,
    )
    return lowered.module
