"""Gives every buffer and every op's scratch memory a place in the block's shared memory.

Buffers whose lives do not overlap may share bytes.  The largest are placed first, each at the lowest offset
where it overlaps no other.  Offsets stand on the ops as ``allocation.offset`` (bytes), the total on the module
as ``ttg.shared``.

Small ones are kept apart from the first that is made when they are no longer needed, although they could share: that one may then
be written while other warps still read the one before, which saves a barrier.  So are tiles that are copied out to descriptors, large
as they may be, from what is before them: a tile is written while other warps still compute, and while the piece before it is copied.
Both only where as many CTAs as before have room beside each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import ClassVar

from tri_core.api import OutOfResources, Pass, StageContext
from tri_core.ir.regions import loops_in
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_core.occupancy import occupancy
from tri_core.target import ComputeUnit
from tri_gpu_dialect.analysis.liveness import Buffer, buffers
from tri_gpu_dialect.analysis.pressure import accumulator_registers
from tri_gpu_dialect.dialect import AsyncCopyLocalToDescriptorOp
from tri_gpu_dialect.edit import functions, i32_attribute, module_int
from tri_gpu_dialect.plans.scratch import SHARED, ScratchMeasures
from tri_gpu_dialect.transforms.memory.nearest_fit import nearest_fit
from tri_gpu_dialect.transforms.memory.placement import Need, bytes_needed, extent, place

__all__ = ["AllocateSharedMemory"]


@dataclass(frozen=True)
class AllocateSharedMemory(Pass):
    """See the module; what takes at most ``apart_bytes`` is kept apart from the next.

    ``measures``: of scratch memory, the target's.
    """

    name: ClassVar[str] = "allocate-shared-memory"
    required: ClassVar[bool] = True

    apart_bytes: int = 8192
    measures: ScratchMeasures = SHARED

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Set ``allocation.offset`` and ``ttg.shared``; OutOfResources when the target has too little."""
        spec = context.target.spec if context is not None else None
        limit = None if spec is None else spec.limits.get("shared")
        unit, warps = None if spec is None else spec.unit, module_int(module, "ttg.num-warps")
        total = 0
        for function in functions(module):
            room = _Room(limit, unit, warps, _least_registers(function))
            placed = self.placed(function, room)
            for need, offset in placed:
                need.buffer.op.attributes["allocation.offset"] = i32_attribute(offset)
            total = max(total, extent(placed))
        module.operation.attributes["ttg.shared"] = i32_attribute(total)
        if limit is not None and total > limit:
            raise self.too_large(module, total, limit, context.options.num_stages)

    def too_large(self, module: ir.Module, total: int, limit: int, num_stages: int) -> OutOfResources:
        """The error for a module that needs ``total`` bytes, with what would fit."""
        kernel = max(functions(module), key=lambda function: bytes_needed(function, self.measures))
        needs = [Need.of(b) for b in buffers(kernel, self.measures)]
        fit = nearest_fit(needs, limit, num_stages, lambda given: extent(place(given)))
        return OutOfResources(
            f"the kernel needs {total} bytes of shared memory; the target has {limit}",
            remedy=fit.remedy,
            location=source_location(kernel.location),
            resource="shared",
            need=total,
            have=limit,
            nearest=fit.options,
        )

    def placed(self, function: ir.Operation, room: _Room) -> list[tuple[Need, int]]:
        """Every buffer and scratch memory of ``function`` with its offset in bytes; kept apart if that costs no CTA."""
        found = buffers(function, self.measures)
        close = place([Need.of(b) for b in found])
        stored, none = frozenset(i for i, b in enumerate(found) if _is_stored(b)), frozenset[int]()
        most = room.beside_as_many(extent(close))
        tries = [(frozenset(range(len(found))), stored), (stored, stored)] if stored else []
        for before, after in (*tries, (none, none)):
            wide = place([Need.of(b) for b in self.apart(found, before, after)])
            if most is None or extent(wide) <= most:
                return wide
        return close

    def apart(
        self, found: Sequence[Buffer], before: AbstractSet[int], after: AbstractSet[int]
    ) -> list[Buffer]:
        """``found``, the lives of some ending only with the first that is made after them: small ones, and those of
        ``before`` which are followed by one of ``after``.
        """
        given = [replace(b) for b in found]
        ends = [b.end for b in given]
        order = sorted(range(len(given)), key=lambda i: (given[i].start, i))
        for number, i in enumerate(order):
            next_ = next((j for j in order[number + 1 :] if given[j].start > ends[i]), i)
            if (i in before and next_ in after) or Need.of(given[i]).size <= self.apart_bytes:
                given[i].end = max(ends[i], ends[next_])
        return given


def _is_stored(buffer: Buffer) -> bool:
    """True if copies to a descriptor read ``buffer``."""
    if buffer.is_scratch:
        return False
    return any(isa(use.owner, AsyncCopyLocalToDescriptorOp) for use in buffer.op.results[0].uses)


def _least_registers(function: ir.Operation) -> int:
    """Registers of a thread that ``function`` takes at least."""
    loops = loops_in(function)
    return max(map(accumulator_registers, loops), default=1)


@dataclass(frozen=True)
class _Room:
    """The shared memory of a CTA, at most ``limit`` bytes, on a ``unit`` that several share (None: nobody says).

    It has ``warps``, whose threads have ``registers`` at least.
    """

    limit: int | None
    unit: ComputeUnit | None
    warps: int
    registers: int

    def beside_as_many(self, total: int) -> int | None:
        """The bytes that a CTA may take where as many have room beside each other as if each took ``total``."""
        if self.limit is None or not 0 < total <= self.limit:
            return self.limit
        if self.unit is None:
            return self.limit
        ctas = occupancy(self.unit, warps=self.warps, registers=self.registers, shared=total).blocks
        each = self.unit.shared // max(ctas, 1) // self.unit.shared_unit * self.unit.shared_unit
        return min(self.limit, each - self.unit.shared_reserved)
