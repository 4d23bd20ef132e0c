"""Upstream ops by what they give: tensors, generics, views of memory, nests of loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache

from tri_core.linalg import indices
from tri_core.linalg.boxes import Box
from tri_core.linalg.indices import Index
from tri_core.linalg.strides import Strided
from tri_core.mlir import arith, ir, linalg, memref, scf, tensor

__all__ = [
    "empty",
    "extract_slice",
    "fill",
    "filled",
    "generic",
    "insert_slice",
    "materialize",
    "nest",
    "place",
    "scalar_constant",
    "subview",
    "tensor_type",
    "when",
    "window",
]


def tensor_type(shape: Sequence[int], element: ir.Type) -> ir.RankedTensorType:
    """The tensor of ``shape``."""
    return ir.RankedTensorType.get(list(shape), element)


def empty(type_: ir.RankedTensorType) -> ir.Value:
    """A tensor of ``type_`` whose elements are not known."""
    return tensor.EmptyOp(list(type_.shape), type_.element_type).result


def scalar_constant(type_: ir.Type, number: float) -> ir.Value:
    """``number`` as a scalar of ``type_``."""
    if isinstance(type_, (ir.IntegerType, ir.IndexType)):
        return arith.ConstantOp(type_, ir.IntegerAttr.get(type_, int(number))).result
    return arith.ConstantOp(type_, ir.FloatAttr.get(type_, float(number))).result


def fill(value: ir.Value, target: ir.Value) -> ir.Operation:
    """Write the scalar ``value`` to every place of ``target``, a memref or a tensor."""
    results = [target.type] if isinstance(target.type, ir.RankedTensorType) else []
    made = linalg.FillOp(results, [value], [target]).operation
    linalg.fill_builtin_region(made)
    return made


def filled(value: ir.Value, type_: ir.RankedTensorType) -> ir.Value:
    """A tensor of ``type_`` with the scalar ``value`` in every place."""
    return fill(value, empty(type_)).results[0]


@cache
def _iterators(rank: int) -> str:
    return f"[{', '.join(['#linalg.iterator_type<parallel>'] * rank)}]"


def generic(
    inputs: Sequence[ir.Value],
    types: Sequence[ir.RankedTensorType],
    body: Callable[[Sequence[ir.Value]], Sequence[ir.Value]],
) -> list[ir.Value]:
    """Tensors of ``types``, of one shape like that of ``inputs``, whose elements ``body`` gives for those of ``inputs``."""
    rank = len(types[0].shape)
    inits = [empty(type_) for type_ in types]
    maps = [ir.AffineMapAttr.get(ir.AffineMap.get_identity(rank))] * (len(inputs) + len(inits))
    iterators = ir.Attribute.parse(_iterators(rank))
    made = linalg.GenericOp(types, inputs, inits, ir.ArrayAttr.get(maps), iterators)
    elements = [value.type.element_type for value in (*inputs, *inits)]
    block = made.regions[0].blocks.append(*elements)
    with ir.InsertionPoint(block):
        linalg.YieldOp(body(list(block.arguments)[: len(inputs)]))
    return list(made.results)


def place(rank: int) -> list[ir.Value]:
    """The index of the element that a generic's body is at."""
    return [linalg.IndexOp(dimension).result for dimension in range(rank)]


def materialize(integers: Strided, element: ir.Type | None = None) -> ir.Value:
    """``integers`` as a tensor, of ``index`` or of ``element``, an integer type."""
    type_ = tensor_type(integers.shape, element or ir.IndexType.get())
    if integers.is_uniform and element is None:
        return filled(indices.as_value(integers.offset), type_)

    def body(_: Sequence[ir.Value]) -> Sequence[ir.Value]:
        found = integers.offset
        for stride, index in zip(integers.strides, place(len(integers.shape)), strict=True):
            found = indices.add(found, indices.multiply(index, stride))
        value = indices.as_value(found)
        return [value if element is None else arith.IndexCastOp(element, value).result]

    return generic([], [type_], body)[0]


# --- parts ------------------------------------------------------------------------------------------------


def window(base: ir.Value, places: Strided) -> ir.Value:
    """The elements at ``places`` of the unranked memref ``base``, as a memref of their shape."""
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    offsets, offset = indices.mixed([places.offset])
    strides, static = indices.mixed(places.strides)
    layout = ir.StridedLayoutAttr.get(
        places.offset if isinstance(places.offset, int) else dynamic,
        [stride if isinstance(stride, int) else dynamic for stride in places.strides],
    )
    type_ = ir.MemRefType.get(list(places.shape), base.type.element_type, layout)
    return memref.ReinterpretCastOp(
        type_, base, offsets, [], strides, offset, list(places.shape), static
    ).result


def subview(buffer: ir.Value, box: Box) -> ir.Value:
    """The part of the memref ``buffer`` that is in ``box``."""
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    old_strides, old_offset = buffer.type.get_strides_and_offset()
    sizes, static_sizes = indices.mixed(box.sizes)
    lows, static_lows = indices.mixed(box.low)
    known = old_offset != dynamic and all(
        low == 0 or (isinstance(low, int) and stride != dynamic)
        for low, stride in zip(box.low, old_strides, strict=True)
    )
    offset = old_offset + sum(map(_product, box.low, old_strides)) if known else dynamic
    type_ = ir.MemRefType.get(
        static_sizes, buffer.type.element_type, ir.StridedLayoutAttr.get(offset, list(old_strides))
    )
    ones = [1] * len(box.shape)
    return memref.SubViewOp(type_, buffer, lows, sizes, [], static_lows, static_sizes, ones).result


def _product(low: Index, stride: int) -> int:
    return low * stride if isinstance(low, int) and low else 0


def extract_slice(
    value: ir.Value, low: Sequence[Index], sizes: Sequence[Index], dropped: int | None = None
) -> ir.Value:
    """``sizes`` elements of the tensor ``value`` from ``low`` on; without dimension ``dropped``, whose size is 1."""
    lows, static_lows = indices.mixed(low)
    counts, static_sizes = indices.mixed(sizes)
    shape = [size for d, size in enumerate(static_sizes) if d != dropped]
    type_ = tensor_type(shape, value.type.element_type)
    ones = [1] * len(low)
    return tensor.ExtractSliceOp(type_, value, lows, counts, [], static_lows, static_sizes, ones).result


def insert_slice(part: ir.Value, into: ir.Value, low: Sequence[Index], sizes: Sequence[int]) -> ir.Value:
    """The tensor ``into`` with ``part`` at ``low``; ``sizes``: those of ``part``, with dimensions of size 1 that it lacks."""
    lows, static_lows = indices.mixed(low)
    ones = [1] * len(low)
    return tensor.InsertSliceOp(part, into, lows, [], [], static_lows, list(sizes), ones).result


# --- control flow -----------------------------------------------------------------------------------------


@contextmanager
def when(condition: ir.Value) -> Iterator[None]:
    """Context whose ops run where ``condition`` (i1) is true."""
    branch = scf.IfOp(condition)
    with ir.InsertionPoint(branch.regions[0].blocks[0]):
        yield
        scf.YieldOp([])


@contextmanager
def nest(shape: Sequence[int]) -> Iterator[list[ir.Value]]:
    """Context whose ops run for every index of ``shape``, in row-major order; gives the index."""
    if not shape:
        yield []
        return
    zero, one = indices.constant(0), indices.constant(1)
    loop = scf.ForOp(zero, indices.constant(shape[0]), one)
    with ir.InsertionPoint(loop.body):
        with nest(shape[1:]) as inner:
            yield [loop.induction_variable, *inner]
        scf.YieldOp([])
