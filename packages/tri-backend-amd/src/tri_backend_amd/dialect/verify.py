"""The rules of ``amdg``'s ops on tensors: predicates that ops name in their class."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tri_backend_amd.dialect.microscaling import GROUP, SOURCES, Layouts, source_of
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


_WIDE = ("f16", "bf16")


def _is_scaled(op: Any, element: str) -> str | None:
    """A result of f16 or bf16, and scales of ``element``."""
    result = op.operation.results[0].type
    if not isinstance(result, ir.RankedTensorType) or str(result.element_type) not in _WIDE:
        return f"gives {result}; a tensor of f16 or bf16 is expected"
    scale = op.scale.type
    if not isinstance(scale, ir.RankedTensorType) or str(scale.element_type) != element:
        return f"scale is {scale}; a tensor of {element} is expected"
    if result.encoding is None or scale.encoding is None:
        return "needs layouts on all sides"
    return None


def widens_scaled(op: Any) -> str | None:
    """Numbers, scales and result of one shape and layout."""
    if found := _is_scaled(op, "bf16"):
        return found
    source, result = op.input.type, op.output.type
    known = [each.type for each in SOURCES.values() if each.type]
    if str(source.element_type) not in known:
        return f"input is {source}; elements of {' or '.join(known)} are expected"
    for what, type_ in (("input", source), ("scale", op.scale.type)):
        if list(type_.shape) != list(result.shape) or layouts.of(type_) != layouts.of(result):
            return f"{what} is {type_}; the shape and layout of {result} are expected"
    return None


def unpacks_scaled(op: Any) -> str | None:
    """Bytes of half the result along ``axis``, in the same threads; scales of its shape and layout."""
    if found := _is_scaled(op, "bf16"):
        return found
    result, scale = op.output.type, op.scale.type
    if list(scale.shape) != list(result.shape) or layouts.of(scale) != layouts.of(result):
        return f"scale is {scale}; the shape and layout of {result} are expected"
    return _unpacks(op.input.type, result, ir.IntegerAttr(op.operation.attributes["axis"]).value)


def _unpacks(source: Any, result: Any, axis: int) -> str | None:
    if str(source.element_type) != "i8":
        return f"takes {source}; pairs of e2m1 in i8 are expected"
    if not 0 <= axis < result.rank or source.rank != result.rank:
        return f"cannot unpack {source} to {result} along dimension {axis}"
    if [n * (1 + (d == axis)) for d, n in enumerate(source.shape)] != list(result.shape):
        return f"{source} unpacked along dimension {axis} is no {result}"
    packed, whole = layouts.of(source), layouts.of(result)

    def halved(bases: Any) -> list[tuple[int, ...]]:
        return [tuple(v // 2 if d == axis else v for d, v in enumerate(basis)) for basis in bases]

    odd = tuple(int(d == axis) for d in range(result.rank))
    pairs = odd in whole.bases[REGISTER] and not any(
        basis[axis] % 2 for dim in (LANE, WARP) for basis in whole.bases[dim]
    )
    registers = [basis for basis in whole.bases[REGISTER] if basis != odd]
    alike = all(list(packed.bases[dim]) == halved(whole.bases[dim]) for dim in (LANE, WARP))
    if not pairs or not alike or sorted(packed.bases[REGISTER]) != sorted(halved(registers)):
        return f"the two numbers of a byte of {source} are not both in the thread of {result} that holds the byte"
    return None


def upcasts(op: Any) -> str | None:
    """A scale for 32 numbers along k, which is the last dimension but in operands 1 of dots."""
    if found := _is_scaled(op, "i8"):
        return found
    kind = source_of(ir.IntegerAttr(op.operation.attributes["fp_type"]).value)
    if kind is None:
        return "fp_type is expected to be e2m1, e4m3 or e5m2"
    source, result, scale = op.src.type, op.result.type, op.scale.type
    if result.rank < 2 or scale.rank != result.rank:
        return f"needs equal ranks of at least 2; {result} and {scale} are given"
    k = Layouts.of(op.operation).k
    shape = [n for d, n in enumerate(result.shape) if d != k] + [result.shape[k] // GROUP]
    if result.shape[k] % GROUP or list(scale.shape) != shape:
        return f"scale is {scale}; {shape}, one for {GROUP} along k, is expected"
    if kind == "fp4":
        return _unpacks(source, result, k)
    if str(source.element_type) not in (SOURCES[kind].type, "i8"):
        return f"src is {source}; elements of {SOURCES[kind].type}, or i8 that hold them, are expected"
    if list(source.shape) != list(result.shape) or layouts.of(source) != layouts.of(result):
        return f"src is {source}; the shape and layout of {result} are expected"
    return None


def _same_threads(whole: Any, part: Any, places: list[tuple[int, ...]]) -> str | None:
    for origin in places:
        if parts_of(whole, part, origin) is None:
            return (
                f"{part} at {list(origin)} of {whole} is not in the same threads; convert the layout before"
            )
    return None
