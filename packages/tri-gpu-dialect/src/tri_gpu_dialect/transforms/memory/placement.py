"""Offsets in shared memory for buffers and scratch memory: those that live at the same time do not overlap."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.liveness import Buffer, ScratchNeeds, buffers
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.encodings import SharedEncoding, decode
from tri_gpu_dialect.layouts.shared import padded_size
from tri_gpu_dialect.types import bitwidth

__all__ = ["ALIGNMENT", "Need", "buffer_bytes", "bytes_needed", "extent", "place"]

#: bytes that every offset is a multiple of: the widest access
ALIGNMENT = 16

_NO_SIZES: Mapping[ir.Operation, int] = MappingProxyType({})


@dataclass(frozen=True)
class Need:
    """A place that must be found: ``size`` and ``alignment`` in bytes, for as long as ``buffer`` lives."""

    buffer: Buffer
    size: int
    alignment: int

    @classmethod
    def of(cls, buffer: Buffer) -> Need:
        """Shared memory that ``buffer`` needs."""
        if buffer.is_scratch:
            return cls(buffer, buffer.scratch_bytes, max(buffer.scratch_alignment, ALIGNMENT))
        type_ = buffer.op.results[0].type
        encoding = decode(type_.encoding)
        stated = buffer.op.attributes
        alignment = ir.IntegerAttr(stated["alignment"]).value if "alignment" in stated else 1
        own = encoding.alignment if isinstance(encoding, SharedEncoding) else 1
        return cls(buffer, buffer_bytes(type_), max(alignment, own, ALIGNMENT))

    def overlaps(self, other: Need) -> bool:
        """True if both are live at the same time."""
        return self.buffer.overlaps(other.buffer)


def buffer_bytes(type_: MemDescType) -> int:
    """Bytes of shared memory that a buffer of ``type_`` takes in each block, gaps of its layout included."""
    encoding, shape = decode(type_.encoding), tuple(type_.shape)
    if isinstance(encoding, SharedEncoding):
        elements = padded_size(math.prod(encoding.share(shape)), encoding.padding)
    else:
        elements = math.prod(shape)
    return elements * max(bitwidth(type_.element_type) // 8, 1)


def extent(placed: list[tuple[Need, int]]) -> int:
    """The bytes that ``placed`` needs take, from offset 0 on."""
    return max((offset + need.size for need, offset in placed), default=0)


def place(needs: list[Need]) -> list[tuple[Need, int]]:
    """An offset for each need such that those that live together do not overlap."""
    placed: list[tuple[Need, int]] = []
    for need in sorted(needs, key=lambda n: (-n.size, n.buffer.start)):
        taken = sorted((offset, offset + other.size) for other, offset in placed if need.overlaps(other))
        offset = 0
        for low, high in taken:
            if offset + need.size <= low:
                break
            offset = max(offset, -(-high // need.alignment) * need.alignment)
        placed.append((need, offset))
    return placed


def bytes_needed(
    function: ir.Operation, scratch: ScratchNeeds, sizes: Mapping[ir.Operation, int] = _NO_SIZES
) -> int:
    """The bytes of shared memory that ``function`` takes at least, as it is, or with buffers of other ``sizes`` in bytes."""
    needs = [Need.of(b) for b in buffers(function, scratch)]
    return extent(place([replace(n, size=sizes.get(n.buffer.op, n.size)) for n in needs]))
