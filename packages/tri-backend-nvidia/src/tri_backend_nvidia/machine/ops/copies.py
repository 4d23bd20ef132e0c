"""Machine ops of asynchronous copies from global to shared memory: ``cp.async``, its groups and waits."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence

from tri_backend_nvidia.machine.base import NVM, Array, In, always
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["CopyAsyncOp", "CopyCommitOp", "CopyWaitOp"]


class CopyAsyncOp(MachineOp, dialect=NVM, name="cp_async"):
    """``cp.async``: ``width`` bytes (4, 8, 16) to ``destination``, where ``predicate``.

    The first ``size`` bytes (i32) come from ``source``, the others are zero.
    """

    destination: In
    source: In
    size: In
    predicate: In
    width: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly; 16 bytes go past L1."""
        width = ir.IntegerAttr(self.width).value
        cache = "cg" if width == 16 else "ca"
        guard = "" if always(self.predicate) else "@$3 "
        body = f"{guard}cp.async.{cache}.shared.global [$0], [$1], {width}, $2;"
        operands = [self.destination, self.source, self.size, self.predicate]
        b.inline_asm(body, "l,l,r,b,~{memory}", operands)
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Until its wait, the destination is undefined."""
        from tri_backend_nvidia.machine.simulation import copies as copy_simulation

        destination, source, size, predicate = operands
        copy_simulation.start(cta, destination, source, size, predicate, ir.IntegerAttr(self.width).value)
        return []


class CopyCommitOp(MachineOp, dialect=NVM, name="cp_async_commit"):
    """``cp.async.commit_group``: the copies of this thread since the last one become a group."""

    collective = True

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """LLVM's intrinsic."""
        b.intrinsic("llvm.nvvm.cp.async.commit.group", [], [])
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """A group of what was started."""
        from tri_backend_nvidia.machine.simulation import copies as copy_simulation

        copy_simulation.commit(cta)
        return []


class CopyWaitOp(MachineOp, dialect=NVM, name="cp_async_wait"):
    """``cp.async.wait_group``: until at most ``groups`` groups of this thread are under way."""

    collective = True

    groups: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """LLVM's intrinsic."""
        b.intrinsic("llvm.nvvm.cp.async.wait.group", [b.int_(ir.IntegerAttr(self.groups).value)], [])
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The oldest groups' data arrives."""
        from tri_backend_nvidia.machine.simulation import copies as copy_simulation

        copy_simulation.wait(cta, ir.IntegerAttr(self.groups).value)
        return []
