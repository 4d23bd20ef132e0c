"""Reductions, scans, dots and counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tri_core.dialects.tt.constraints import regions
from tri_core.dialects.tt.constraints.vocabulary import (
    Constraint,
    View,
    bits,
    boolean,
    element,
    integer,
    is_float,
    kind,
    one_of,
    same_places,
    same_type,
    shape,
    tensor,
)
from tri_core.dialects.tt.enums import InputPrecision, ScaleDotElemType

__all__ = ["CONSTRAINTS"]


def _sources(view: View) -> str | None:
    sources, results = view.types("srcs"), view.types("results_")
    if not sources:
        return "expects at least one operand"
    if len(sources) != len(results):
        return f"expects {len(sources)} results, one for each operand; got {len(results)}"
    return None


def _axis(view: View) -> str | None:
    rank, axis = len(shape(view.types("srcs")[0]) or ()), view.number("axis")
    return None if 0 <= axis < rank else f"expects attribute axis from 0 to {rank - 1}; got {axis}"


def _reduced(view: View) -> str | None:
    axis = view.number("axis")
    for source, result in zip(view.types("srcs"), view.types("results_"), strict=True):
        before = shape(source) or ()
        wanted = (*before[:axis], *before[axis + 1 :]) or None
        if shape(result) != wanted or element(result) != element(source):
            form = f"shape {list(wanted)}" if wanted else "no shape"
            return f"expects a result of {form} and element type {element(source)}; got {result}"
    return None


def _scanned(view: View) -> str | None:
    for source, result in zip(view.types("srcs"), view.types("results_"), strict=True):
        if source != result:
            return f"expects a result of type {source}, its operand's; got {result}"
    return None


def _combines(terminator: str) -> Constraint:
    """The region takes accumulators, then elements, and returns accumulators."""

    def constraint(view: View) -> str | None:
        elements = [element(type_) for type_ in view.types("srcs")]
        return regions.region_signature(view.op, terminator, elements * 2, elements)

    return constraint


def _dot_shapes(view: View) -> str | None:
    a, b, c = (shape(view.type(name)) or () for name in ("a", "b", "c"))
    if len(a) not in (2, 3) or len(b) != len(a):
        return f"expects a and b of rank 2, or of rank 3 with a batch; got {list(a)} and {list(b)}"
    if a[:-2] != b[:-2] or a[-1] != b[-2]:
        return f"expects a of [M, K] and b of [K, N], and equal batches; got {list(a)} and {list(b)}"
    wanted = (*a[:-1], b[-1])
    return None if c == wanted else f"expects c of shape {list(wanted)}; got {list(c)}"


def _dot_elements(view: View) -> str | None:
    a, b = element(view.type("a")), element(view.type("b"))
    if is_float(a) != is_float(b) or bits(a) != bits(b):
        return f"expects a and b to be floats, or integers, of equal width; got {a} and {b}"
    if is_float(element(view.type("c"))) != is_float(a):
        return (
            f"expects c to be {'float' if is_float(a) else 'integer'}, as a and b are; got {view.type('c')}"
        )
    return None


def _scaled_shapes(view: View) -> str | None:
    """Two e2m1 values share a byte: along K where ``k_pack`` says so (the default), else along M or N."""
    a, b, c = (list(shape(view.type(name)) or ()) for name in ("a", "b", "c"))
    if len(a) not in (2, 3) or len(b) != len(a):
        return f"expects a and b of rank 2, or of rank 3 with a batch; got {a} and {b}"
    for operand, format_, pack, (k, other) in (
        (a, "a_elem_type", "lhs_k_pack", (-1, -2)),
        (b, "b_elem_type", "rhs_k_pack", (-2, -1)),
    ):
        if view.number(format_) == ScaleDotElemType.E2M1:
            operand[k if not view.has(pack) or view.number(pack) else other] *= 2
    if a[:-2] != b[:-2] or a[-1] != b[-2]:
        return f"expects a of [M, K] and b of [K, N], and equal batches; unpacked they are {a} and {b}"
    if c != [*a[:-1], b[-1]]:
        return f"expects c of shape {[*a[:-1], b[-1]]}; got {c}"
    return _scales(view, "a_scale", a[-2], a[-1]) or _scales(view, "b_scale", b[-1], a[-1])


def _scales(view: View, name: str, rows: int, k: int) -> str | None:
    """One scale for each row (column of b) and block of 16 or 32 along K."""
    if not view.has(name):
        return None
    found = list(shape(view.type(name)) or ())[-2:]
    if found in ([rows, k // 32], [rows, k // 16]):
        return None
    return f"expects {name} of [{rows}, {k // 32}] (blocks of 32) or [{rows}, {k // 16}] (of 16); got {found}"


_REGION_OP: Sequence[Constraint] = (
    _sources,
    tensor("srcs"),
    same_places("srcs"),
    integer("axis"),
    _axis,
)

CONSTRAINTS: Mapping[str, Sequence[Constraint]] = {
    **regions.CONSTRAINTS,
    "tt.reduce": (*_REGION_OP, _reduced, _combines("tt.reduce_return")),
    "tt.scan": (*_REGION_OP, boolean("reverse"), _scanned, _combines("tt.scan_return")),
    "tt.dot": (
        tensor("a", "b", "c", "result"),
        kind("number", "a", "b", "c"),
        same_type("c", "result"),
        one_of("inputPrecision", InputPrecision),
        integer("maxNumImpreciseAcc", least=0),
        _dot_shapes,
        _dot_elements,
    ),
    "tt.dot_scaled": (
        tensor("a", "b", "c", "a_scale", "b_scale", "result"),
        kind("number", "a", "b", "a_scale", "b_scale"),
        kind("float", "c"),
        same_type("c", "result"),
        one_of("a_elem_type", ScaleDotElemType),
        one_of("b_elem_type", ScaleDotElemType),
        boolean("fastMath", "lhs_k_pack", "rhs_k_pack"),
        _scaled_shapes,
    ),
    "tt.histogram": (
        tensor("src"),
        tensor("result", rank=1),
        kind("integer", "src", "result"),
        kind("i1", "mask"),
        same_places("src", "mask"),
    ),
}
