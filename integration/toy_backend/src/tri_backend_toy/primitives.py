"""The device's words: what the lowering that all GPU backends share asks of Toy.

These seven methods are all that must be said.  :class:`tri_gpu_dialect.lowering.Primitives` has many more
(predicated accesses, math functions, casts, other shuffles, dots), with defaults made of plain LLVM:
override one where the hardware does better.
"""

from __future__ import annotations

from collections.abc import Mapping

from tri_core.api import CommonOptions, Target
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Access, Builder, Primitives

from tri_backend_toy.architectures import ADDRESS_SPACES
from tri_backend_toy.machine import (
    BarrierOp,
    NumProgramsOp,
    ProgramIdOp,
    ShuffleOp,
    ThreadIdOp,
)

__all__ = ["ToyPrimitives", "make_primitives"]


class ToyPrimitives(Primitives):
    """Blocks of warps that run in lock step, with shared memory, a barrier and an indexed shuffle."""

    no_assembly = "its assembler is not connected"

    def address_space(self, name: str) -> int:
        """LLVM's number of the memory ``name``."""
        return ADDRESS_SPACES[name]

    def kernel_attributes(self, name: str) -> Mapping[str, ir.Attribute]:
        """Attributes by which the device's compiler knows a kernel, and its number of threads."""
        text, array = ir.StringAttr.get, ir.ArrayAttr.get
        threads = text(str(self.num_warps * self.threads_per_warp))
        given = [text("toy-kernel"), array([text("toy-threads"), threads])]
        return {"passthrough": array(given)}

    def program_id(self, b: Builder, axis: int) -> ir.Value:
        """The block's number."""
        return ProgramIdOp.build([], [b.i32], {"axis": ir.IntegerAttr.get(b.i32, axis)})[0]

    def num_programs(self, b: Builder, axis: int) -> ir.Value:
        """The number of blocks."""
        return NumProgramsOp.build([], [b.i32], {"axis": ir.IntegerAttr.get(b.i32, axis)})[0]

    def thread_id(self, b: Builder) -> ir.Value:
        """The thread's number."""
        return ThreadIdOp.build([], [b.i32])[0]

    def load_global(
        self,
        b: Builder,
        pointer: ir.Value,
        type_: ir.Type,
        predicate: ir.Value | None,
        other: ir.Value | None,
        access: Access,
    ) -> ir.Value:
        """A load that leaves no line in the caches where the kernel says so."""
        if not _streams(access):
            return super().load_global(b, pointer, type_, predicate, other, access)

        def load() -> list[ir.Value]:
            return [b.op("llvm.load", (pointer,), type_, _streamed(b, access))]

        missing = b.undef(type_) if other is None else other
        return load()[0] if predicate is None else b.if_(predicate, load, lambda: [missing], [type_])[0]

    def store_global(
        self, b: Builder, pointer: ir.Value, value: ir.Value, predicate: ir.Value | None, access: Access
    ) -> None:
        """A store past the caches where the kernel says so."""
        if not _streams(access):
            super().store_global(b, pointer, value, predicate, access)
            return

        def store() -> None:
            b.run("llvm.store", (value, pointer), (), _streamed(b, access))

        if predicate is None:
            store()
        else:
            b.if_(predicate, store)

    def barrier(self, b: Builder) -> None:
        """The block's barrier."""
        BarrierOp.build([])

    def shuffle_idx(self, b: Builder, value: ir.Value, lane: ir.Value) -> ir.Value:
        """The warp's shuffle."""
        return ShuffleOp.build([value, lane], [b.i32])[0]


def _streams(access: Access) -> bool:
    """True if the kernel says that these bytes are used once: by ``cache("stream")``, or in the scope ``streaming``."""
    if access.volatile:
        return False
    cache = access.hints.get("toy.cache")
    if cache is None:
        return "toy.streaming" in access.hints
    value: str = ir.StringAttr(cache).value
    return value == "stream"


def _streamed(b: Builder, access: Access) -> dict[str, ir.Attribute]:
    return {"alignment": ir.IntegerAttr.get(b.i64, access.align), "nontemporal": ir.UnitAttr.get()}


def make_primitives(
    target: Target,
    options: CommonOptions,
    threads_per_warp: int,
    num_warps: int,
) -> ToyPrimitives:
    """The primitives of one compile."""
    lanes, warps = threads_per_warp, num_warps
    return ToyPrimitives(target, options, threads_per_warp=lanes, num_warps=warps)
