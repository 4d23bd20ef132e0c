"""Asynchronous copies from global memory to LDS by buffer loads, and waits for groups of them.

A wavefront has one address in LDS for an access, from which its lanes write one after the other.  So the layout of the tensor and that of the
buffer must agree: the vector of lane i at i times its size, nothing else in between.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tri_backend_amd.dialect.block import BUFFER
from tri_backend_amd.lowering.buffers import has_place, place_of_access
from tri_backend_amd.lowering.primitives import AmdPrimitives
from tri_core.dialects.tt.accesses import reads_again
from tri_core.dialects.tt.enums import CacheModifier, EvictionPolicy
from tri_core.errors import InternalError, Unsupported
from tri_core.ir.access_hints import plugin_hints
from tri_core.ir.views import isa
from tri_core.ir.walking import walk
from tri_core.mlir import ir
from tri_core.passes.origins import is_zero
from tri_core.passes.rewriting import producer
from tri_gpu_dialect.dialect import LocalAllocOp, MemDescIndexOp
from tri_gpu_dialect.edit import copies_to_shared
from tri_gpu_dialect.layouts import LANE, REGISTER, WARP, vector_access
from tri_gpu_dialect.layouts.banks import VectorAccess
from tri_gpu_dialect.lowering import Access, Lowered, Lowering, LoweringTable, Token
from tri_gpu_dialect.lowering.context import SharedTensor
from tri_gpu_dialect.lowering.rules.memory import spread, vectors_of
from tri_gpu_dialect.lowering.rules.shared import shared_tensor
from tri_gpu_dialect.lowering.views import addresses, written_part
from tri_gpu_dialect.lowering.words import bit_width

__all__ = ["add_rules"]

#: bytes a lane, by family of processors
_WIDTHS = {"cdna1": (4,), "cdna2": (4,), "cdna3": (4,), "cdna4": (16, 12, 4)}
_COPY = "ttg.async_copy_global_to_local"


def _widths(ctx: Lowering) -> tuple[int, ...]:
    return next((widths for family, widths in _WIDTHS.items() if ctx.target.has(family)), ())


def _elements(ctx: Lowering, op: ir.Operation, view: SharedTensor) -> int:
    """Elements of an access; 0 where none of the processor's suits."""
    given = op.opview
    size = bit_width(view.element) // 8
    global_ = vectors_of(ctx, given.src, given.mask)
    registers = written_part(ctx, given.src.type, view)
    for width in _widths(ctx):
        count = width // size
        if count < 1 or count & (count - 1) or count > global_.width:
            continue
        access = vector_access(registers, view.layout, count)
        chunks = {g[i : i + count] for g in global_.groups for i in range(0, global_.width, count)}
        if access.width == count and all(group in chunks for group in access.groups):
            return count
    return 0


def _lanes_are_neighbours(access: VectorAccess, view: SharedTensor, lanes: int) -> bool:
    """True if lane i of an access writes at i times the access's size, on a place that is a multiple of the
    wavefront's access size.
    """
    span = access.width * lanes
    offsets = access.conversion
    if list(offsets.packed(LANE)) != [access.width << i for i in range(lanes.bit_length() - 1)]:
        return False
    starts = [offsets.images(REGISTER)[group[0]] for group in access.groups]
    if any(start % span for start in (*starts, *offsets.packed(WARP))) or any(map(any, view.blocks)):
        return False
    return not any(interval % span for interval, _ in view.padding)


def _obstacle(ctx: Lowering, op: ir.Operation, view: SharedTensor) -> tuple[str, str] | None:
    """Reason that ``op`` can't be a copy to ``view`` without registers, and a remedy; None if it can.
    Nothing need be lowered yet.
    """
    given, words = op.opview, ctx.hw
    if not isinstance(words, AmdPrimitives) or not _widths(ctx):
        return f"{ctx.target} has no loads to LDS", "use amdg.buffer_load and ttg.local_store"
    if given.other is not None and not is_zero(given.other):
        return "what is masked off is zero in LDS", "use amdg.buffer_load with other, and ttg.local_store"
    if not has_place(ctx, op):
        return "the pointers aren't one array's within 4 GiB", "use ttg.async_copy_global_to_local"
    registers = written_part(ctx, given.src.type, view)
    if any(registers.free_variable_masks().get(dim) for dim in (LANE, WARP)):
        return f"some threads of {given.src.type} hold what others hold", "use fewer warps or a larger tensor"
    count = _elements(ctx, op, view)
    if not count:
        known = " or ".join(str(8 * width) for width in _widths(ctx))
        return (
            f"{ctx.target} moves {known} bits a lane at once, and neither memory has as many of a thread's elements side by side",
            "give a thread as many contiguous elements, aligned and under one mask, in global memory and in LDS",
        )
    access = vector_access(registers, view.layout, count)
    if any(view.origin) or not _lanes_are_neighbours(access, view, ctx.hw.threads_per_warp):
        return (
            "lanes of a wavefront don't write side by side in LDS",
            "choose a layout whose lanes follow one another in the buffer, without swizzling",
        )
    return None


def _is_direct(ctx: Lowering, op: ir.Operation) -> bool:
    """True if ``op`` is done without registers; a copy that was requested so is, or is refused."""
    return BUFFER in op.attributes or _obstacle(ctx, op, ctx.shared_tensor(op.operands[1])) is None


def _copy(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """One buffer load for each vector."""
    view = ctx.shared_tensor(op.operands[1])
    if found := _obstacle(ctx, op, view):
        reason, remedy = found
        raise Unsupported(f"a copy from global memory to LDS without registers: {reason}", remedy=remedy)
    given, words, place = op.opview, ctx.hw, place_of_access(ctx, op)
    if not isinstance(words, AmdPrimitives) or place is None:
        raise InternalError("no obstacle was found")
    sources = ctx.registers(given.src)
    masks = None if given.mask is None else spread(ctx.registers(given.mask), len(sources))
    registers = written_part(ctx, given.src.type, view)
    vectors, count = addresses(ctx, registers, view, _elements(ctx, op, view), without=(LANE,))
    width = count * bit_width(view.element) // 8
    with words.buffer(ctx.b, ctx.scalar(place.base), place.window, place.uniform):
        for group, destination in vectors:
            predicate = None if masks is None else masks[group[0]]
            words.copy_to_shared(ctx.b, sources[group[0]], destination, width, predicate, _access(op, width))
    return [Token()]


def _access(op: ir.Operation, align: int) -> Access:
    def read(name: str) -> int:
        return ir.IntegerAttr(op.attributes[name]).value if name in op.attributes else 1

    cache, evict = CacheModifier(read("cache")), EvictionPolicy(read("evict"))
    return Access(align, cache, evict, reads_again(op), plugin_hints(op))


# --- groups -----------------------------------------------------------------------------------------------


def _instructions(ctx: Lowering, op: ir.Operation) -> int:
    """Loads that a wavefront surely issues for the copy ``op``; none where it may be done through registers."""
    if op.name == _COPY and not _is_surely_direct(ctx, op):
        return 0
    given = op.opview
    type_ = (given.result if op.name == _COPY else given.dest).type
    numbers = math.prod(type_.shape) * bit_width(ctx.storage(type_.element_type)) // 8
    threads = ctx.hw.threads_per_warp * ctx.hw.num_warps
    return int(numbers // (threads * max(_widths(ctx), default=numbers)))


def _is_surely_direct(ctx: Lowering, op: ir.Operation) -> bool:
    """True if ``op`` copies to a buffer or a stage of a ring without registers; it may come after the caller."""
    destination = op.operands[1]
    maker = producer(destination)
    if maker is None or not isa(maker, LocalAllocOp, MemDescIndexOp):
        return False
    return _obstacle(ctx, op, shared_tensor(ctx, destination, destination.type)) is None


def _wait(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """Loads come back in order: those of the last groups, at the least, may still be under way."""
    groups, words = ir.IntegerAttr(op.attributes["num"]).value, ctx.hw
    if not isinstance(words, AmdPrimitives):
        raise InternalError("waits for groups of copies are for AMD targets")
    words.wait_loads(ctx.b, groups * _smallest_group(ctx, op) if groups else 0)
    return [Token()]


def _smallest_group(ctx: Lowering, op: ir.Operation) -> int:
    """Loads of the group that has the fewest, in the function around ``op``."""
    sizes = []

    def visit(inner: ir.Operation) -> ir.WalkResult:
        if inner.name == "ttg.async_commit_group":
            makers = (producer(token) for token in inner.operands)
            sizes.append(sum(_instructions(ctx, m) for m in makers if m is not None and copies_to_shared(m)))
        return ir.WalkResult.ADVANCE

    walk(_function(op), visit)
    return min(sizes, default=0)


def _function(op: ir.Operation) -> ir.Operation:
    while op.name != "tt.func":
        op = op.parent.operation
    return op


def _commit(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """The counter of loads needs no mark."""
    return [Token()]


def _counts(ctx: Lowering, op: ir.Operation) -> bool:
    return bool(_widths(ctx))


def add_rules(table: LoweringTable) -> None:
    """Put the rules above the generic ones, where the processor has such copies."""
    table.add(_COPY, _copy, benefit=10, when=_is_direct, owner=f"{__name__}.copy")
    table.add("ttg.async_wait", _wait, benefit=10, when=_counts, owner=f"{__name__}.wait")
    table.add("ttg.async_commit_group", _commit, benefit=10, when=_counts, owner=f"{__name__}.commit")
