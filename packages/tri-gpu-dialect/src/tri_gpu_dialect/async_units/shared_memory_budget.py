"""Shared memory that a kernel needs beside the rings of its loads, estimated before there are any."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field

from tri_core.dialects.tt import DescriptorReduceOp, DescriptorStoreOp
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.async_units.analysis.rings import RingUse
from tri_gpu_dialect.dialect import LocalAllocOp
from tri_gpu_dialect.edit import all_ops, block_ops, unconverted
from tri_gpu_dialect.encodings import Encoding
from tri_gpu_dialect.plans.halves import cut
from tri_gpu_dialect.plans.scratch import ScratchMeasures
from tri_gpu_dialect.transforms.memory.placement import buffer_bytes
from tri_gpu_dialect.types import bitwidth, tensor_info

__all__ = ["STAGED_BYTES", "Beside", "beside"]

#: what tiles on their way to a descriptor are cut down to, where that makes room for blocks
STAGED_BYTES = 32 << 10

_STORES = (DescriptorStoreOp, DescriptorReduceOp)


@dataclass(frozen=True)
class Beside:
    """Bytes beside the rings while these are in use: with tiles stored ``whole``, and in ``pieces``.

    ``after``: bytes, in pieces, that are needed when no block is copied any more; they may be the rings' own.
    """

    whole: int
    pieces: int
    after: int


def beside(function: ir.Operation, uses: Sequence[RingUse], measures: ScratchMeasures) -> Beside:
    """Upper bound on the shared memory of ``function`` beside rings for the loads of ``uses``; ``measures``:
    of scratch memory, the target's.
    """
    gone = {op for use in uses for buffer in use.buffers for op in buffer.replaced}
    loads = {buffer.load for use in uses for buffer in use.buffers}
    body = block_ops(function.regions[0].blocks[0])
    last = max((i for i, op in enumerate(body) if loads & set(all_ops(op))), default=-1)
    during, after = _Sum(measures), _Sum(measures)
    for i, outer in enumerate(body):
        for op in all_ops(outer):
            if op not in gone:
                (during if i <= last else after).add(op)
    return Beside(during.total(pieces=False), during.total(pieces=True), after.total(pieces=True))


@dataclass
class _Sum:
    """Buffers live at the same time; tiles on their way and scratch memory one after the other."""

    measures: ScratchMeasures
    buffers: int = 0
    scratch: int = 0
    staged: list[tuple[int, int]] = field(default_factory=list)

    def add(self, op: ir.Operation) -> None:
        if isa(op, LocalAllocOp):
            self.buffers += buffer_bytes(op.results[0].type)
        elif isa(op, *_STORES):
            self.staged.append(_staged(op))
        else:
            self.scratch = max(self.scratch, self.measures.bytes(op))

    def total(self, *, pieces: bool) -> int:
        # a tile is staged after the conversion that gives it a layout for that
        return self.buffers + max([self.scratch, *(each[pieces] for each in self.staged)])


def _staged(op: ir.Operation) -> tuple[int, int]:
    """Bytes of the tile that ``op`` stores, and of a piece of it."""
    value = unconverted(cast(op, DescriptorStoreOp).src)
    info, encoding = tensor_info(value.type), encoding_of(value)
    if info is None or encoding is None:
        return 0, 0
    bits = bitwidth(info.element_type)
    whole = math.prod(info.shape) * bits // 8
    return whole, _piece(encoding, tuple(info.shape), bits)


def _piece(encoding: Encoding, shape: tuple[int, ...], bits: int) -> int:
    """The bytes of the largest piece that is small enough, or of the smallest there is."""
    size = math.prod(shape) * bits // 8
    how = cut(encoding, shape, bits) if size > STAGED_BYTES else None
    return size if how is None else _piece(how.encoding, how.shape, bits)
