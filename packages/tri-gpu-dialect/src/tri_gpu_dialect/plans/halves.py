"""A tile as two halves that every thread has: which registers belong to which, and nothing moves.

A tensor is cut along a dimension by ops that exist::

    [m, n]  reshape  [m, 2, n / 2]  trans  [m, n / 2, 2]  split  [m, n / 2], [m, n / 2]

Layouts follow through all of them.  Where the dimension's highest bit is one of registers alone, they come down to names.
"""

from __future__ import annotations

from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.encodings import Encoding, transform
from tri_gpu_dialect.types import tensor_info, tensor_type

__all__ = ["ROW_BYTES", "Cut", "cut", "halves"]

#: bytes of a row of a tile that halves along rows still have: the widest that a swizzle is made for
ROW_BYTES = 128
#: rows that halves across still have, after which a swizzle repeats
_ROWS = 8

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Cut:
    """A tile cut in two along ``axis``: shapes and layouts of the steps, ``shape`` and ``encoding`` those of a half."""

    axis: int
    apart: Shape
    seen: Encoding
    order: Shape
    transposed: Encoding
    shape: Shape
    encoding: Encoding


def cut(encoding: Encoding, shape: Shape, bits: int) -> Cut | None:
    """Split of a tensor of ``shape``, elements of ``bits``, in two halves without data movement; None if
    impossible.

    Along the last dimension if rows stay as long as :data:`ROW_BYTES`, else along another, first ones first.
    """
    rank = len(shape)
    axes = [rank - 1] if shape[-1] * bits >= 2 * ROW_BYTES * 8 else []
    axes += [d for d in range(rank - 1) if shape[d] >= (2 * _ROWS if d == rank - 2 else 2)]
    found = (_along(encoding, shape, axis) for axis in axes)
    return next((each for each in found if each is not None), None)


def _along(encoding: Encoding, shape: Shape, axis: int) -> Cut | None:
    half = (*shape[:axis], shape[axis] // 2, *shape[axis + 1 :])
    apart = (*shape[:axis], 2, *half[axis:])
    order = (*(d for d in range(len(apart)) if d != axis), axis)
    seen = transform.reshaped(encoding, shape, apart)
    transposed = transform.transposed(seen, order, apart)
    own = transform.split(transposed, (*half, 2))
    return None if own is None else Cut(axis, apart, seen, order, transposed, half, own)


def halves(value: ir.Value, how: Cut) -> tuple[ir.Value, ir.Value]:
    """The first and the second half of ``value``, at the ambient insertion point."""
    info = tensor_info(value.type)
    assert info is not None
    element, create = info.element_type, ir.Operation.create
    apart = create("tt.reshape", results=[tensor_type(how.apart, element, how.seen)], operands=[value])
    transposed = create(
        "tt.trans",
        results=[tensor_type((*how.shape, 2), element, how.transposed)],
        operands=list(apart.results),
        attributes={"order": ir.DenseI32ArrayAttr.get(list(how.order))},
    )
    # in the order of registers that the op expects: names, no code
    together = tensor_type((*how.shape, 2), element, transform.joined(how.encoding, how.shape))
    paired = create("ttg.convert_layout", results=[together], operands=list(transposed.results))
    kinds = [tensor_type(how.shape, element, how.encoding)] * 2
    first, second = create("tt.split", results=kinds, operands=list(paired.results)).results
    return first, second
