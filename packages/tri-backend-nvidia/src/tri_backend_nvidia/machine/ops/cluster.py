"""Machine ops of clusters: CTAs that run together synchronise, and reach each other's shared memory.

PTX ISA, "Parallel Synchronization and Communication Instructions": ``barrier.cluster``, ``mbarrier.arrive``; "Data Movement and
Conversion Instructions": ``mapa``, ``ld``, ``st`` of ``.shared::cluster``.  Pointers to the memory of another CTA are of
LLVM's address space 7.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence

from tri_backend_nvidia.machine.base import (
    NVM,
    Array,
    In,
    Out,
    always,
    bits_of,
    from_words,
    text,
    to_words,
    word_bits,
)
from tri_backend_nvidia.machine.ops.mbarrier import guarded, wait_loop
from tri_backend_nvidia.machine.ops.memory import REGISTER, group
from tri_core.ir.traits import Pure
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["ClusterBarrierOp", "MapaOp", "PeerArriveOp", "PeerLoadOp", "PeerStoreOp", "PeerWaitOp"]


class ClusterBarrierOp(MachineOp, dialect=NVM, name="barrier_cluster"):
    """``barrier.cluster``: this thread arrives (``step`` ``arrive``), or waits for all that have not left the kernel (``wait``).

    What was written before the arrival, to shared and global memory, is seen after the wait.
    """

    step: ir.StringAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly: whole warps come here."""
        order = {"arrive": "release", "wait": "acquire"}[text(self.step)]
        assembly = f"barrier.cluster.{text(self.step)}.{order}.aligned;"
        return b.inline_asm(assembly, "~{memory}", [], convergent=True)

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The barrier of the simulator's cluster."""
        from tri_backend_nvidia.machine.simulation import cluster as cluster_simulation

        cluster_simulation.barrier(cta, text(self.step))
        return []


class MapaOp(MachineOp, dialect=NVM, name="mapa", traits=[Pure]):
    """``mapa``: where what is at ``address`` of this CTA's shared memory is in CTA ``rank`` (i32) of the cluster."""

    address: In
    rank: In
    result: Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly without effects."""
        body, given = "mapa.shared::cluster.u64 $0, $1, $2;", [self.address, self.rank]
        word = b.inline_asm(body, "=l,l,r", given, [b.i64], side_effects=False)
        return [b.int_to_ptr(word[0], self.result.type)]

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """An address in the window of the simulator's cluster."""
        from tri_backend_nvidia.machine.simulation import cluster as cluster_simulation

        return [cluster_simulation.mapa(*operands)]


class PeerLoadOp(MachineOp, dialect=NVM, name="load_cluster"):
    """``ld.shared::cluster``: a scalar or vector of the shared memory of a CTA of the cluster."""

    pointer: In
    result: Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        type_ = self.result.type
        width = word_bits(type_)
        count = bits_of(type_) // width
        vector = f".v{count}" if count > 1 else ""
        body = f"ld.shared::cluster{vector}.b{width} {group([f'${i}' for i in range(count)])}, [${count}];"
        held = b.int_type(max(width, 16))
        constraints = ",".join([f"={REGISTER[width]}"] * count + ["l", "~{memory}"])
        words = b.inline_asm(body, constraints, [self.pointer], [held] * count)
        return [from_words(b, [b.int_cast(w, b.int_type(width)) for w in words], type_)]

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """A read of the other CTA's memory, as tracked as one of its own."""
        from tri_backend_nvidia.machine.simulation import cluster as cluster_simulation

        return [cluster_simulation.load(cta, self.result.type, *operands)]


class PeerStoreOp(MachineOp, dialect=NVM, name="store_cluster"):
    """``st.shared::cluster``: a scalar or vector into the shared memory of a CTA of the cluster, where ``predicate``."""

    pointer: In
    value: In
    predicate: In

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        width = word_bits(self.value.type)
        words = [b.int_cast(w, b.int_type(max(width, 16))) for w in to_words(b, self.value)]
        vector = f".v{len(words)}" if len(words) > 1 else ""
        guard = "" if always(self.predicate) else "@$1 "
        registers = group([f"${i + 2}" for i in range(len(words))])
        constraints = ",".join(["l", "b", *[REGISTER[width]] * len(words), "~{memory}"])
        body = f"{guard}st.shared::cluster{vector}.b{width} [$0], {registers};"
        b.inline_asm(body, constraints, [self.pointer, self.predicate, *words])
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """A write of the other CTA's memory."""
        from tri_backend_nvidia.machine.simulation import cluster as cluster_simulation

        pointer, value, predicate = operands
        cluster_simulation.store(cta, self.value.type, pointer, value, predicate)
        return []


class PeerArriveOp(MachineOp, dialect=NVM, name="mbarrier_arrive_cluster"):
    """``mbarrier.arrive`` at a barrier in a CTA of the cluster: each thread arrives where ``predicate``.

    With ``scope`` ``cluster`` it releases what it has written to the cluster; with ``cta`` it orders its own reads before the
    arrival, which is all that whoever overwrites what was read needs, and takes no fence.
    """

    address: In
    predicate: In
    scope: ir.StringAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        # what stands for nothing else is release in the scope of a CTA
        order = ".release.cluster" if text(self.scope) == "cluster" else ""
        body = f"mbarrier.arrive{order}.shared::cluster.b64 _, [$0];"
        guarded(b, body, "l", [self.address], self.predicate)
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Arrivals at phases of other CTAs, each thread at its own."""
        from tri_backend_nvidia.machine.simulation import cluster as cluster_simulation

        cluster_simulation.arrive(cta, *operands)
        return []


class PeerWaitOp(MachineOp, dialect=NVM, name="mbarrier_wait_cluster"):
    """As ``nvm.mbarrier_wait`` of a barrier of this CTA; what CTAs of the cluster have released into the phase is seen."""

    address: In
    phase: In
    polls: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly with its own loop."""
        wait_loop(b, self.address, self.phase, ir.IntegerAttr(self.polls).value, ".acquire.cluster")
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The threads wait; what never comes is a deadlock."""
        from tri_backend_nvidia.machine.simulation import mbarrier as mbarrier_simulation

        mbarrier_simulation.wait(cta, *operands)
        return []
