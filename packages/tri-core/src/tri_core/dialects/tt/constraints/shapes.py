"""Ops that make, move and rearrange values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tri_core.dialects.tt.constraints.vocabulary import (
    Constraint,
    View,
    i32_array,
    integer,
    kind,
    same_element,
    same_type,
    scalar,
    shape,
    size,
    tensor,
)

__all__ = ["CONSTRAINTS"]


def _shape(view: View, name: str) -> tuple[int, ...]:
    return shape(view.type(name)) or ()


def _has_shape(view: View, name: str, wanted: Sequence[int]) -> str | None:
    found = _shape(view, name)
    return None if found == tuple(wanted) else f"expects {name} of shape {list(wanted)}; got {list(found)}"


def _range(view: View) -> str | None:
    start, end = view.number("start"), view.number("end")
    length = end - start
    if length <= 0:
        return f"expects attribute end to be more than start; got {start} and {end}"
    if length & (length - 1):
        return f"expects the length of a range to be a power of two; got {length}"
    return _has_shape(view, "result", [length])


def _one_element(view: View) -> str | None:
    count = size(view.type("src"))
    return None if count == 1 else f"expects src to have one element; got {count}"


def _expand_dims(view: View) -> str | None:
    source, axis = list(_shape(view, "src")), view.number("axis")
    if not 0 <= axis <= len(source):
        return f"expects attribute axis from 0 to {len(source)}; got {axis}"
    return _has_shape(view, "result", [*source[:axis], 1, *source[axis:]])


def _broadcast(view: View) -> str | None:
    source, result = _shape(view, "src"), _shape(view, "result")
    if len(source) != len(result):
        return f"expects result of rank {len(source)}, the rank of src; got {list(result)}"
    if any(s not in (1, r) for s, r in zip(source, result, strict=True)):
        return f"expects to stretch dimensions of size 1 only; got {list(source)} to {list(result)}"
    return None


def _reshape(view: View) -> str | None:
    before, after = size(view.type("src")), size(view.type("result"))
    return None if before == after else f"expects result to have the {before} elements of src; got {after}"


def _trans(view: View) -> str | None:
    source, order = _shape(view, "src"), view.numbers("order")
    if sorted(order) != list(range(len(source))):
        return f"expects attribute order to be a permutation of 0 to {len(source) - 1}; got {order}"
    return _has_shape(view, "result", [source[i] for i in order])


def _cat(view: View) -> str | None:
    first, *rest = _shape(view, "lhs")
    return _has_shape(view, "result", [2 * first, *rest])


def _join(view: View) -> str | None:
    return _has_shape(view, "result", [*_shape(view, "lhs"), 2])


def _split(view: View) -> str | None:
    source = _shape(view, "src")
    if source[-1:] != (2,):
        return f"expects src to have a last dimension of size 2; got {list(source)}"
    return _has_shape(view, "out_lhs", source[:-1])


def _gather(view: View) -> str | None:
    source, indices, axis = _shape(view, "src"), _shape(view, "indices"), view.number("axis")
    if len(source) != len(indices):
        return f"expects indices of rank {len(source)}, the rank of src; got {list(indices)}"
    if not 0 <= axis < len(source):
        return f"expects attribute axis from 0 to {len(source) - 1}; got {axis}"
    if any(i > s for d, (s, i) in enumerate(zip(source, indices, strict=True)) if d != axis):
        return f"expects indices within src but for axis {axis}; got {list(indices)} for {list(source)}"
    return _has_shape(view, "result", indices)


_TENSORS: Constraint = tensor("src", "result")
_ELEMENTS: Constraint = same_element("src", "result")

CONSTRAINTS: Mapping[str, Sequence[Constraint]] = {
    "tt.make_range": (
        integer("start"),
        integer("end"),
        kind("i32", "result"),
        tensor("result", rank=1),
        _range,
    ),
    "tt.splat": (kind("value", "src"), scalar("src"), tensor("result"), _ELEMENTS),
    "tt.unsplat": (tensor("src"), scalar("result"), _ELEMENTS, _one_element),
    "tt.expand_dims": (_TENSORS, _ELEMENTS, integer("axis"), _expand_dims),
    "tt.broadcast": (_TENSORS, _ELEMENTS, _broadcast),
    "tt.reshape": (_TENSORS, _ELEMENTS, _reshape),
    "tt.trans": (_TENSORS, _ELEMENTS, i32_array("order"), _trans),
    "tt.cat": (tensor("lhs", "rhs", "result"), same_type("lhs", "rhs"), same_element("lhs", "result"), _cat),
    "tt.join": (
        tensor("lhs", "rhs", "result"),
        same_type("lhs", "rhs"),
        same_element("lhs", "result"),
        _join,
    ),
    "tt.split": (
        tensor("src", "out_lhs", "out_rhs"),
        same_type("out_lhs", "out_rhs"),
        same_element("src", "out_lhs"),
        _split,
    ),
    "tt.gather": (
        tensor("src", "indices", "result"),
        kind("integer", "indices"),
        integer("axis"),
        _ELEMENTS,
        _gather,
    ),
}
