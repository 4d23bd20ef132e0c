"""Loads and stores through pointers and tensors of pointers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tri.language import types as t
from tri.language.accesses import (
    check_pointer,
    load_policies,
    mask_for,
    points_to_bool,
    store_policies,
    value_for,
)
from tri.language.block_pointers import block_pointer, padding, places
from tri.language.builtin import builtin, member
from tri.language.casts import convert
from tri.language.structure import Structure
from tri.language.tensor import tensor
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = ["load", "store"]


def _block_access(
    b: Builder, pointer: Structure, mask: Any, other: Any, boundary_check: Any, padding_option: str, verb: str
) -> tuple[tensor, tensor | None, tensor | None]:
    """Pointers, mask and other value of an access through a block pointer."""
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
    modifiers: Any = (),
    _semantic: Builder,
) -> tensor:
    """The values at ``pointer``, in its shape and the pointee's dtype; where ``mask`` is false memory is not touched and ``other`` is given.

    ``mask`` (int1) and ``other`` are broadcast to the pointers' shape, ``other`` is converted to the pointee; without it the
    values there are undefined.  A block pointer takes instead ``boundary_check``, the dimensions along which the block may leave the
    tensor, and ``padding_option`` (``"zero"`` or ``"nan"``) for what is outside.  ``modifiers``: one that a plugin declares
    (``tl.extra.acme.cache("stream")``), or a tuple of them.  CompilationError for no pointer, a mask that
    is not int1, shapes that do not broadcast, ``other`` without a mask, and hints that are unknown.
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
    attributes = load_policies(b, cache_modifier, eviction_policy, modifiers)
    if volatile:
        attributes["isVolatile"] = b.boolean(True)
    attributes["operandSegmentSizes"] = b.segments(1, mask is not None, other is not None)
    loaded = b.value(
        "tt.load", place.type.with_element_ty(scalar.element_ty), *arguments, attributes=attributes
    )
    return convert(b, loaded, t.int1) if is_bool else loaded


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
    modifiers: Any = (),
    _semantic: Builder,
) -> None:
    """Write ``value`` to ``pointer`` where ``mask`` (int1) is true; both are broadcast to its shape, the value is converted to the pointee.

    A block pointer takes ``boundary_check`` instead: the dimensions along which the block may leave the tensor.
    ``modifiers``: one that a plugin declares, or a tuple of them.  CompilationError for no pointer, a constant one, a mask that is not int1, and shapes that do not broadcast.
    """
    b = _semantic
    if isinstance(pointer, Structure):
        pointer, mask, _ = _block_access(b, pointer, mask, None, boundary_check, padding_option, "store")
    elif boundary_check or padding_option:
        raise _no_block_pointer(pointer)
    if isinstance(pointer, tensor) and pointer.type.scalar.is_const():
        raise CompilationError(
            "Cannot store to a constant pointer", remedy="drop tl.const from the parameter"
        )
    is_bool = isinstance(pointer, tensor) and points_to_bool(pointer)
    place = check_pointer(b, pointer, "store")
    if is_bool and isinstance(value, tensor):
        value = convert(b, value, t.int1)
    arguments = [place, value_for(b, place, value)]
    if mask is not None:
        arguments.append(mask_for(b, place, mask))
    attributes = store_policies(b, cache_modifier, eviction_policy, modifiers)
    attributes["operandSegmentSizes"] = b.segments(1, 1, mask is not None)
    b.create("tt.store", operands=arguments, attributes=attributes)


# a method of pointers, as `member` makes it one of tensors
block_pointer.store = store
