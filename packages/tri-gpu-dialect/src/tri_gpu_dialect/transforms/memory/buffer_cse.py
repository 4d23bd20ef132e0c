"""Common subexpressions of shared memory: equal buffers that nobody writes become one.

    a = local_alloc x; for: y = dot(a, ...)            a = local_alloc x; for: y = dot(a, ...)
    b = local_alloc x; for: z = dot(b, ...)      ->                       for: z = dot(a, ...)

Two buffers are equal where they hold the same tensor, whatever layout it had in registers, in the same order in memory.
``transposed``: a buffer of the transpose of a tensor is a view of that tensor's own buffer, where the order in memory is the same.

A buffer takes the place of another one where it is made before it on every way there.  It then lives until the last use of both:
of a function that would need more than the target has, the buffers stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import FuncOp, TransOp
from tri_core.ir.traits import source_of
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.remarks import declined
from tri_gpu_dialect.analysis.liveness import buffers
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.dialect import (
    ConvertLayoutOp,
    LocalAllocOp,
    LocalDeallocOp,
    MemDescTransOp,
    WarpSpecializeOp,
)
from tri_gpu_dialect.edit import ancestor_in, block_ops, functions
from tri_gpu_dialect.encodings import SharedEncoding, decode
from tri_gpu_dialect.plans.scratch import SHARED, ScratchMeasures
from tri_gpu_dialect.transforms.memory.placement import Need, extent, place

__all__ = ["BufferCSE"]

_FREE = "ttg.local_dealloc"


@dataclass(frozen=True)
class BufferCSE(Pass):
    """See the module; buffers that ops may write to (mutable ones) are left alone.  ``measures``: of scratch memory, the target's."""

    name: ClassVar[str] = "buffer-cse"

    transposed: bool = False
    measures: ScratchMeasures = SHARED

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite every function of ``module``."""
        limit = context.target.spec.limits.get("shared") if context is not None else None
        for function in functions(module):
            pairs = list(self.pairs(function))
            fits = limit is None or not pairs or self.fits(function, pairs, limit)
            for kept, other in pairs:
                if fits:
                    _merge(kept, other)
                else:
                    text = "the tensor has two buffers: {} bytes of shared memory do not hold one for as long"
                    declined(self.name, other.op, text, limit)

    def pairs(self, function: ir.Operation) -> Iterator[tuple[_Filled, _Filled]]:
        """Buffers of ``function``, each with one that takes its place."""
        known: dict[ir.Value, list[_Filled]] = {}
        for op in _in_order(function):
            found = _Filled.of(op, look_through=self.transposed)
            if found is None:
                continue
            earlier = known.setdefault(found.source, [])
            kept = next((each for each in earlier if each.holds(found) and _comes_before(each.op, op)), None)
            if kept is None:
                earlier.append(found)
            else:
                yield kept, found

    def fits(self, function: ir.Operation, pairs: Sequence[tuple[_Filled, _Filled]], limit: int) -> bool:
        """True if the shared memory of ``function`` is at most ``limit`` bytes once the first of each pair
        takes the second's place, or less than now.
        """
        found = buffers(function, self.measures)
        own = {buffer.op: buffer for buffer in found}
        now = extent(place([Need.of(buffer) for buffer in found]))
        for kept, other in pairs:
            own[kept.op] = replace(own[kept.op], end=max(own[kept.op].end, own[other.op].end))
            del own[other.op]
        return extent(place([Need.of(buffer) for buffer in own.values()])) <= max(now, limit)


@dataclass(frozen=True)
class _Filled:
    """A buffer that holds the tensor ``source``, its dimensions in ``order``, and is never written again."""

    op: ir.Operation
    source: ir.Value
    order: tuple[int, ...]
    encoding: SharedEncoding

    @classmethod
    def of(cls, op: ir.Operation, *, look_through: bool) -> _Filled | None:
        """Buffer that ``op`` fills, if it is of this kind; ``look_through``: also through transposes."""
        value = cast(op, LocalAllocOp).src if isa(op, LocalAllocOp) else None
        if value is None or op.results[0].type.mutable:
            return None
        encoding = decode(op.results[0].type.encoding)
        if not isinstance(encoding, SharedEncoding):
            return None
        order = tuple(range(len(value.type.shape)))
        while not isinstance(value.owner, ir.Block):
            maker = value.owner.operation
            if isa(maker, TransOp) and look_through:
                step = list(ir.DenseI32ArrayAttr(maker.attributes["order"]))
                order = tuple(step[d] for d in order)
            elif not isa(maker, ConvertLayoutOp):
                break
            value = source_of(maker)
        return cls(op, value, order, encoding)

    def holds(self, other: _Filled) -> bool:
        """True if a view of this buffer has the contents of ``other``."""
        return self.encoding.permuted(self.to(other)) == other.encoding

    def to(self, other: _Filled) -> tuple[int, ...]:
        """The order of the transpose that makes ``other`` of this."""
        return tuple(self.order.index(d) for d in other.order)


def _in_order(function: ir.Operation) -> Iterator[ir.Operation]:
    """All ops of ``function``, outer ones first, in program order."""
    for region in function.regions:
        for block in region.blocks:
            for op in block_ops(block):
                yield op
                yield from _in_order(op)


def _comes_before(first: ir.Operation, second: ir.Operation) -> bool:
    """True if ``first``, which precedes ``second`` in the text, dominates it, in the same partition."""
    op = second
    while op.block != first.block:
        op = op.parent.operation
        if isa(op, FuncOp, WarpSpecializeOp):
            return False
    return True


def _merge(kept: _Filled, other: _Filled) -> None:
    """Have ``kept`` take the place of ``other``."""
    frees = [user for op in (kept.op, other.op) for user in _users(op) if isa(user, LocalDeallocOp)]
    old, order = other.op.results[0], kept.to(other)
    if order == tuple(range(len(order))):
        old.replace_all_uses_with(kept.op.results[0])
    else:
        type_ = MemDescType.of(old.type.shape, old.type.element_type, old.type.encoding)
        with ir.InsertionPoint(other.op), other.op.location:
            view = ir.Operation.create(
                "ttg.memdesc_trans",
                results=[type_],
                operands=[kept.op.results[0]],
                attributes={"order": ir.DenseI32ArrayAttr.get(order)},
            )
        old.replace_all_uses_with(view.results[0])
    other.op.erase()
    _free_once(kept.op, frees)


def _free_once(op: ir.Operation, frees: list[ir.Operation]) -> None:
    """Leave one of ``frees``, behind all others and all uses."""
    if not frees:
        return
    places = {ancestor_in(user, op.block) for user in (*frees, *_users(op), *_users_of_views(op))}
    last = next(each for each in reversed(block_ops(op.block)) if each in places)
    with ir.InsertionPoint.after(last), op.location:
        ir.Operation.create(_FREE, operands=[op.results[0]])
    for each in frees:
        each.erase()


def _users(op: ir.Operation) -> list[ir.Operation]:
    return [use.owner.operation for use in op.results[0].uses]


def _users_of_views(op: ir.Operation) -> list[ir.Operation]:
    return [user for view in _users(op) if isa(view, MemDescTransOp) for user in _users(view)]
