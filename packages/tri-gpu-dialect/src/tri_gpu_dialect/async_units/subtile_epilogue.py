"""Tiles that are stored through shared memory go in pieces, where there is no room for the whole, and large ones in two anyway.

    buffer of x; copy -> d[i, j]                 d, e: the same tensor, e in blocks of half the size

becomes

    x0, x1 = halves of x
    buffer of x0; copy -> e[i, j]
    buffer of x1; copy -> e[i, j + n / 2]

The second buffer takes the place of the first, once that has been read.  The largest tiles are cut first, and pieces again, until all
fits or nothing can be cut: along rows while these keep 128 bytes, else across, and only where every thread has both
halves, so that cutting moves nothing.

A tile of ``large_bytes`` for which there is room is cut once, if its halves leave no room for more CTAs than the whole: then
`allocate-shared-memory` keeps them apart, and the first is copied out while the second is written.  The pieces are the tile, each element once: what is computed per element stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import MakeTensorDescriptorOp, TensorDescType
from tri_core.ir.rewriting import attributes_of
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.remarks import declined
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.dialect import AsyncCopyLocalToDescriptorOp, FenceAsyncSharedOp, LocalAllocOp
from tri_gpu_dialect.edit import all_ops, functions, i32_attribute, make
from tri_gpu_dialect.encodings import SharedEncoding
from tri_gpu_dialect.plans.halves import Cut, cut, halves
from tri_gpu_dialect.policies.async_units import BlockCopies
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy
from tri_gpu_dialect.remarks import add_remark
from tri_gpu_dialect.transforms.memory.placement import bytes_needed
from tri_gpu_dialect.types import bitwidth

__all__ = ["SubtileEpilogue"]

_COPY, _FENCE = AsyncCopyLocalToDescriptorOp.OPERATION_NAME, FenceAsyncSharedOp.OPERATION_NAME


@dataclass(frozen=True)
class SubtileEpilogue(Pass):
    """See the module; ``policy.async_units.block_copies`` says how pieces lie in buffers: without, nothing happens."""

    name: ClassVar[str] = "subtile-epilogue"
    former_names: ClassVar[tuple[str, ...]] = ("split-stores",)

    policy: DefaultPolicy = DEFAULT_POLICY
    large_bytes: int = 1 << 16

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Cut stores of functions that need more than the target has."""
        limit = context.target.spec.limits.get("shared") if context is not None else None
        copies = self.policy.async_units.block_copies
        if limit is None or copies is None:
            return
        for function in functions(module):
            made: dict[tuple[ir.Value, ir.Type], ir.Value] = {}
            while bytes_needed(function, self.policy.scratch_measures) > limit:
                stores = _stores(function, copies)
                if not stores:
                    why = "no tile on its way to a descriptor can be halved within threads"
                    declined(self.name, function, "{} bytes of shared memory are too few, and {}", limit, why)
                    break
                _split(max(stores, key=lambda s: s.bytes), copies, made)
            for store in _stores(function, copies):
                if store.bytes >= self.large_bytes and self.is_room_kept(function, store, limit):
                    _split(store, copies, made)

    def is_room_kept(self, function: ir.Operation, store: _Store, limit: int) -> bool:
        """True if the occupancy under ``limit`` bytes with two half tiles in one buffer is at least that with
        the whole tile, and not 0.
        """
        measures = self.policy.scratch_measures
        whole = bytes_needed(function, measures)
        halved = bytes_needed(function, measures, {store.buffer: store.bytes // 2})
        return whole <= limit and limit // whole == limit // halved


@dataclass(frozen=True)
class _Store:
    """A buffer made of a tile, a copy of it to a descriptor, and how the tile can be cut."""

    buffer: ir.Operation
    copy: ir.Operation
    how: Cut

    @property
    def element(self) -> ir.Type:
        return self.buffer.results[0].type.element_type

    @property
    def bytes(self) -> int:
        """Of the whole tile."""
        return 2 * math.prod(self.how.shape) * bitwidth(self.element) // 8

    def half(self, copies: BlockCopies) -> tuple[TensorDescType, SharedEncoding]:
        """A descriptor of halves, and how these lie in buffers."""
        plain = TensorDescType.get(ir.TypeAttr.get(ir.RankedTensorType.get(self.how.shape, self.element)))
        return plain, copies.encoding(plain)


def _stores(function: ir.Operation, copies: BlockCopies) -> list[_Store]:
    """The stores that can be cut, into halves that ``copies`` can store."""
    return [s for s in _whole_stores(function) if copies.suits(*s.half(copies))]


def _whole_stores(function: ir.Operation) -> Iterator[_Store]:
    """Stores of tiles of which every thread has both halves."""
    for copy in all_ops(function):
        if not isa(copy, AsyncCopyLocalToDescriptorOp):
            continue
        descriptor, *_, buffer = copy.operands
        known = [v for v in (descriptor, buffer) if not isinstance(v.owner, ir.Block)]
        if len(known) < 2 or not isa(descriptor.owner.operation, MakeTensorDescriptorOp):
            continue
        made = buffer.owner.operation
        value = cast(made, LocalAllocOp).src if isa(made, LocalAllocOp) else None
        if value is None or len(list(buffer.uses)) != 1:
            continue
        encoding = encoding_of(value)
        shape = tuple(buffer.type.shape)
        how = None if encoding is None else cut(encoding, shape, bitwidth(buffer.type.element_type))
        if how is not None and made.block == copy.block:
            yield _Store(made, copy, how)


def _split(store: _Store, copies: BlockCopies, made: dict[tuple[ir.Value, ir.Type], ir.Value]) -> None:
    """Replace ``store`` by two; ``made`` has the descriptors of halves, which stores share."""
    copy, how = store.copy, store.how
    descriptor, *place, _ = copy.operands
    plain, encoding = store.half(copies)
    type_ = TensorDescType.get(
        ir.TypeAttr.get(ir.RankedTensorType.get(how.shape, store.element, encoding.to_attr()))
    )
    key = (descriptor, type_)
    if key not in made:
        made[key] = _smaller(descriptor.owner.operation, type_)
    add_remark(SubtileEpilogue.name, copy, f"the tile is stored in pieces of {'x'.join(map(str, how.shape))}")
    memory = MemDescType.of(how.shape, store.element, encoding.to_attr(), mutable=True)
    alignment = i32_attribute(copies.alignment(plain, encoding))
    kind = {"kind": copy.attributes["kind"]} if "kind" in copy.attributes else {}
    with ir.InsertionPoint(copy), copy.location:
        for number, half in enumerate(halves(cast(store.buffer, LocalAllocOp).src, how)):
            buffer = make("ttg.local_alloc", [half], memory, alignment=alignment)
            make(_FENCE)
            start = list(place)
            if number:
                start[how.axis] = _later(start[how.axis], how.shape[how.axis])
            make(_COPY, [made[key], *start, *buffer.results], **kind)
    _erase(store)
    if next(iter(descriptor.uses), None) is None:
        descriptor.owner.operation.erase()


def _erase(store: _Store) -> None:
    """Take the whole tile's ops out, and the fence between them."""
    before = [view.operation for view in store.copy.block]
    between = before[before.index(store.buffer) : before.index(store.copy)]
    for op in between:
        if isa(op, FenceAsyncSharedOp) and "global" not in op.attributes:
            op.erase()
            break
    store.copy.erase()
    store.buffer.erase()


def _smaller(maker: ir.Operation, type_: ir.Type) -> ir.Value:
    """A descriptor of ``type_`` of the tensor that ``maker`` describes."""
    with ir.InsertionPoint.after(maker), maker.location:
        names = attributes_of(maker)
        return make(maker.name, list(maker.operands), type_, **names).results[0]


def _later(value: ir.Value, distance: int) -> ir.Value:
    constant = make("arith.constant", (), value.type, value=ir.IntegerAttr.get(value.type, distance))
    return make("arith.addi", [value, *constant.results], value.type).results[0]
