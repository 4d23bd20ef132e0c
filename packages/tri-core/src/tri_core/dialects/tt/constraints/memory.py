"""Loads, stores, atomics, and what helps to find mistakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tri_core.dialects.tt.constraints.vocabulary import (
    Constraint,
    View,
    boolean,
    element,
    i32_array,
    is_float,
    is_integer,
    kind,
    one_of,
    pointee,
    same_places,
    scalar,
)
from tri_core.dialects.tt.enums import AtomicOp, CacheModifier, EvictionPolicy, MemSemantic, MemSyncScope

__all__ = ["CACHE_HINTS", "CONSTRAINTS"]

CACHE_HINTS: Sequence[Constraint] = (one_of("cache", CacheModifier), one_of("evict", EvictionPolicy))


def _other_has_mask(view: View) -> str | None:
    return "expects mask where other is given" if view.has("other") and not view.has("mask") else None


def _operation_fits(view: View) -> str | None:
    operation, type_ = AtomicOp(view.number("atomic_rmw_op")), element(view.type("val"))
    if operation is AtomicOp.XCHG:
        return None
    fits, wanted = (is_float, "float") if operation is AtomicOp.FADD else (is_integer, "integer")
    return None if fits(type_) else f"expects val to be {wanted} for {operation.name}; got {type_}"


def _is_signed_for_each(view: View) -> str | None:
    given, wanted = len(view.numbers("isSigned")), len(view.group("args"))
    return None if given == wanted else f"expects attribute isSigned to have {wanted} values; got {given}"


_MASK: Sequence[Constraint] = (kind("i1", "mask"), same_places("ptr", "mask"))
_POINTER: Constraint = kind("pointer", "ptr")
_ORDER: Sequence[Constraint] = (one_of("sem", MemSemantic), one_of("scope", MemSyncScope))
_READ_ORDER: Sequence[Constraint] = (
    one_of("sem", MemSemantic, (MemSemantic.RELAXED, MemSemantic.ACQUIRE)),
    one_of("scope", MemSyncScope),
)
_WRITE_ORDER: Sequence[Constraint] = (
    one_of("sem", MemSemantic, (MemSemantic.RELAXED, MemSemantic.RELEASE)),
    one_of("scope", MemSyncScope),
)

CONSTRAINTS: Mapping[str, Sequence[Constraint]] = {
    "tt.load": (
        _POINTER,
        pointee("ptr", "result", "other"),
        *_MASK,
        _other_has_mask,
        boolean("isVolatile"),
        *CACHE_HINTS,
    ),
    "tt.store": (_POINTER, pointee("ptr", "value"), *_MASK, *CACHE_HINTS),
    "tt.atomic_rmw": (
        _POINTER,
        pointee("ptr", "val", "result"),
        *_MASK,
        *_ORDER,
        one_of("atomic_rmw_op", AtomicOp),
        _operation_fits,
    ),
    "tt.atomic_cas": (_POINTER, pointee("ptr", "cmp", "val", "result"), *_ORDER),
    "tt.atomic_load": (_POINTER, pointee("ptr", "result"), *_MASK, *_READ_ORDER),
    "tt.atomic_store": (_POINTER, pointee("ptr", "val"), *_MASK, *_WRITE_ORDER),
    "tt.atomic_poll": (
        _POINTER,
        kind("integer", "expected"),
        pointee("ptr", "expected"),
        kind("i1", "result"),
        same_places("ptr", "result"),
        kind("i64", "timeout_ns"),
        scalar("timeout_ns"),
        *_READ_ORDER,
    ),
    "tt.print": (kind("value", "args"), boolean("hex"), i32_array("isSigned"), _is_signed_for_each),
    "tt.assert": (kind("i1", "condition"),),
}
