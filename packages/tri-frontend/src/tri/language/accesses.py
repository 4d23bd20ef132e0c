"""Parts of memory accesses: pointers, masks and values of matching shapes, cache hints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tri.language import types as t
from tri.language.casts import convert, value_of
from tri.language.shapes import stretch
from tri.language.tensor import dimensions, tensor
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.builder import Builder
    from tri_core.mlir import ir

__all__ = [
    "bool_as_byte",
    "check_pointer",
    "load_policies",
    "mask_for",
    "points_to_bool",
    "store_policies",
    "value_for",
]

#: Triton's spellings -> enumerators of tt.CacheModifier and tt.EvictionPolicy
_LOAD_CACHE = {"": 1, ".ca": 2, ".cg": 3, ".cs": 5, ".cv": 7}
_STORE_CACHE = {"": 1, ".wb": 4, ".cg": 3, ".cs": 5, ".wt": 6}
_EVICTION = {"": 1, "evict_normal": 1, "evict_first": 2, "evict_last": 3}


def check_pointer(b: Builder, pointer: Any, verb: str) -> tensor:
    """``pointer`` as a value of pointers; the message says what ``verb`` (``load``, ...) needs."""
    if not isinstance(pointer, tensor) or not pointer.type.scalar.is_ptr():
        got = pointer.type if isinstance(pointer, tensor) else repr(pointer)
        raise CompilationError(
            f"{verb} needs a pointer or a block of pointers, got {got}",
            remedy="pass the pointer, or use it under `if x_ptr is not None:` only"
            if pointer is None
            else "add an offset to a pointer parameter, e.g. tl.load(x_ptr + offsets)",
        )
    element = pointer.type.scalar.element_ty  # type: ignore[attr-defined]  # a pointer has one
    return bool_as_byte(b, pointer) if element.is_bool() else pointer


def bool_as_byte(b: Builder, pointer: tensor) -> tensor:
    """A pointer to int1 as one to the bytes that hold them."""
    scalar = pointer.type.scalar
    assert isinstance(scalar, t.pointer_type)
    byte = t.pointer_type(t.int8, scalar.address_space, scalar.const)
    return tensor(pointer.handle, pointer.type.with_element_ty(byte))


def _fit(b: Builder, pointer: tensor, value: tensor, what: str) -> tensor:
    """``value`` in the shape of ``pointer``."""
    if not dimensions(pointer) and dimensions(value):
        raise CompilationError(
            f"{what} is a block ({value.type}) but the pointer is a scalar",
            remedy="give a block of pointers, e.g. ptr + tl.arange(0, N)",
        )
    wanted, given = dimensions(pointer), dimensions(value)
    fits = len(given) <= len(wanted) and all(
        m in (1, n) for m, n in zip(reversed(given), reversed(wanted), strict=False)
    )
    if not fits:
        raise CompilationError(
            f"{what} is {value.type} but the pointers are {pointer.type}",
            remedy="make both of one shape: of the same offsets, or with a dimension of 1 from x[:, None]",
        )
    return stretch(b, value, wanted)


def mask_for(b: Builder, pointer: tensor, mask: Any) -> tensor:
    """``mask`` as int1 in the shape of ``pointer``."""
    value = value_of(b, mask)
    if not value.type.scalar.is_bool():
        raise CompilationError(
            f"Mask must have boolean scalar type, got {value.type}",
            remedy="compare, e.g. mask=offsets < n or mask=flags != 0",
        )
    return _fit(b, pointer, value, "the mask")


def value_for(b: Builder, pointer: tensor, value: Any, what: str = "the value") -> tensor:
    """``value`` as the pointee in the shape of ``pointer``."""
    scalar = pointer.type.scalar
    assert isinstance(scalar, t.pointer_type)
    shape = dimensions(pointer)
    if not isinstance(value, tensor):
        from tri.language.creation import fill  # only this path needs it

        return fill(b, shape, value, scalar.element_ty)
    return convert(b, _fit(b, pointer, value, what), scalar.element_ty)


def _choice(table: dict[str, int], given: str | None, what: str) -> int:
    given = "" if given is None else given
    if given not in table:
        known = ", ".join(repr(k) for k in table if k)
        raise CompilationError(f"{what} {given!r} is unknown", remedy=f"use one of {known}")
    return table[given]


def _policies(b: Builder, cache: int, evict: int) -> dict[str, ir.Attribute]:
    attributes = {}
    if cache != 1:
        attributes["cache"] = b.i32(cache)
    if evict != 1:
        attributes["evict"] = b.i32(evict)
    return attributes


def load_policies(
    b: Builder, cache_modifier: str | None, eviction_policy: str | None, modifiers: Any = ()
) -> dict[str, ir.Attribute]:
    """The attributes of a load for Triton's spellings of its cache hints, and for ``modifiers`` of plugins."""
    cache = _choice(_LOAD_CACHE, cache_modifier, "cache_modifier")
    policies = _policies(b, cache, _choice(_EVICTION, eviction_policy, "eviction_policy"))
    return {**policies, **_of_plugins(b, modifiers, "load")}


def store_policies(
    b: Builder, cache_modifier: str | None, eviction_policy: str | None, modifiers: Any = ()
) -> dict[str, ir.Attribute]:
    """The attributes of a store for Triton's spellings of its cache hints, and for ``modifiers`` of plugins."""
    cache = _choice(_STORE_CACHE, cache_modifier, "cache_modifier")
    policies = _policies(b, cache, _choice(_EVICTION, eviction_policy, "eviction_policy"))
    return {**policies, **_of_plugins(b, modifiers, "store")}


def _of_plugins(b: Builder, modifiers: Any, access: str) -> Mapping[str, ir.Attribute]:
    if modifiers == ():
        return {}
    from tri.language.hints import modifier_attributes  # only kernels for a plugin's devices have some

    return modifier_attributes(b, modifiers, access)


def points_to_bool(pointer: tensor) -> bool:
    """True if ``pointer`` points to int1, which memory holds as bytes."""
    scalar = pointer.type.scalar
    return isinstance(scalar, t.pointer_type) and scalar.element_ty.is_bool()
