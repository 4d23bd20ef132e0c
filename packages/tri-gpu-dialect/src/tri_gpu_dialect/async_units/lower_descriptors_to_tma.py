"""Accesses through tensor descriptors become copies between descriptors and buffers in shared memory.

    x = tt.descriptor_load d[i]      buffer, barrier; init, expect bytes, copy, wait, inval; x = local_load buffer
    tt.descriptor_store d[i], x      buffer of x; fence; copy

Where all that is done with a loaded block is to put it in a buffer that the copy can fill, it is that buffer.

Copies and ordinary accesses see each other's global memory only where the kernel orders accesses, by a barrier or an
atomic operation: there what is stored is waited for, and what ordinary code stored is made seen.

Copies that others have made (of dots, of partitions) stay.  In the end every descriptor says, as the encoding of
its block, how blocks lie in buffers: a descriptor whose buffers differ becomes several.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from tri_core.api import InternalError, Pass, StageContext
from tri_core.dialects.tt import (
    DescriptorLoadOp,
    DescriptorReduceOp,
    DescriptorStoreOp,
    MakeTensorDescriptorOp,
    TensorDescType,
)
from tri_core.dialects.tt.enums import MemSemantic
from tri_core.ir.access import access_of
from tri_core.ir.access_hints import plugin_hints
from tri_core.ir.rewriting import attributes_of
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.remarks import declined
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.dialect import (
    AsyncCopyDescriptorToLocalOp,
    AsyncCopyLocalToDescriptorOp,
    BarrierOp,
    LocalAllocOp,
    WarpSpecializeOp,
)
from tri_gpu_dialect.edit import (
    GLOBAL,
    all_ops,
    constant,
    functions,
    i32_attribute,
    is_barrier,
    make,
    unconverted,
)
from tri_gpu_dialect.encodings import SharedEncoding, SwizzledShared, decode
from tri_gpu_dialect.policies.async_units import BlockCopies
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy
from tri_gpu_dialect.types import bitwidth, tensor_info

__all__ = ["LowerDescriptorsToTma"]

_INTO, _OUT_OF = AsyncCopyDescriptorToLocalOp.OPERATION_NAME, AsyncCopyLocalToDescriptorOp.OPERATION_NAME
_STORES = (DescriptorStoreOp, DescriptorReduceOp)
_BARRIER = SwizzledShared(1, 1, 1, (0,))


@dataclass(frozen=True)
class LowerDescriptorsToTma(Pass):
    """See the module; ``policy`` says what copies can do: without ``block_copies`` nothing happens."""

    name: ClassVar[str] = "lower-descriptors-to-tma"
    required: ClassVar[bool] = True
    former_names: ClassVar[tuple[str, ...]] = ("copy-descriptor-blocks",)

    policy: DefaultPolicy = DEFAULT_POLICY

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite every function of ``module``."""
        copies = self.policy.async_units.block_copies
        if copies is None:
            return
        for function in functions(module):
            # chosen before any is rewritten: that erases others, which must not be looked at again
            for op in [op for op in all_ops(function) if isa(op, DescriptorLoadOp)]:
                _load(op, copies)
            for op in [op for op in all_ops(function) if isa(op, *_STORES)]:
                _store(op, copies)
            for op in all_ops(function):
                if isa(op, MakeTensorDescriptorOp):
                    _give_encodings(op, copies)
            _order_global_memory(function)


# --- ops --------------------------------------------------------------------------------------------------


def _block_bytes(buffer: MemDescType) -> int:
    """Bytes that a copy brings to one CTA: its share of a block in a cluster."""
    encoding = decode(buffer.encoding)
    assert isinstance(encoding, SharedEncoding)
    return math.prod(encoding.share(tuple(buffer.shape))) * bitwidth(buffer.element_type) // 8


# --- loads ------------------------------------------------------------------------------------------------


def _load(op: ir.Operation, copies: BlockCopies) -> None:
    descriptor, *coordinates = op.operands
    result = op.results[0]
    taken = _wanted_buffer(op, copies)
    info = tensor_info(result.type)
    assert info is not None
    encoding = copies.encoding(descriptor.type) if taken is None else _encoding(taken)
    with ir.InsertionPoint(op), op.location:
        buffer = _buffer(info.shape, info.element_type, encoding, copies.alignment(descriptor.type, encoding))
        _copied(descriptor, coordinates, buffer, plugin_hints(op))
        if taken is None:
            loaded = make("ttg.local_load", [buffer], result.type).results[0]
            result.replace_all_uses_with(loaded)
    if taken is not None:
        taken.results[0].replace_all_uses_with(buffer)
        taken.erase()
    op.erase()


def _buffer(
    shape: Sequence[int],
    element: ir.Type,
    encoding: SharedEncoding,
    alignment: int,
    contents: Sequence[ir.Value] = (),
) -> ir.Value:
    type_ = MemDescType.of(shape, element, encoding.to_attr(), mutable=True)
    return make("ttg.local_alloc", contents, type_, alignment=i32_attribute(alignment)).results[0]


def _wanted_buffer(op: ir.Operation, copies: BlockCopies) -> ir.Operation | None:
    """The only use of a loaded block, if it puts it in a buffer that a copy can fill."""
    users = [use.owner.operation for use in op.results[0].uses]
    if not users or not all(isa(user, LocalAllocOp) for user in users):
        return None
    if len(users) > 1 or users[0].block != op.block:
        why = "it is put in several buffers, or in one outside of its loop or branch"
        declined(LowerDescriptorsToTma.name, op, "the block goes through registers: {}", why)
        return None
    encoding = _encoding(users[0])
    descriptor = cast(op, DescriptorLoadOp).desc.type
    rank_kept = len(users[0].results[0].type.shape) == len(descriptor.block_type.shape)
    if rank_kept and copies.suits(descriptor, encoding):
        return users[0]
    why = "copies do not write a buffer as its dot reads it"
    declined(LowerDescriptorsToTma.name, op, "the block goes through registers: {}", why)
    return None


def _encoding(allocation: ir.Operation) -> SharedEncoding:
    found = decode(allocation.results[0].type.encoding)
    assert isinstance(found, SharedEncoding)
    return found


def _copied(
    descriptor: ir.Value, coordinates: Sequence[ir.Value], buffer: ir.Value, hints: Mapping[str, ir.Attribute]
) -> None:
    """Copy a block, with ``hints``, and wait for it; the barrier lives no longer."""
    i64 = ir.IntegerType.get_signless(64)
    barrier = _buffer([1], i64, _BARRIER, 8)
    make("ttg.init_barrier", [barrier], count=i32_attribute(1))
    always = constant(1, 1)
    make("ttg.barrier_expect", [barrier, always], size=i32_attribute(_block_bytes(buffer.type)))
    make(_INTO, [descriptor, *coordinates, barrier, buffer, always], **hints)
    make("ttg.wait_barrier", [barrier, constant(32, 0)])
    make("ttg.inval_barrier", [barrier])


# --- stores -----------------------------------------------------------------------------------------------


def _store(op: ir.Operation, copies: BlockCopies) -> None:
    descriptor, given, *coordinates = op.operands
    source = unconverted(given)
    info = tensor_info(source.type)
    assert info is not None
    encoding = copies.encoding(descriptor.type)
    with ir.InsertionPoint(op), op.location:
        alignment = copies.alignment(descriptor.type, encoding)
        buffer = _buffer(info.shape, info.element_type, encoding, alignment, [source])
        make("ttg.fence_async_shared")
        kind = {"kind": op.attributes["kind"]} if "kind" in op.attributes else {}
        make(_OUT_OF, [descriptor, *coordinates, buffer], **kind, **plugin_hints(op))
    op.erase()
    if source != given and next(iter(given.uses), None) is None:
        given.owner.operation.erase()


# --- global memory ----------------------------------------------------------------------------------------


def _order_global_memory(function: ir.Operation) -> None:
    """Order copies and ordinary accesses of global memory at global-memory barriers and atomics."""
    ops = all_ops(function)
    names = {op.name for op in ops}
    if _INTO not in names and _OUT_OF not in names:
        return
    for op in ops:
        ordering = _orders(op)
        if not ordering:
            continue
        with ir.InsertionPoint(op), op.location:
            make("ttg.fence_async_shared", **{"global": ir.UnitAttr.get()})
            if _OUT_OF in names:
                make("ttg.async_store_wait", pendings=i32_attribute(0), complete=ir.UnitAttr.get())
        if not isa(op, BarrierOp):
            with ir.InsertionPoint.after(op), op.location:
                make("ttg.fence_async_shared", **{"global": ir.UnitAttr.get()})


def _orders(op: ir.Operation) -> bool:
    """True if ``op`` orders accesses of global memory."""
    if is_barrier(op, GLOBAL):
        return True
    sem = op.attributes["sem"] if access_of(op) is not None and "sem" in op.attributes else None
    return sem is not None and ir.IntegerAttr(sem).value != MemSemantic.RELAXED


# --- encodings of descriptors -----------------------------------------------------------------------------


def _give_encodings(maker: ir.Operation, copies: BlockCopies) -> None:
    """One descriptor per encoding of buffers."""
    uses = list(_uses(maker.results[0]))
    wanted = {_buffer_of(op).type.encoding: None for op, _ in uses}
    first, *others = wanted or {copies.encoding(maker.results[0].type).to_attr(): None}
    _set_encoding(maker.results[0], first)
    for encoding in others:
        _split(maker, encoding, [op for op, _ in uses if _buffer_of(op).type.encoding == encoding])
    for op, through in uses:
        for value in through:
            if value.type != maker.results[0].type and _buffer_of(op).type.encoding == first:
                value.set_type(maker.results[0].type)


def _buffer_of(copy: ir.Operation) -> ir.Value:
    operands = list(copy.operands)
    return operands[-2] if isa(copy, AsyncCopyDescriptorToLocalOp) else operands[-1]


def _uses(
    value: ir.Value, through: tuple[ir.Value, ...] = ()
) -> Iterator[tuple[ir.Operation, tuple[ir.Value, ...]]]:
    """The copies of a descriptor, and the arguments of regions that it goes through to each."""
    for use in list(value.uses):
        op = use.owner.operation
        if isa(op, AsyncCopyDescriptorToLocalOp, AsyncCopyLocalToDescriptorOp):
            yield op, through
        elif isa(op, WarpSpecializeOp):
            holder = op.regions[1].blocks[0].operations[0].operation
            for block in holder.regions[0].blocks:
                captured = block.arguments[use.operand_number]
                yield from _uses(captured, (*through, captured))
        else:
            raise InternalError(f"a descriptor is used by {op.name} after its accesses became copies")


def _set_encoding(value: ir.Value, encoding: ir.Attribute) -> None:
    value.set_type(_with_encoding(value.type, encoding))


def _with_encoding(type_: TensorDescType, encoding: ir.Attribute) -> ir.Type:
    block = type_.block_type
    made = ir.RankedTensorType.get(list(block.shape), block.element_type, encoding)
    return TensorDescType.get(ir.TypeAttr.get(made))


def _split(maker: ir.Operation, encoding: ir.Attribute, users: Sequence[ir.Operation]) -> None:
    """Another descriptor of the same tensor for ``users``."""
    with ir.InsertionPoint.after(maker), maker.location:
        result = _with_encoding(maker.results[0].type, encoding)
        names = attributes_of(maker)
        made = make(maker.name, list(maker.operands), result, **names)
    for user in users:
        if user.operands[0] != maker.results[0]:
            raise InternalError("a descriptor that partitions capture has buffers of several encodings")
        user.operands[0] = made.results[0]
