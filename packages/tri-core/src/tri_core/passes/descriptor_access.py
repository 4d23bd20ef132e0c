"""Accesses through tensor descriptors as accesses through tensors of pointers.

The block's origin moves the base pointer and the bounds, as scalars; what is left for every element is its
place in the block, which does not change in loops::

    base + sum(index_d * stride_d)            the pointer of the block's first element
    sum(range_d * stride_d)                   the offsets of all elements from it
    -index_d <= range_d < shape_d - index_d   the mask
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tri_core.dialects.tt import PointerType
from tri_core.dialects.tt.enums import AtomicOp, DescriptorReduceKind, MemSemantic, MemSyncScope
from tri_core.errors import Unsupported
from tri_core.ir.access import access_of
from tri_core.ir.access_hints import access_hints
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_core.passes.rewriting import constant, make
from tri_core.passes.rules.uniform import uniform_attr

__all__ = ["ACCESSES", "Descriptor", "block_inside", "store_whole"]

_SLT, _SLE, _SGE = 2, 3, 5


@dataclass(frozen=True)
class Descriptor:
    """Parts of a descriptor: ``shape`` and ``strides`` are i64 in elements, ``nan`` is the padding's flag
    (i1).
    """

    block: ir.RankedTensorType
    base: ir.Value
    shape: Sequence[ir.Value]
    strides: Sequence[ir.Value]
    nan: ir.Value


@dataclass(frozen=True)
class _Places:
    """Element addresses of an access: tensors of pointers and of i1."""

    pointers: ir.Value
    mask: ir.Value | None


# --- shapes ---------------------------------------------------------------------------------------------


def _tensor(shape: Sequence[int], element: ir.Type) -> ir.RankedTensorType:
    return ir.RankedTensorType.get(list(shape), element)


def _int(bits: int) -> ir.Type:
    return ir.IntegerType.get_signless(bits)


def _with_shape(op: ir.Operation, value: ir.Value, shape: Sequence[int]) -> ir.Value:
    """A scalar or a tensor of ones and full dimensions as a tensor of ``shape``."""
    if not isinstance(value.type, ir.RankedTensorType):
        return make(op, "tt.splat", _tensor(shape, value.type), [value])
    type_ = ir.RankedTensorType(value.type)
    if list(type_.shape) == list(shape):
        return value
    return make(op, "tt.broadcast", _tensor(shape, type_.element_type), [value])


def _along(op: ir.Operation, value: ir.Value, axis: int, rank: int) -> ir.Value:
    """A one-dimensional ``value`` along ``axis`` of ``rank`` dimensions, the others being 1."""
    type_ = ir.RankedTensorType(value.type)
    shape = list(type_.shape)
    for dim in range(rank):
        if dim != axis:
            shape.insert(dim, 1)
            attributes = {"axis": ir.IntegerAttr.get(_int(32), dim)}
            value = make(op, "tt.expand_dims", _tensor(shape, type_.element_type), [value], attributes)
    return value


def _range(op: ir.Operation, size: int) -> ir.Value:
    """0 to ``size`` as i64."""
    i32 = _int(32)
    attributes = {"start": ir.IntegerAttr.get(i32, 0), "end": ir.IntegerAttr.get(i32, size)}
    places = make(op, "tt.make_range", _tensor([size], i32), [], attributes)
    return make(op, "arith.extsi", _tensor([size], _int(64)), [places])


# --- places ---------------------------------------------------------------------------------------------


def _moved(op: ir.Operation, base: ir.Value, index: ir.Value, stride: ir.Value) -> ir.Value:
    """``base`` at ``index`` (i64) along a dimension."""
    if _known(index) == 0:
        return base
    distance = make(op, "arith.muli", _int(64), [index, stride])
    return make(op, "tt.addptr", base.type, [base, distance])


def _known(value: ir.Value) -> int | None:
    attribute = uniform_attr(value)
    return ir.IntegerAttr(attribute).value if attribute is not None else None


def _inside(op: ir.Operation, places: ir.Value, index: ir.Value | None, shape: ir.Value) -> ir.Value:
    """``0 <= index + places < shape`` (index None: 0, and places of either sign)."""
    type_ = ir.RankedTensorType(places.type)
    high, low = shape, None
    if index is not None and _known(index) != 0:
        high = make(op, "arith.subi", _int(64), [shape, index])
    known = None if index is None else _known(index)
    if known is None or known < 0:
        zero = constant(op, ir.IntegerAttr.get(_int(64), 0))
        low = zero if index is None else make(op, "arith.subi", _int(64), [zero, index])
    mask = _compare(op, _SLT, places, _with_shape(op, high, type_.shape))
    if low is None:
        return mask
    above = _compare(op, _SGE, places, _with_shape(op, low, type_.shape))
    return make(op, "arith.andi", mask.type, [above, mask])


def _compare(op: ir.Operation, predicate: int, x: ir.Value, y: ir.Value) -> ir.Value:
    type_ = _tensor(ir.RankedTensorType(x.type).shape, _int(1))
    return make(op, "arith.cmpi", type_, [x, y], {"predicate": ir.IntegerAttr.get(_int(64), predicate)})


def _block_places(
    op: ir.Operation, desc: Descriptor, indices: Sequence[ir.Value], *, masked: bool = True
) -> _Places:
    """The places of a block that begins at ``indices`` (i32); without a mask where it is known to be inside of the tensor."""
    shape = list(desc.block.shape)
    base = desc.base
    along: list[tuple[ir.Value, ir.Value | None, ir.Value]] = []
    for dim, (size, index) in enumerate(zip(shape, indices, strict=True)):
        wide = make(op, "arith.extsi", _int(64), [index]) if _known(index) is None else _wide(op, index)
        base = _moved(op, base, wide, desc.strides[dim])
        along.append((_along(op, _range(op, size), dim, len(shape)), wide, desc.strides[dim]))
    return _places(op, desc, base, shape, along, masked=masked)


def _wide(op: ir.Operation, index: ir.Value) -> ir.Value:
    return constant(op, ir.IntegerAttr.get(_int(64), _known(index) or 0))


def _row_places(op: ir.Operation, desc: Descriptor, rows: ir.Value, column: ir.Value) -> _Places:
    """The places of ``rows`` (a vector of i16 or i32) from ``column`` (i32) on."""
    count = ir.RankedTensorType(rows.type).shape[0]
    shape = [count, desc.block.shape[1]]
    wide_rows = make(op, "arith.extsi", _tensor([count], _int(64)), [rows])
    wide = make(op, "arith.extsi", _int(64), [column]) if _known(column) is None else _wide(op, column)
    base = _moved(op, desc.base, wide, desc.strides[1])
    along = [
        (_along(op, wide_rows, 0, 2), None, desc.strides[0]),
        (_along(op, _range(op, shape[1]), 1, 2), wide, desc.strides[1]),
    ]
    return _places(op, desc, base, shape, along)


def _places(
    op: ir.Operation,
    desc: Descriptor,
    base: ir.Value,
    shape: Sequence[int],
    along: Sequence[tuple[ir.Value, ir.Value | None, ir.Value]],
    *,
    masked: bool = True,
) -> _Places:
    """``along``: for every dimension the places along it, where they begin, and the stride."""
    offsets = mask = None
    for dim, (places, index, stride) in enumerate(along):
        type_ = ir.RankedTensorType(places.type)
        steps = places
        if _known(stride) != 1:
            steps = make(op, "arith.muli", type_, [places, _with_shape(op, stride, type_.shape)])
        steps = _with_shape(op, steps, shape)
        offsets = steps if offsets is None else make(op, "arith.addi", steps.type, [offsets, steps])
        if not masked:
            continue
        inside = _with_shape(op, _inside(op, places, index, desc.shape[dim]), shape)
        mask = inside if mask is None else make(op, "arith.andi", inside.type, [mask, inside])
    pointers = _with_shape(op, base, shape)
    return _Places(make(op, "tt.addptr", pointers.type, [pointers, offsets]), mask)


# --- accesses -------------------------------------------------------------------------------------------


def _segments(*sizes: int) -> dict[str, ir.Attribute]:
    return {"operandSegmentSizes": ir.DenseI32ArrayAttr.get(list(sizes))}


def _padding(op: ir.Operation, desc: Descriptor, type_: ir.RankedTensorType) -> ir.Value:
    """Tensor of padding values for out-of-bounds reads."""
    element = type_.element_type
    if not isinstance(element, ir.FloatType):
        return constant(op, ir.DenseElementsAttr.get_splat(type_, ir.IntegerAttr.get(element, 0)))
    zero = constant(op, ir.FloatAttr.get(element, 0.0))
    nan = constant(op, ir.FloatAttr.get(element, float("nan")))
    known = _known(desc.nan)
    chosen = make(op, "arith.select", element, [desc.nan, nan, zero])
    if known is not None:
        chosen = nan if known else zero
    return make(op, "tt.splat", type_, [chosen])


def _read(op: ir.Operation, desc: Descriptor, places: _Places) -> ir.Value:
    pointers = ir.RankedTensorType(places.pointers.type)
    type_ = _tensor(pointers.shape, PointerType(pointers.element_type).pointee_type)
    operands = [places.pointers, places.mask, _padding(op, desc, type_)]
    value = make(op, "tt.load", type_, operands, access_hints(op) | _segments(1, 1, 1))
    return _reshaped(op, value, op.result.type)


def _reshaped(op: ir.Operation, value: ir.Value, type_: ir.Type) -> ir.Value:
    """``value`` without or with the leading dimensions of size 1 that an access may leave out."""
    return value if value.type == type_ else make(op, "tt.reshape", type_, [value])


def _stored(op: ir.Operation, value: ir.Value, places: _Places) -> ir.Value:
    shape = ir.RankedTensorType(places.pointers.type).shape
    return _reshaped(op, value, _tensor(shape, ir.RankedTensorType(value.type).element_type))


def _write(op: ir.Operation, value: ir.Value, places: _Places) -> ir.Operation:
    mask = [] if places.mask is None else [places.mask]
    return ir.Operation.create(
        "tt.store",
        operands=[places.pointers, _stored(op, value, places), *mask],
        attributes=access_hints(op) | _segments(1, 1, len(mask)),
        loc=op.location,
        ip=ir.InsertionPoint(op),
    )


def _offsets(op: ir.Operation) -> list[ir.Value]:
    """Offsets of a block, or its rows and column."""
    access = access_of(op)
    assert access is not None
    return access.offsets


def _value(op: ir.Operation) -> ir.Value:
    access = access_of(op)
    assert access is not None
    return access.value


def _load(op: ir.Operation, desc: Descriptor) -> Sequence[ir.Value]:
    return [_read(op, desc, _block_places(op, desc, _offsets(op)))]


def _gather(op: ir.Operation, desc: Descriptor) -> Sequence[ir.Value]:
    return [_read(op, desc, _row_places(op, desc, *_offsets(op)))]


def _store(op: ir.Operation, desc: Descriptor) -> Sequence[ir.Value]:
    _write(op, _value(op), _block_places(op, desc, _offsets(op)))
    return []


def block_inside(op: ir.Operation, desc: Descriptor) -> ir.Value:
    """Condition (i1) that the block of a ``tt.descriptor_store`` is inside of the tensor, computed before
    ``op``.
    """
    found = None
    for size, shape, index in zip(desc.block.shape, desc.shape, _offsets(op), strict=True):
        wide = make(op, "arith.extsi", _int(64), [index])
        end = make(op, "arith.addi", _int(64), [wide, constant(op, ir.IntegerAttr.get(_int(64), size))])
        zero = constant(op, ir.IntegerAttr.get(_int(64), 0))
        for lower, upper in ((zero, wide), (end, shape)):
            holds = _ordered(op, lower, upper)
            found = holds if found is None else make(op, "arith.andi", _int(1), [found, holds])
    assert found is not None
    return found


def _ordered(op: ir.Operation, x: ir.Value, y: ir.Value) -> ir.Value:
    """``x <= y`` of signed scalars."""
    return make(op, "arith.cmpi", _int(1), [x, y], {"predicate": ir.IntegerAttr.get(_int(64), _SLE)})


def store_whole(op: ir.Operation, desc: Descriptor) -> ir.Operation:
    """The ``tt.store`` without a mask that does a ``tt.descriptor_store`` whose block is inside of the tensor."""
    return _write(op, _value(op), _block_places(op, desc, _offsets(op), masked=False))


def _scatter(op: ir.Operation, desc: Descriptor) -> Sequence[ir.Value]:
    _write(op, _value(op), _row_places(op, desc, *_offsets(op)))
    return []


#: reduction -> the atomic operation on floats, signed and unsigned integers; None where there is none
_ATOMICS: dict[int, tuple[AtomicOp | None, AtomicOp | None, AtomicOp | None]] = {
    DescriptorReduceKind.ADD: (AtomicOp.FADD, AtomicOp.ADD, AtomicOp.ADD),
    DescriptorReduceKind.MIN: (None, AtomicOp.MIN, AtomicOp.UMIN),
    DescriptorReduceKind.MAX: (None, AtomicOp.MAX, AtomicOp.UMAX),
    DescriptorReduceKind.AND: (None, AtomicOp.AND, AtomicOp.AND),
    DescriptorReduceKind.OR: (None, AtomicOp.OR, AtomicOp.OR),
    DescriptorReduceKind.XOR: (None, AtomicOp.XOR, AtomicOp.XOR),
}


#: extreme -> how the bits of floats of 16 bits are combined where the value's sign bit is clear, and where it is set
_BITS = {
    DescriptorReduceKind.MIN: (AtomicOp.MIN, AtomicOp.UMAX),
    DescriptorReduceKind.MAX: (AtomicOp.MAX, AtomicOp.UMIN),
}


def _reduce(op: ir.Operation, desc: Descriptor) -> Sequence[ir.Value]:
    kind = DescriptorReduceKind(ir.IntegerAttr(op.attributes["kind"]).value)
    element = desc.block.element_type
    places = _block_places(op, desc, _offsets(op))
    value = _stored(op, _value(op), places)
    if kind in _BITS and isinstance(element, ir.F16Type | ir.BF16Type):
        _extreme_of_bits(op, kind, places, value)
        return []
    if isinstance(element, ir.IntegerType):
        operation = _ATOMICS.get(kind, (None, None, None))[2 if element.is_unsigned else 1]
    else:
        operation = _ATOMICS.get(kind, (None, None, None))[0]
    if operation is None:
        raise Unsupported(
            f"the reduction {kind.name.lower()} of {element} into memory",
            remedy="reduce integers of 32 or 64 bits",
            location=source_location(op.location),
        )
    _combine(op, operation, places.pointers, value, places.mask)
    return []


def _combine(
    op: ir.Operation, operation: AtomicOp, pointers: ir.Value, value: ir.Value, mask: ir.Value | None
) -> None:
    """The atomic ``operation`` of memory and ``value``, whose old values nobody asks for."""
    i32, given = _int(32), [] if mask is None else [mask]
    attributes: dict[str, ir.Attribute] = {
        "atomic_rmw_op": ir.IntegerAttr.get(i32, int(operation)),
        "sem": ir.IntegerAttr.get(i32, int(MemSemantic.RELEASE)),
        "scope": ir.IntegerAttr.get(i32, int(MemSyncScope.GPU)),
    }
    make(op, "tt.atomic_rmw", value.type, [pointers, value, *given], attributes | _segments(1, 1, len(given)))


def _extreme_of_bits(op: ir.Operation, kind: DescriptorReduceKind, places: _Places, value: ir.Value) -> None:
    """The minimum or maximum of floats of 16 bits, as integers, which have the same order but for negative ones among each other.

    A value without a sign is compared with memory as signed integers are, one with a sign as unsigned ones: both are right whatever
    the sign of what is in memory.
    """
    shape = ir.RankedTensorType(value.type).shape
    pointers = make(op, "tt.bitcast", _tensor(shape, PointerType.of(_int(16))), [places.pointers])
    bits = make(op, "tt.bitcast", _tensor(shape, _int(16)), [value])
    zero = constant(op, ir.DenseElementsAttr.get_splat(bits.type, ir.IntegerAttr.get(_int(16), 0)))
    for predicate, operation in zip((_SGE, _SLT), _BITS[kind], strict=True):
        here = _compare(op, predicate, bits, zero)
        mask = here if places.mask is None else make(op, "arith.andi", here.type, [here, places.mask])
        _combine(op, operation, pointers, bits, mask)


#: op -> what replaces its results
ACCESSES: Mapping[str, Callable[[ir.Operation, Descriptor], Sequence[ir.Value]]] = {
    "tt.descriptor_load": _load,
    "tt.descriptor_store": _store,
    "tt.descriptor_gather": _gather,
    "tt.descriptor_scatter": _scatter,
    "tt.descriptor_reduce": _reduce,
}
