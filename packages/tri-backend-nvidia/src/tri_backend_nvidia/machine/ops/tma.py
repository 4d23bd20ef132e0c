"""Machine ops of the tensor memory accelerator: TMA copies of boxes of a tensor that a *tensor map* describes.

PTX ISA 9.7.9.25 and .27.  Coordinates (i32) go from the contiguous dimension on.  A map is 128 bytes of global memory or
of a kernel parameter, at a multiple of 64.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

from tri_backend_nvidia.machine.base import NVM, Array, In, text
from tri_backend_nvidia.machine.ops.mbarrier import guarded
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = [
    "MapAcquireOp",
    "MapPrefetchOp",
    "MapPublishOp",
    "MapReplaceOp",
    "TmaCommitOp",
    "TmaLoadOp",
    "TmaStoreOp",
    "TmaWaitOp",
]

_Ins = Sequence[ext.Operand[Any]]

#: fields of a map whose new value is a number in the instruction
_IMMEDIATE = frozenset({"elemtype", "interleave_layout", "swizzle_mode", "fill_mode"})
#: fields of 64 bits
_WIDE = frozenset({"global_address", "global_stride"})


def _coordinates(first: int, count: int) -> str:
    return "{" + ", ".join(f"${first + i}" for i in range(count)) + "}"


class TmaLoadOp(MachineOp, dialect=NVM, name="tma_load"):
    """``cp.async.bulk.tensor`` to shared memory at ``destination``, where ``predicate``.

    The bytes of the box, also those that are outside of the tensor, count at ``barrier``.  With ``multicast`` the box
    goes to all CTAs of the cluster whose bits are set in ``mask`` (i16), at the same place in each.
    """

    destination: In
    map: In
    barrier: In
    predicate: In
    mask: In
    coordinates: _Ins
    multicast: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        destination, source, barrier, predicate, mask, *given = self.operation.operands
        several = bool(ir.IntegerAttr(self.multicast).value)
        extra = ".multicast::cluster" if several else ""
        body = (
            f"cp.async.bulk.tensor.{len(given)}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{extra} "
            f"[$0], [$1, {_coordinates(3, len(given))}], [$2]"
        )
        operands = [destination, source, barrier, *given]
        constraints = ",".join(["l", "l", "l", *("r" * len(given))])
        if several:
            body, constraints = f"{body}, ${len(operands)}", f"{constraints},h"
            operands.append(mask)
        guarded(b, f"{body};", constraints, operands, predicate)
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The box is fetched now, and lands with the phase of the barrier."""
        from tri_backend_nvidia.machine.simulation import tma as tma_simulation

        destination, source, barrier, predicate, mask, *coordinates = operands
        only = mask if ir.IntegerAttr(self.multicast).value else None
        tma_simulation.load(cta, destination, source, barrier, predicate, coordinates, only)
        return []


class TmaStoreOp(MachineOp, dialect=NVM, name="tma_store"):
    """``cp.async.bulk.tensor`` from shared memory at ``source``, where ``predicate``; cut off at the tensor's bounds.

    ``combine`` is empty, or what ``cp.reduce.async.bulk.tensor`` does with what is there: ``add``, ``min``, ``max``,
    ``and``, ``or``, ``xor``.
    """

    source: In
    map: In
    predicate: In
    coordinates: _Ins
    combine: ir.StringAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        source, target, predicate, *given = self.operation.operands
        combine = text(self.combine)
        start, kind = ("cp.reduce", f".{combine}") if combine else ("cp", "")
        body = (
            f"{start}.async.bulk.tensor.{len(given)}d.global.shared::cta{kind}.tile.bulk_group "
            f"[$1, {_coordinates(2, len(given))}], [$0];"
        )
        constraints = ",".join(["l", "l", *("r" * len(given))])
        guarded(b, body, constraints, [source, target, *given], predicate)
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Global memory is written now, or as late as may be; shared memory is in use until the wait."""
        from tri_backend_nvidia.machine.simulation import tma as tma_simulation

        source, target, predicate, *coordinates = operands
        tma_simulation.store(cta, source, target, predicate, coordinates, text(self.combine))
        return []


class TmaCommitOp(MachineOp, dialect=NVM, name="tma_commit"):
    """``cp.async.bulk.commit_group``: this thread's TMA copies to global memory become a group."""

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        b.inline_asm("cp.async.bulk.commit_group;", "~{memory}", [])
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """A group of what was started."""
        from tri_runtime.simulator import as_cta

        real = as_cta(cta)
        real.stores.commit(real.active)
        return []


class TmaWaitOp(MachineOp, dialect=NVM, name="tma_wait"):
    """``cp.async.bulk.wait_group``: until at most ``groups`` of this thread's groups are under way.

    With ``read`` only their reading of shared memory counts; without, what they wrote is seen by this thread.
    """

    groups: ir.IntegerAttr
    read: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        kind = ".read" if ir.IntegerAttr(self.read).value else ""
        b.inline_asm(f"cp.async.bulk.wait_group{kind} {ir.IntegerAttr(self.groups).value};", "~{memory}", [])
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The oldest groups have read, or written, too."""
        from tri_runtime.simulator import as_cta

        real = as_cta(cta)
        reads = bool(ir.IntegerAttr(self.read).value)
        real.stores.wait(ir.IntegerAttr(self.groups).value, real.active, reads=reads)
        return []


# --- tensor maps ------------------------------------------------------------------------------------------


class MapPrefetchOp(MachineOp, dialect=NVM, name="prefetch_tensormap"):
    """``prefetch.tensormap``: the map will be used soon; where ``predicate``."""

    map: In
    predicate: In

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        guarded(b, "prefetch.tensormap [$0];", "l", [self.map], self.predicate)
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The map must be one."""
        from tri_backend_nvidia.machine.simulation import tma as tma_simulation

        tma_simulation.prefetch(cta, *operands)
        return []


class MapReplaceOp(MachineOp, dialect=NVM, name="tensormap_replace"):
    """``tensormap.replace.tile``: another ``value`` for a field of the map at ``address`` in shared memory.

    ``field`` is PTX's name; ``ordinal`` the dimension, 0 for fields that have none.  ``value`` is an i64 for addresses and
    strides (bytes), an i32 for others; a constant for types and modes.  Where ``predicate``.
    """

    address: In
    value: In
    predicate: In
    field: ir.StringAttr
    ordinal: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        field, ordinal = text(self.field), ir.IntegerAttr(self.ordinal).value
        width = 64 if field in _WIDE else 32
        place = f"tensormap.replace.tile.{field}.shared::cta.b1024.b{width} [$0],"
        if field in ("global_dim", "box_dim", "element_stride", "global_stride"):
            place += f" {ordinal},"
        if field in _IMMEDIATE:
            known = ir.IntegerAttr(self.value.owner.attributes["value"]).value
            guarded(b, f"{place} {known};", "l", [self.address], self.predicate)
        else:
            constraint = "l,l" if width == 64 else "l,r"
            guarded(b, f"{place} $1;", constraint, [self.address, self.value], self.predicate)
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The field of the simulator's own form."""
        from tri_backend_nvidia.machine.simulation import tma as tma_simulation

        address, value, predicate = operands
        ordinal = ir.IntegerAttr(self.ordinal).value
        tma_simulation.replace(cta, address, value, predicate, text(self.field), ordinal)
        return []


class MapPublishOp(MachineOp, dialect=NVM, name="tensormap_publish"):
    """``tensormap.cp_fenceproxy``: the map at ``source`` in shared memory, written to ``target``; by a whole warp."""

    target: In
    source: In

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        body = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [$0], [$1], 128;"
        b.inline_asm(body, "l,l,~{memory}", [self.target, self.source], convergent=True)
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The bytes are copied."""
        from tri_backend_nvidia.machine.simulation import tma as tma_simulation

        tma_simulation.publish(cta, *operands)
        return []


class MapAcquireOp(MachineOp, dialect=NVM, name="tensormap_acquire"):
    """``fence.proxy.tensormap``: what was published at ``map`` is seen by this thread's copies."""

    map: In

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        b.inline_asm("fence.proxy.tensormap::generic.acquire.gpu [$0], 128;", "l,~{memory}", [self.map])
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Nothing: the simulator's copies read memory as it is."""
        return []
