"""Casts, arithmetic and code applied to one element (or a few) at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tri_core.dialects.tt.constraints.regions import region_signature
from tri_core.dialects.tt.constraints.vocabulary import (
    Constraint,
    View,
    bits,
    boolean,
    element,
    integer,
    kind,
    one_of,
    same_places,
    same_type,
    shape,
    size,
    tensor,
)
from tri_core.dialects.tt.dialect import PointerType
from tri_core.dialects.tt.enums import PropagateNan, RoundingMode

__all__ = ["CONSTRAINTS"]


def _same_width(view: View) -> str | None:
    source, result = element(view.type("src")), element(view.type("result"))
    pointers = isinstance(source, PointerType), isinstance(result, PointerType)
    if pointers[0] != pointers[1]:
        return f"expects two pointers or none; got {source} and {result}: use tt.int_to_ptr or tt.ptr_to_int"
    if bits(source) != bits(result):
        return f"expects result to have the {bits(source)} bits of {source}; got {result}"
    return None


def _rounding(view: View) -> str | None:
    narrower = (bits(element(view.type("result"))) or 0) < (bits(element(view.type("src"))) or 0)
    if narrower and not view.has("rounding"):
        return f"expects attribute rounding for a cast to fewer bits, {view.type('src')} to {view.type('result')}"
    return None


def _pointer_result(view: View) -> str | None:
    pointer, result = view.type("ptr"), view.type("result")
    return None if pointer == result else f"expects result to be {pointer}, the type of ptr; got {result}"


def _tensors_at_the_same_places(operands: str, results: str) -> Constraint:
    """Tensors among the operands are like the results; scalars go with any."""

    def constraint(view: View) -> str | None:
        tensors = [t for t in view.types(operands) if shape(t) is not None]
        outcomes = view.types(results)
        for type_ in [*tensors, *outcomes[1:]]:
            like = outcomes[0]
            if shape(type_) != shape(like) or getattr(type_, "encoding", None) != getattr(
                like, "encoding", None
            ):
                return f"expects tensors of the shape and encoding of {like}; got {type_}"
        return None

    return constraint


def _has_results(view: View) -> str | None:
    return None if view.group("results_") else "expects at least one result"


def _packs(attribute: str) -> Constraint:
    """``attribute`` elements at a time come out even."""

    def constraint(view: View) -> str | None:
        count, total = view.number(attribute), size(view.type("results_"))
        if shape(view.type("results_")) is not None and total % count:
            return f"expects attribute {attribute} to divide {total} elements; got {count}"
        return None

    return constraint


def _map_region(view: View) -> str | None:
    pack = view.number("pack")
    arguments = [element(t) for t in view.types("srcs") for _ in range(pack)]
    results = [element(t) for t in view.types("results_") for _ in range(pack)]
    return region_signature(view.op, "tt.map_elementwise_return", arguments, results)


_FLOATS: Sequence[Constraint] = (kind("float", "x", "y", "result"), same_type("x", "y", "result"))

CONSTRAINTS: Mapping[str, Sequence[Constraint]] = {
    "tt.int_to_ptr": (kind("i64", "src"), kind("pointer", "result"), same_places("src", "result")),
    "tt.ptr_to_int": (kind("pointer", "src"), kind("i64", "result"), same_places("src", "result")),
    "tt.bitcast": (kind("value", "src", "result"), same_places("src", "result"), _same_width),
    "tt.fp_to_fp": (
        kind("float", "src", "result"),
        same_places("src", "result"),
        one_of("rounding", RoundingMode),
        _rounding,
    ),
    "tt.precise_sqrt": (kind("float", "x"), same_type("x", "result")),
    "tt.precise_divf": _FLOATS,
    "tt.approx_divf": (kind("f32", "x", "y", "result"), same_type("x", "y", "result")),
    "tt.mulhiui": (kind("integer", "x", "y", "result"), same_type("x", "y", "result")),
    "tt.clampf": (
        kind("float", "x", "min", "max"),
        same_type("x", "min", "max", "result"),
        one_of("propagateNan", PropagateNan),
    ),
    "tt.addptr": (
        kind("pointer", "ptr"),
        kind("integer", "offset"),
        _pointer_result,
        same_places("ptr", "offset"),
    ),
    "tt.extern_elementwise": (
        kind("value", "srcs", "result"),
        boolean("pure"),
        _tensors_at_the_same_places("srcs", "result"),
    ),
    "tt.elementwise_inline_asm": (
        _has_results,
        kind("value", "args", "results_"),
        boolean("pure"),
        integer("packed_element", least=1),
        _tensors_at_the_same_places("args", "results_"),
        _packs("packed_element"),
    ),
    "tt.map_elementwise": (
        _has_results,
        tensor("srcs", "results_"),
        integer("pack", least=1),
        _tensors_at_the_same_places("srcs", "results_"),
        _packs("pack"),
        _map_region,
    ),
}
