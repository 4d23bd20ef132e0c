"""Gives every buffer and every op's scratch memory a place in the block's shared memory.

Buffers whose lives do not overlap may share bytes.  The largest are placed first, each at the lowest offset
where it meets no other.  Offsets stand on the ops as ``allocation.offset`` (bytes), the total on the module
as ``ttg.shared``.

Small ones are kept apart from the first that is made when they are no longer needed, although they could share: that one may then
be written while other warps still read the one before, which saves a barrier.  So are tiles that are copied out to descriptors, large
as they may be, from what is before them, where as many CTAs as before have room beside each other: a tile is written while other
warps still compute, and while the piece before it is copied.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

from tri_core.api import OutOfResources, Pass, StageContext
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.liveness import Buffer, buffers
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.edit import functions, i32_attribute
from tri_gpu_dialect.encodings import SharedEncoding, decode
from tri_gpu_dialect.layouts.shared import padded_size
from tri_gpu_dialect.plans import scratch_alignment, scratch_bytes
from tri_gpu_dialect.transforms.memory.nearest_fit import nearest_fit
from tri_gpu_dialect.types import bitwidth

__all__ = ["ALIGNMENT", "AllocateSharedMemory", "Need", "buffer_bytes", "place"]

#: bytes that every offset is a multiple of: the widest access
ALIGNMENT = 16
_NO_SIZES: Mapping[ir.Operation, int] = MappingProxyType({})


@dataclass(frozen=True)
class AllocateSharedMemory(Pass):
    """See the module; what takes at most ``apart_bytes`` is kept apart from the next."""

    name: ClassVar[str] = "allocate-shared-memory"

    apart_bytes: int = 8192

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Set ``allocation.offset`` and ``ttg.shared``; OutOfResources when the target has too little."""
        limit = context.target.spec.limits.get("shared") if context is not None else None
        total = 0
        for function in functions(module):
            placed = self.placed(function, limit)
            for need, offset in placed:
                need.buffer.op.attributes["allocation.offset"] = i32_attribute(offset)
            total = max(total, _extent(placed))
        module.operation.attributes["ttg.shared"] = i32_attribute(total)
        if limit is not None and total > limit:
            raise self.too_large(module, total, limit, context.options.num_stages)

    def too_large(self, module: ir.Module, total: int, limit: int, num_stages: int) -> OutOfResources:
        """The error for a module that needs ``total`` bytes, with what would fit."""
        kernel = max(functions(module), key=self.needed)
        needs = [Need.of(b) for b in buffers(kernel, scratch_bytes)]
        fit = nearest_fit(needs, limit, num_stages, lambda given: _extent(place(given)))
        return OutOfResources(
            f"the kernel needs {total} bytes of shared memory; the target has {limit}",
            remedy=fit.remedy,
            location=source_location(kernel.location),
            resource="shared",
            need=total,
            have=limit,
            nearest=fit.options,
        )

    def placed(self, function: ir.Operation, limit: int | None) -> list[tuple[Need, int]]:
        """Every buffer and scratch memory of ``function`` with its offset in bytes; kept apart if that fits."""
        found = buffers(function, scratch_bytes)
        close = place([Need.of(b) for b in found])
        stored, none = frozenset(i for i, b in enumerate(found) if _is_stored(b)), frozenset[int]()
        room = _room(_extent(close), limit)
        tries = [(frozenset(range(len(found))), stored, room), (stored, stored, room)] if stored else []
        for before, after, most in (*tries, (none, none, limit)):
            wide = place([Need.of(b) for b in self.apart(found, before, after)])
            if most is None or _extent(wide) <= most:
                return wide
        return close

    def needed(self, function: ir.Operation, sizes: Mapping[ir.Operation, int] = _NO_SIZES) -> int:
        """The bytes of shared memory that ``function`` takes at least, as it is, or with buffers of other ``sizes`` in bytes."""
        needs = [Need.of(b) for b in buffers(function, scratch_bytes)]
        return _extent(place([replace(n, size=sizes.get(n.buffer.op, n.size)) for n in needs]))

    def apart(
        self, found: Sequence[Buffer], before: AbstractSet[int], after: AbstractSet[int]
    ) -> list[Buffer]:
        """``found``, the lives of some ending only with the first that is made after them: small ones, and those of
        ``before`` which are followed by one of ``after``.
        """
        given = [replace(b) for b in found]
        ends = [b.end for b in given]
        order = sorted(range(len(given)), key=lambda i: (given[i].start, i))
        for place, i in enumerate(order):
            next_ = next((j for j in order[place + 1 :] if given[j].start > ends[i]), i)
            if (i in before and next_ in after) or Need.of(given[i]).size <= self.apart_bytes:
                given[i].end = max(ends[i], ends[next_])
        return given


def _is_stored(buffer: Buffer) -> bool:
    """Whether copies to a descriptor read ``buffer``."""
    if buffer.is_scratch:
        return False
    return any(use.owner.name == "ttg.async_copy_local_to_descriptor" for use in buffer.op.results[0].uses)


def _room(extent: int, limit: int | None) -> int | None:
    """The bytes that a CTA may take where as many have room in ``limit`` as if each took ``extent``."""
    return limit if limit is None or not 0 < extent <= limit else limit // (limit // extent)


@dataclass(frozen=True)
class Need:
    """A place that must be found: ``size`` and ``alignment`` in bytes, for as long as ``buffer`` lives."""

    buffer: Buffer
    size: int
    alignment: int

    @classmethod
    def of(cls, buffer: Buffer) -> Need:
        """What ``buffer`` needs."""
        if buffer.is_scratch:
            return cls(buffer, buffer.scratch_bytes, max(scratch_alignment(buffer.op), ALIGNMENT))
        type_ = buffer.op.results[0].type
        encoding = decode(type_.encoding)
        stated = buffer.op.attributes
        alignment = ir.IntegerAttr(stated["alignment"]).value if "alignment" in stated else 1
        own = encoding.alignment if isinstance(encoding, SharedEncoding) else 1
        return cls(buffer, buffer_bytes(type_), max(alignment, own, ALIGNMENT))

    def meets(self, other: Need) -> bool:
        """Whether both live at the same time."""
        return self.buffer.meets(other.buffer)


def buffer_bytes(type_: MemDescType) -> int:
    """Bytes of shared memory that a buffer of ``type_`` takes in each block, gaps of its layout included."""
    encoding, shape = decode(type_.encoding), tuple(type_.shape)
    if isinstance(encoding, SharedEncoding):
        elements = padded_size(math.prod(encoding.share(shape)), encoding.padding)
    else:
        elements = math.prod(shape)
    return elements * max(bitwidth(type_.element_type) // 8, 1)


def _extent(placed: list[tuple[Need, int]]) -> int:
    return max((offset + need.size for need, offset in placed), default=0)


def place(needs: list[Need]) -> list[tuple[Need, int]]:
    """An offset for each need such that those that live together do not overlap."""
    placed: list[tuple[Need, int]] = []
    for need in sorted(needs, key=lambda n: (-n.size, n.buffer.start)):
        taken = sorted((offset, offset + other.size) for other, offset in placed if need.meets(other))
        offset = 0
        for low, high in taken:
            if offset + need.size <= low:
                break
            offset = max(offset, -(-high // need.alignment) * need.alignment)
        placed.append((need, offset))
    return placed
