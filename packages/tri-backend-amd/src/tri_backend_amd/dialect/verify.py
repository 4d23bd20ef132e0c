"""The rules of ``amdg``'s ops on tensors: predicates that ops name in their class."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tri_backend_amd.dialect.tiles import origins, parts_of
from tri_core.dialects.tt import PointerType
from tri_core.mlir import ir
from tri_gpu_dialect import layouts
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.dialect.verify import rule
from tri_gpu_dialect.layouts import LANE, REGISTER, WARP

__all__ = [
    "concatenates",
    "copies_to_local",
    "masked",
    "offsets",
    "pointee",
    "rule",
    "slices",
    "transposes_in_thread",
]

Check = Callable[[Any], "str | None"]


def offsets(op: Any) -> str | None:
    """A scalar pointer, and offsets of 32 bits."""
    if not isinstance(op.ptr.type, PointerType):
        return f"ptr is {op.ptr.type}; a scalar pointer is expected"
    type_ = op.offsets.type
    if not isinstance(type_, ir.RankedTensorType) or str(type_.element_type) != "i32":
        return f"offsets are {type_}; a tensor of i32 is expected"
    if op.stride is not None and str(op.stride.type) != "i32":
        return f"stride is {op.stride.type}; i32 is expected"
    return None


def pointee(name: str) -> Check:
    """Operand or result ``name`` is what the pointer points to, with the offsets' shape and layout."""

    def check(op: Any) -> str | None:
        value = getattr(op, name)
        held, places = value.type, op.offsets.type
        if not isinstance(held, ir.RankedTensorType) or held.element_type != op.ptr.type.pointee_type:
            return f"{name} is {held}; a tensor of what {op.ptr.type} points to is expected"
        if list(held.shape) != list(places.shape) or held.encoding != places.encoding:
            return f"{name} is {held}; the shape and layout of the offsets, {places}, are expected"
        return None

    return check


def copies_to_local(op: Any) -> str | None:
    """A buffer that may be written, of the offsets' shape and of what the pointer points to."""
    held, places = op.dest.type, op.offsets.type
    if not isinstance(held, MemDescType) or not held.mutable:
        return f"dest is {held}; a mutable buffer in shared memory is expected"
    if list(held.shape) != list(places.shape) or held.element_type != op.ptr.type.pointee_type:
        return f"dest is {held}; the shape of the offsets, {places}, and what {op.ptr.type} points to are expected"
    if op.other is not None and op.other.type != ir.RankedTensorType.get(
        places.shape, held.element_type, places.encoding
    ):
        return f"other is {op.other.type}; the offsets' shape and layout, {places}, are expected"
    return None


def masked(op: Any) -> str | None:
    """A mask has the offsets' shape and layout."""
    if op.mask is None:
        return None
    held, places = op.mask.type, op.offsets.type
    wanted = ir.RankedTensorType.get(places.shape, ir.IntegerType.get_signless(1), places.encoding)
    return None if held == wanted else f"mask is {held}; {wanted} is expected"


def transposes_in_thread(op: Any) -> str | None:
    """Every thread keeps its elements."""
    source, result = op.src.type, op.result.type
    if list(source.shape) != list(result.shape) or source.element_type != result.element_type:
        return f"needs equal shapes and element types; {source} and {result} are given"
    if source.encoding is None or result.encoding is None:
        return "needs layouts on both sides"
    left, right = layouts.of(source), layouts.of(result)
    alike = all(left.images(dim) == right.images(dim) for dim in (LANE, WARP))
    if not alike or sorted(left.images(REGISTER)) != sorted(right.images(REGISTER)):
        return "moves elements between threads; only the order of registers may differ"
    return None


def concatenates(op: Any) -> str | None:
    """The sources tile the result, thread by thread."""
    sources, result = [s.type for s in op.operation.operands], op.result.type
    if not sources or any(type_ != sources[0] for type_ in sources):
        return "needs sources of one type"
    first = sources[0]
    if first.element_type != result.element_type or first.rank != result.rank:
        return f"needs equal ranks and element types; {first} and {result} are given"
    if any(whole % part for whole, part in zip(result.shape, first.shape, strict=True)):
        return f"{list(result.shape)} is no multiple of {list(first.shape)}"
    count = math.prod(w // p for w, p in zip(result.shape, first.shape, strict=True))
    if count != len(sources):
        return f"{count} sources of {list(first.shape)} make {list(result.shape)}; {len(sources)} are given"
    return _same_threads(result, first, origins(result, first))


def slices(op: Any) -> str | None:
    """The slice is inside, and every thread has its part of it."""
    source, result = op.source.type, op.result.type
    begin = list(ir.DenseI64ArrayAttr(op.operation.attributes["static_offsets"]))
    if source.element_type != result.element_type or not source.rank == result.rank == len(begin):
        return f"needs equal ranks and element types and an offset for each dimension; {source} and {result} are given"
    ends = [b + n for b, n in zip(begin, result.shape, strict=True)]
    if any(b < 0 for b in begin) or any(e > n for e, n in zip(ends, source.shape, strict=True)):
        return f"the slice from {begin} to {ends} is not inside of {list(source.shape)}"
    return _same_threads(source, result, [tuple(begin)])


def _same_threads(whole: Any, part: Any, places: list[tuple[int, ...]]) -> str | None:
    for origin in places:
        if parts_of(whole, part, origin) is None:
            return (
                f"{part} at {list(origin)} of {whole} is not in the same threads; convert the layout before"
            )
    return None
