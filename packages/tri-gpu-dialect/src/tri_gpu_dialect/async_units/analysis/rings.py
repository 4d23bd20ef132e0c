"""Layout of loaded blocks in a ring's stages, and the interval of its block over which a stage is in use.

What becomes of a loaded block decides: buffers of dots are views of the stage, if a copy can fill a stage so that
they are; anything else is read from the stage into registers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tri_core.dialects.tt import DescriptorLoadOp, FuncOp, TransOp
from tri_core.ir.regions import ends_region, is_loop
from tri_core.ir.traits import is_view
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.async_units.analysis.slicing import Demand, Refusal, Ring
from tri_gpu_dialect.dialect import LocalAllocOp, WarpGroupDotOp, WarpGroupDotWaitOp, WarpSpecializeOp
from tri_gpu_dialect.edit import block_ops, terminator
from tri_gpu_dialect.encodings import SharedEncoding, decode
from tri_gpu_dialect.types import bitwidth, tensor_info

if TYPE_CHECKING:
    from tri_gpu_dialect.policies.async_units import BlockCopies

__all__ = ["RingUse", "SlotBuffer", "is_inside", "ring_use", "slot_buffer", "uses_inside"]


@dataclass(frozen=True)
class SlotBuffer:
    """Destination of ``load``: a buffer of ``encoding`` per stage, of ``bytes`` bytes in each block, at
    multiples of ``alignment``.

    ``views``: the allocations that become views of the stage, each with the order of the transpose between, or None.
    """

    load: ir.Operation
    encoding: SharedEncoding
    bytes: int
    alignment: int
    views: tuple[tuple[ir.Operation, tuple[int, ...] | None], ...]

    @property
    def replaced(self) -> list[ir.Operation]:
        """The ops that are there no more: allocations that are views, transposes that only they used."""
        made = [alloc for alloc, _ in self.views]
        values = {cast(alloc, LocalAllocOp).src for alloc in made}
        for use in self.load.results[0].uses:
            user = use.owner.operation
            if isa(user, TransOp) and user.results[0] in values and set(_all_users(user)) <= set(made):
                made.append(user)
        return made

    @property
    def readers(self) -> list[ir.Operation]:
        """The ops that read the block as a tensor."""
        gone = set(self.replaced)
        return [op for op in _all_users(self.load) if op not in gone]


def _all_users(op: ir.Operation) -> list[ir.Operation]:
    """Each once, in an order that is the same in every run."""
    return list(dict.fromkeys(use.owner.operation for result in op.results for use in result.uses))


def slot_buffer(load: ir.Operation, copies: BlockCopies) -> SlotBuffer:
    """The buffer for ``load``, such that as many of its users as can be are views of it."""
    info = tensor_info(load.results[0].type)
    assert info is not None
    descriptor = cast(load, DescriptorLoadOp).desc.type
    found = [each for each in _allocations(load) if copies.suits(descriptor, each[0])]
    encoding = found[0][0] if found else copies.encoding(descriptor)
    views = tuple((alloc, order) for given, alloc, order in found if given == encoding)
    size = math.prod(encoding.share(info.shape)) * bitwidth(info.element_type) // 8
    return SlotBuffer(load, encoding, size, copies.alignment(descriptor, encoding), views)


def _allocations(load: ir.Operation) -> Iterator[tuple[SharedEncoding, ir.Operation, tuple[int, ...] | None]]:
    """Buffers that are filled with the block or its transpose: the stage's encoding, the allocation, the order."""
    rank = len(load.results[0].type.shape)
    for user in sorted(_all_users(load), key=lambda op: op.name):
        if isa(user, LocalAllocOp):
            if len(user.results[0].type.shape) == rank:
                yield _encoding(user), user, None
        elif isa(user, TransOp):
            order = tuple(ir.DenseI32ArrayAttr(user.attributes["order"]))
            for alloc in _all_users(user):
                if isa(alloc, LocalAllocOp):
                    inverse = tuple(order.index(d) for d in range(len(order)))
                    yield _encoding(alloc).permuted(inverse), alloc, order


def _encoding(alloc: ir.Operation) -> SharedEncoding:
    found = decode(alloc.results[0].type.encoding)
    assert isinstance(found, SharedEncoding)
    return found


# --- when a stage is in use ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class RingUse:
    """A ring's stage is waited for before ``first`` and free after ``last``, ops of the loads' block.

    ``streams``: whether the loads are in a loop that has no loop with others inside.
    """

    ring: Ring
    buffers: tuple[SlotBuffer, ...]
    first: ir.Operation
    last: ir.Operation

    @property
    def kind(self) -> tuple[object, ...]:
        """Properties of the contents of a stage."""
        return tuple((b.encoding, b.load.results[0].type.shape, b.bytes) for b in self.buffers)

    @property
    def bytes(self) -> int:
        """Bytes of a stage."""
        return sum(buffer.bytes for buffer in self.buffers)

    @property
    def loop(self) -> ir.Operation | None:
        """The innermost loop around the loads."""
        op = self.ring.loads[0].parent.operation
        while not isa(op, FuncOp):
            if is_loop(op):
                return op
            op = op.parent.operation
        return None


def ring_use(ring: Ring, consumer: Demand, copies: BlockCopies) -> RingUse | Refusal:
    """Interval over which ``consumer`` uses the stages of ``ring``."""
    buffers = tuple(slot_buffer(load, copies) for load in ring.loads)
    for b in buffers:
        if b.bytes % b.alignment:
            return Refusal(f"stages of {b.bytes} bytes would begin where copies may not go", b.load)
    ops = block_ops(ring.block)
    number = {op: i for i, op in enumerate(ops)}
    places = []
    for buffer in buffers:
        for op in _uses(buffer, consumer):
            if isinstance(op, Refusal):
                return op
            places.append(number[_around(op, ring.block)])
    loaded = max(number[load] for load in ring.loads)
    first = ops[min(places, default=loaded)]
    return RingUse(ring, buffers, first, ops[max([loaded, *places])])


def _uses(buffer: SlotBuffer, consumer: Demand) -> Iterator[ir.Operation | Refusal]:
    """The ops that read a stage, and those after which they have."""
    yield from (op for op in buffer.readers if op in consumer.ops or op == terminator(op.block))
    ahead = [alloc.results[0] for alloc, _ in buffer.views]
    while ahead:
        for op in (use.owner.operation for use in ahead.pop().uses):
            if is_view(op):
                ahead += op.results
            elif ends_region(op) or isa(op, WarpSpecializeOp):
                yield Refusal("a buffer of a dot is carried", op)
            elif op in consumer.ops:
                yield op
                yield from _ends(op) if isa(op, WarpGroupDotOp) else ()


def _ends(dot: ir.Operation) -> Iterator[ir.Operation | Refusal]:
    """The waits for ``dot``, which is under way."""
    waits = [op for op in _all_users(dot) if isa(op, WarpGroupDotWaitOp)]
    if not waits or any(op.block != dot.block for op in waits):
        yield Refusal("a dot is under way when its block ends", dot)
    yield from waits


def _around(op: ir.Operation, block: ir.Block) -> ir.Operation:
    while op.block != block:
        op = op.parent.operation
    return op


def is_inside(op: ir.Operation, outer: ir.Operation) -> bool:
    """True if ``op`` is nested, at any depth, in a region of ``outer``."""
    around = op.parent.operation
    while not isa(around, FuncOp) and around != outer:
        around = around.parent.operation
    return bool(around == outer)


def uses_inside(op: ir.Operation, uses: Sequence[RingUse]) -> list[int]:
    """The numbers of the ``uses`` whose loads are inside of ``op``."""
    return [number for number, use in enumerate(uses) if is_inside(use.ring.loads[0], op)]
