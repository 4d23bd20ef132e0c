"""Tensor descriptors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tri_core.dialects.tt.constraints.memory import CACHE_HINTS
from tri_core.dialects.tt.constraints.vocabulary import Constraint, View, kind, one_of, scalar, shape, tensor
from tri_core.dialects.tt.dialect import PointerType, TensorDescType
from tri_core.dialects.tt.enums import DescriptorReduceKind, PaddingOption
from tri_core.mlir import ir

__all__ = ["CONSTRAINTS"]

_MOST_DIMENSIONS = 5


def _descriptor(name: str) -> Constraint:
    def constraint(view: View) -> str | None:
        type_ = view.type(name)
        return (
            None if isinstance(type_, TensorDescType) else f"expects {name} to be !tt.tensordesc; got {type_}"
        )

    return constraint


def _block(view: View, name: str = "desc") -> ir.RankedTensorType:
    return TensorDescType(view.type(name)).block_type


def _made(view: View) -> str | None:
    block = _block(view, "result")
    rank = len(block.shape)
    counts = len(view.group("shape")), len(view.group("strides"))
    if not 1 <= rank <= _MOST_DIMENSIONS:
        return f"expects a block of 1 to {_MOST_DIMENSIONS} dimensions; got {rank}"
    if counts != (rank, rank):
        return f"expects {rank} values of shape and of strides, as the block has dimensions; got {counts[0]} and {counts[1]}"
    target = PointerType(view.type("base")).pointee_type
    if _alike(block.element_type, target):
        return None
    return f"expects a block of {target}, what base points to; got {block.element_type}"


def _moves(name: str) -> Constraint:
    """``name`` is the block, whose leading dimensions of size 1 may be left out; one index per dimension."""

    def constraint(view: View) -> str | None:
        block, type_ = _block(view), view.type(name)
        wanted, found = list(block.shape), list(shape(type_) or ())
        indices = len(view.group("indices"))
        if indices != len(wanted):
            return f"expects {len(wanted)} indices, one for each dimension of the block; got {indices}"
        left_out = wanted[: max(len(wanted) - len(found), 0)]
        if left_out + found != wanted or any(n != 1 for n in left_out):
            return f"expects {name} of shape {wanted}, the block's; got {found}"
        return _same_element(block, name, type_)

    return constraint


def _rows(name: str) -> Constraint:
    """``name`` has a row of the block (which has one) for each offset."""

    def constraint(view: View) -> str | None:
        block, type_ = _block(view), view.type(name)
        if len(block.shape) != 2 or block.shape[0] != 1:
            return f"expects a block of one row; got {list(block.shape)}"
        wanted = [*(shape(view.type("x_offsets")) or ()), block.shape[1]]
        if list(shape(type_) or ()) != wanted:
            return f"expects {name} of shape {wanted}; got {type_}"
        return _same_element(block, name, type_)

    return constraint


def _same_element(block: ir.RankedTensorType, name: str, type_: ir.Type) -> str | None:
    found = ir.RankedTensorType(type_).element_type
    wanted = block.element_type
    return (
        None
        if _alike(wanted, found)
        else f"expects {name} of element type {wanted}, the block's; got {found}"
    )


def _alike(x: ir.Type, y: ir.Type) -> bool:
    """True if the types are equal, except that a descriptor may know the signedness of its elements."""
    if isinstance(x, ir.IntegerType) and isinstance(y, ir.IntegerType):
        return x.width == y.width
    return x == y


_INDICES: Sequence[Constraint] = (kind("i32", "indices"), scalar("indices"))
_OFFSETS: Sequence[Constraint] = (
    _descriptor("desc"),
    tensor("x_offsets", rank=1),
    kind("i16 or i32", "x_offsets"),
    kind("i32", "y_offset"),
    scalar("y_offset"),
)

CONSTRAINTS: Mapping[str, Sequence[Constraint]] = {
    "tt.make_tensor_descriptor": (
        kind("pointer", "base"),
        kind("i32", "shape"),
        kind("i64", "strides"),
        scalar("base", "shape", "strides"),
        _descriptor("result"),
        one_of("padding", PaddingOption),
        _made,
    ),
    "tt.descriptor_load": (_descriptor("desc"), *_INDICES, tensor("result"), *CACHE_HINTS, _moves("result")),
    "tt.descriptor_store": (_descriptor("desc"), *_INDICES, tensor("src"), _moves("src")),
    "tt.descriptor_reduce": (
        _descriptor("desc"),
        *_INDICES,
        tensor("src"),
        one_of("kind", DescriptorReduceKind),
        _moves("src"),
    ),
    "tt.descriptor_gather": (*_OFFSETS, tensor("result"), _rows("result")),
    "tt.descriptor_scatter": (*_OFFSETS, tensor("src"), _rows("src")),
}
