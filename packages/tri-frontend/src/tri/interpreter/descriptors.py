"""Tensor descriptors: blocks of a tensor in memory, with the tensor's bounds checked at every access."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tri.interpreter.arrays import Array, Data, numpy_type, wide
from tri.interpreter.calls import Call, Rule
from tri.interpreter.effects import update
from tri.interpreter.races import semantics_of
from tri.language import types as t
from tri_core.errors import InternalError
from tri_core.lazy_dataclasses import dataclass

__all__ = ["RULES", "Descriptor"]

#: tt.DescriptorReduceKind -> tt.AtomicOp for signed and unsigned integers and for floats
_KINDS: dict[int, tuple[int, int, int]] = {
    1: (4, 4, 5),
    2: (7, 9, 7),
    3: (6, 8, 6),
    6: (1, 1, 1),
    7: (2, 2, 2),
    8: (3, 3, 3),
}


@dataclass(frozen=True, eq=False)
class Descriptor:
    """The handle of a descriptor: a pointer, sizes and steps in elements, what is read out of bounds."""

    base: Array
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    nan: bool

    def shown(self, type_: t.dtype) -> str:
        """Shape and strides, for people."""
        return f"of shape {self.shape}, strides {self.strides}"


def _make(call: Call) -> Array:
    base, *rest = call.operands
    numbers = [int(v.data) for v in rest]
    rank = len(numbers) // 2
    return Descriptor(  # type: ignore[return-value]  # the one handle that is no array
        base, tuple(numbers[:rank]), tuple(numbers[rank:]), call.attributes.get("padding", 1) == 2
    )


def _descriptor(call: Call) -> tuple[Descriptor, t.dtype, tuple[int, ...]]:
    """The descriptor, its element type and the shape of its blocks."""
    handle, type_ = call.operands[0], call.types[0]
    if not isinstance(handle, Descriptor) or not isinstance(type_, t.tensor_descriptor_type):
        raise InternalError(f"{call.name} takes a descriptor, got {type_}")
    return handle, type_.block_type.element_ty, type_.block_type.shape


def _reach(
    descriptor: Descriptor, element: t.dtype, coordinates: Sequence[Array], lengths: Sequence[int]
) -> tuple[Array, Data]:
    """Pointers to a block, and which of them are inside of the tensor.

    ``coordinates`` has a start or a list of indices per dimension; a start is counted up to its length.
    """
    rank = len(descriptor.shape)
    inside: Data = np.ones((), np.bool_)
    address, exact = descriptor.base.data, wide(descriptor.base, signed=True)
    for axis, (index, length) in enumerate(zip(coordinates, lengths, strict=True)):
        place = [1] * rank
        place[axis] = length
        steps = np.arange(length) if not index.data.ndim else np.zeros((), np.int64)
        along, true = (
            (v.astype(np.int64) + steps).reshape(place) for v in (index.data, wide(index, signed=True))
        )
        inside = inside & (along >= 0) & (along < descriptor.shape[axis])
        scale = descriptor.strides[axis] * element.itemsize
        address, exact = address + along * scale, exact + true * scale
    origin = next((c.origin for c in coordinates if c.origin is not None), descriptor.base.origin)
    wrapped = None if np.array_equal(address, exact) else np.asarray(exact)
    return Array(np.asarray(address), wrapped, origin, descriptor.base.owner), np.asarray(inside)


def _load_from(call: Call, coordinates: Sequence[Array], lengths: Sequence[int], verb: str) -> Array:
    descriptor, element, _ = _descriptor(call)
    pointers, inside = _reach(descriptor, element, coordinates, lengths)
    padding = np.asarray(np.nan if descriptor.nan else 0).astype(numpy_type(element))
    loaded = call.machine.memory.load(pointers, element, inside, padding, verb)
    return loaded.shaped(lambda a: np.reshape(a, call.result.shape))  # type: ignore[attr-defined]


def _load(call: Call) -> Array:
    return _load_from(call, call.operands[1:], _descriptor(call)[2], "descriptor load")


def _gather(call: Call) -> Array:
    _, rows, column = call.operands
    lengths = (rows.data.size, _descriptor(call)[2][1])
    return _load_from(call, (rows, column), lengths, "descriptor gather")


def _store(call: Call) -> None:
    descriptor, element, lengths = _descriptor(call)
    _, block, *indices = call.operands
    pointers, inside = _reach(descriptor, element, indices, lengths)
    call.machine.memory.store(pointers, block.data.reshape(inside.shape), inside, "descriptor store")


def _scatter(call: Call) -> None:
    descriptor, element, (_, width) = _descriptor(call)
    _, rows, column, block = call.operands
    pointers, inside = _reach(descriptor, element, (rows, column), (rows.data.size, width))
    call.machine.memory.store(pointers, block.data, inside, "descriptor scatter")


def _reduce(call: Call) -> None:
    descriptor, element, lengths = _descriptor(call)
    _, block, *indices = call.operands
    pointers, inside = _reach(descriptor, element, indices, lengths)
    column = 2 if element.is_floating() else 1 if element.is_int_unsigned() else 0
    kind = _KINDS[call.attributes["kind"]][column]
    update(
        call.machine,
        element,
        pointers,
        block.data.reshape(inside.shape),
        inside,
        kind,
        semantics_of({}),
        "descriptor reduction",
    )


RULES: dict[str, Rule] = {
    "tt.make_tensor_descriptor": _make,
    "tt.descriptor_load": _load,
    "tt.descriptor_gather": _gather,
    "tt.descriptor_store": _store,
    "tt.descriptor_scatter": _scatter,
    "tt.descriptor_reduce": _reduce,
}
