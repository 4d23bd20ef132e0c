"""Machine ops of barriers in shared memory (``mbarrier``), and of the fences that go with them.  PTX ISA 9.7.13."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence

from tri_backend_nvidia.machine.base import NVM, Array, In, always, text
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = [
    "BarrierArriveOp",
    "BarrierExpectOp",
    "BarrierInitOp",
    "BarrierInvalOp",
    "BarrierWaitOp",
    "CopyArriveOp",
    "FenceOp",
]

#: where a barrier is: in the shared memory of this CTA
_HERE = "shared::cta.b64"


def guarded(
    b: Builder, body: str, constraints: str, operands: Sequence[ir.Value], predicate: ir.Value
) -> None:
    """Inline assembly without results, where ``predicate``."""
    if always(predicate):
        b.inline_asm(body, ",".join(filter(None, [constraints, "~{memory}"])), operands)
    else:
        given = ",".join(filter(None, [constraints, "b", "~{memory}"]))
        b.inline_asm(f"@${len(operands)} {body}", given, [*operands, predicate])


def wait_loop(b: Builder, address: ir.Value, phase: ir.Value, polls: int, order: str = "") -> None:
    """Until the phase of parity ``phase`` of the barrier at ``address`` is complete; ``order`` as PTX has it.

    One piece of inline assembly with its own loop: the hardware suspends the thread between polls.  A trap after ``polls``, if not 0.
    """
    poll = f"mbarrier.try_wait.parity{order}.{_HERE} done, [$0], $1;\n@done bra.uni ready_${{:uid}};\n"
    if polls:
        poll += "add.u32 left, left, -1;\nsetp.eq.u32 done, left, 0;\n@done trap;\n"
    start = f".reg .b32 left;\nmov.u32 left, {polls};\n" if polls else ""
    body = (
        f"{{\n.reg .pred done;\n{start}again_${{:uid}}:\n{poll}bra.uni again_${{:uid}};\nready_${{:uid}}:\n}}"
    )
    b.inline_asm(body, "l,r,~{memory}", [address, phase])


class BarrierInitOp(MachineOp, dialect=NVM, name="mbarrier_init"):
    """``mbarrier.init``: a barrier for ``count`` arrivals at ``address`` (8 bytes), where ``predicate``."""

    address: In
    predicate: In
    count: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        count = ir.IntegerAttr(self.count).value
        guarded(b, f"mbarrier.init.{_HERE} [$0], {count};", "l", [self.address], self.predicate)
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """A phase of the simulator."""
        from tri_backend_nvidia.machine.simulation import mbarrier as mbarrier_simulation

        address, predicate = operands
        mbarrier_simulation.init(cta, address, predicate, ir.IntegerAttr(self.count).value)
        return []


class BarrierInvalOp(MachineOp, dialect=NVM, name="mbarrier_inval"):
    """``mbarrier.inval``: the memory at ``address`` holds no barrier any more, where ``predicate``."""

    address: In
    predicate: In

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        guarded(b, f"mbarrier.inval.{_HERE} [$0];", "l", [self.address], self.predicate)
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The phase is forgotten."""
        from tri_backend_nvidia.machine.simulation import mbarrier as mbarrier_simulation

        mbarrier_simulation.inval(cta, *operands)
        return []


class BarrierArriveOp(MachineOp, dialect=NVM, name="mbarrier_arrive"):
    """``mbarrier.arrive``: each thread arrives where ``predicate``, and releases what it knows of memory."""

    address: In
    predicate: In

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly; the state, which nobody needs, is dropped."""
        guarded(b, f"mbarrier.arrive.{_HERE} _, [$0];", "l", [self.address], self.predicate)
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Arrivals at the phase."""
        from tri_backend_nvidia.machine.simulation import mbarrier as mbarrier_simulation

        address, predicate = operands
        mbarrier_simulation.arrive(cta, address, predicate)
        return []


class BarrierExpectOp(MachineOp, dialect=NVM, name="mbarrier_expect"):
    """``mbarrier.arrive.expect_tx``: each thread arrives where ``predicate``; ``size`` more bytes are to come."""

    address: In
    predicate: In
    size: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        body = f"mbarrier.arrive.expect_tx.{_HERE} _, [$0], {ir.IntegerAttr(self.size).value};"
        guarded(b, body, "l", [self.address], self.predicate)
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Arrivals at the phase, which expects more."""
        from tri_backend_nvidia.machine.simulation import mbarrier as mbarrier_simulation

        address, predicate = operands
        mbarrier_simulation.arrive(cta, address, predicate, ir.IntegerAttr(self.size).value)
        return []


class BarrierWaitOp(MachineOp, dialect=NVM, name="mbarrier_wait"):
    """``mbarrier.try_wait.parity`` until the phase of parity ``phase`` (i32) is complete.

    ``polls``: after so many that fail, the kernel stops with a trap; 0: never.
    """

    address: In
    phase: In
    polls: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly with its own loop."""
        wait_loop(b, self.address, self.phase, ir.IntegerAttr(self.polls).value)
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The threads wait; what never comes is a deadlock."""
        from tri_backend_nvidia.machine.simulation import mbarrier as mbarrier_simulation

        mbarrier_simulation.wait(cta, *operands)
        return []


class CopyArriveOp(MachineOp, dialect=NVM, name="cp_async_arrive"):
    """``cp.async.mbarrier.arrive.noinc``: each thread arrives when what it copies by ``cp.async`` has landed."""

    collective = True

    address: In

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        b.inline_asm("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];", "l,~{memory}", [self.address])
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The copies land with the phase."""
        from tri_backend_nvidia.machine.simulation import mbarrier as mbarrier_simulation

        mbarrier_simulation.copy_arrive(cta, *operands)
        return []


class FenceOp(MachineOp, dialect=NVM, name="fence"):
    """``fence.KIND``.

    ``mbarrier_init.release.cluster``: barriers are there for copies too; ``proxy.async.shared::cta``,
    ``proxy.async.global``: what this thread wrote by ordinary code is seen by TMA copies.
    """

    kind: ir.StringAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        b.inline_asm(f"fence.{text(self.kind)};", "~{memory}", [])
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Notes it in the memory of the CTA."""
        from tri_backend_nvidia.machine.simulation import mbarrier as mbarrier_simulation

        mbarrier_simulation.fence(cta, text(self.kind))
        return []
