"""Loads and stores through pointers and tensors of pointers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tri.language import types as t
from tri.language.builtin import builtin, member
from tri.language.casts import convert, value_of
from tri.language.shapes import stretch
from tri.language.structure import Structure
from tri.language.tensor import dimensions, tensor
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.builder import Builder
    from tri_core.mlir import ir

__all__ = [
    "check_pointer",
    "load",
    "load_policies",
    "mask_for",
    "points_to_bool",
    "store",
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
            remedy="add an offset to a pointer parameter, e.g. tl.load(x_ptr + offsets)",
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
    if not value.type.scalar.is_int():
        raise CompilationError(f"a mask is int1, got {value.type}", remedy="compare, e.g. mask=offsets < n")
    return _fit(b, pointer, convert(b, value, t.int1), "the mask")


def value_for(b: Builder, pointer: tensor, value: Any, what: str = "the value") -> tensor:
    """``value`` as the pointee in the shape of ``pointer``."""
    scalar = pointer.type.scalar
    assert isinstance(scalar, t.pointer_type)
    shape = dimensions(pointer)
    if not isinstance(value, tensor):
        from tri.language.creation import fill  # creation and memory are peers; only this path needs it

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
    b: Builder, cache_modifier: str | None, eviction_policy: str | None
) -> dict[str, ir.Attribute]:
    """The attributes of a load for Triton's spellings of its cache hints."""
    cache = _choice(_LOAD_CACHE, cache_modifier, "cache_modifier")
    return _policies(b, cache, _choice(_EVICTION, eviction_policy, "eviction_policy"))


def store_policies(
    b: Builder, cache_modifier: str | None, eviction_policy: str | None
) -> dict[str, ir.Attribute]:
    """The attributes of a store for Triton's spellings of its cache hints."""
    cache = _choice(_STORE_CACHE, cache_modifier, "cache_modifier")
    return _policies(b, cache, _choice(_EVICTION, eviction_policy, "eviction_policy"))


def _block_access(
    b: Builder, pointer: Structure, mask: Any, other: Any, boundary_check: Any, padding_option: str, verb: str
) -> tuple[tensor, tensor | None, tensor | None]:
    """Pointers, mask and other value of an access through a block pointer."""
    from tri.language.block_pointers import block_pointer, padding, places  # made of loads' parts

    if not isinstance(pointer, block_pointer):
        raise CompilationError(
            f"{verb} needs a pointer or a block of pointers, got {pointer!r}",
            remedy=f"use its method, e.g. desc.{verb}(offsets{', value' if verb == 'store' else ''})",
        )
    if mask is not None or other is not None:
        raise CompilationError(
            f"{verb} through a block pointer takes no mask= or other=",
            remedy="use boundary_check= and padding_option=",
        )
    pointers, inside = places(b, pointer, boundary_check)
    other = padding(b, pointer, padding_option) if inside is not None else None
    return pointers, inside, other if verb == "load" else None


def _no_block_pointer(pointer: Any) -> CompilationError:
    got = pointer.type if isinstance(pointer, tensor) else repr(pointer)
    return CompilationError(
        f"boundary_check and padding_option are for block pointers, got {got}",
        remedy="use mask= and other=, or make the pointer with tl.make_block_ptr",
    )


@builtin
def load(
    pointer: Any,
    mask: Any = None,
    other: Any = None,
    boundary_check: Any = (),
    padding_option: str = "",
    *,
    cache_modifier: str | None = "",
    eviction_policy: str | None = "",
    volatile: bool = False,
    _semantic: Builder,
) -> tensor:
    """The values at ``pointer``; where ``mask`` is false memory is not touched and ``other`` is given.

    ``mask`` and ``other`` are broadcast to the pointers' shape, ``other`` is converted to the pointee.  A block
    pointer takes instead ``boundary_check``, the dimensions along which the block may leave the tensor, and
    ``padding_option`` (``"zero"`` or ``"nan"``) for what is outside.
    """
    b = _semantic
    if isinstance(pointer, Structure):
        pointer, mask, other = _block_access(b, pointer, mask, other, boundary_check, padding_option, "load")
    elif boundary_check or padding_option:
        raise _no_block_pointer(pointer)
    if other is not None and mask is None:
        raise CompilationError("load has other= but no mask=", remedy="give the mask that other= is for")
    is_bool = isinstance(pointer, tensor) and points_to_bool(pointer)
    place = check_pointer(b, pointer, "load")
    scalar = place.type.scalar
    assert isinstance(scalar, t.pointer_type)
    arguments = [place]
    if mask is not None:
        arguments.append(mask_for(b, place, mask))
    if other is not None:
        arguments.append(value_for(b, place, other, "other"))
    attributes = load_policies(b, cache_modifier, eviction_policy)
    if volatile:
        attributes["isVolatile"] = b.boolean(True)
    attributes["operandSegmentSizes"] = b.segments(1, mask is not None, other is not None)
    loaded = b.value(
        "tt.load", place.type.with_element_ty(scalar.element_ty), *arguments, attributes=attributes
    )
    return convert(b, loaded, t.int1) if is_bool else loaded


def points_to_bool(pointer: tensor) -> bool:
    """Whether ``pointer`` points to int1, which memory holds as bytes."""
    scalar = pointer.type.scalar
    return isinstance(scalar, t.pointer_type) and scalar.element_ty.is_bool()


@member
@builtin
def store(
    pointer: Any,
    value: Any,
    mask: Any = None,
    boundary_check: Any = (),
    padding_option: str = "",
    *,
    cache_modifier: str | None = "",
    eviction_policy: str | None = "",
    _semantic: Builder,
) -> None:
    """Write ``value`` to ``pointer`` where ``mask`` is true; it is broadcast and converted to the pointee.

    A block pointer takes ``boundary_check`` instead: the dimensions along which the block may leave the tensor.
    """
    b = _semantic
    if isinstance(pointer, Structure):
        pointer, mask, _ = _block_access(b, pointer, mask, None, boundary_check, padding_option, "store")
    elif boundary_check or padding_option:
        raise _no_block_pointer(pointer)
    if isinstance(pointer, tensor) and pointer.type.scalar.is_const():
        raise CompilationError(
            "store through a pointer to constant memory", remedy="drop tl.const from the parameter"
        )
    is_bool = isinstance(pointer, tensor) and points_to_bool(pointer)
    place = check_pointer(b, pointer, "store")
    if is_bool and isinstance(value, tensor):
        value = convert(b, value, t.int1)
    arguments = [place, value_for(b, place, value)]
    if mask is not None:
        arguments.append(mask_for(b, place, mask))
    attributes = store_policies(b, cache_modifier, eviction_policy)
    attributes["operandSegmentSizes"] = b.segments(1, 1, mask is not None)
    b.create("tt.store", operands=arguments, attributes=attributes)
