"""Atomic operations on memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tri.language import types as t
from tri.language.arithmetic import BINARY, compare, logical_not
from tri.language.builtin import builtin, member
from tri.language.casts import bitcast, convert
from tri.language.memory import check_pointer, mask_for, value_for
from tri.language.tensor import tensor
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = [
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_xchg",
    "atomic_xor",
]

_ORDERS = {"relaxed": 1, "acquire": 2, "release": 3, "acq_rel": 4}
_SCOPES = {"gpu": 1, "cta": 2, "sys": 3}
#: operation -> enumerators of tt.AtomicOp for floats, signed and unsigned integers; 0 where there is none
_OPS: dict[str, tuple[int, int, int]] = {
    "and": (0, 1, 1),
    "or": (0, 2, 2),
    "xor": (0, 3, 3),
    "add": (5, 4, 4),
    "max": (-1, 6, 8),
    "min": (-1, 7, 9),
    "xchg": (10, 10, 10),
}
_UMAX, _UMIN = 8, 9


def _enumerator(table: dict[str, int], given: str | None, default: str, what: str) -> int:
    name = default if given is None else given
    if name not in table:
        raise CompilationError(
            f"{what} {name!r} is unknown", remedy=f"use one of {', '.join(map(repr, table))}"
        )
    return table[name]


def _place(b: Builder, pointer: Any, name: str) -> tuple[tensor, t.dtype]:
    """The pointers and their element type, which the operation must be able to change."""
    place = check_pointer(b, pointer, name)
    scalar = place.type.scalar
    assert isinstance(scalar, t.pointer_type)
    if scalar.const:
        raise CompilationError(f"{name} through a pointer to constant memory")
    element = scalar.element_ty
    narrow = element.primitive_bitwidth < 32
    if (narrow and not (name == "atomic_add" and element in (t.float16, t.bfloat16))) or element.is_ptr():
        raise CompilationError(
            f"{name} does not work on {element}",
            remedy="use 32- or 64-bit elements" + (", or fp16 and bf16" if name == "atomic_add" else ""),
        )
    return place, element


def _rmw(
    b: Builder, op: int, pointer: tensor, value: tensor, mask: tensor | None, order: int, scope: int
) -> tensor:
    arguments = [pointer, value] if mask is None else [pointer, value, mask]
    attributes = {"atomic_rmw_op": b.i32(op), "sem": b.i32(order), "scope": b.i32(scope)}
    attributes["operandSegmentSizes"] = b.segments(1, 1, mask is not None)
    return b.value("tt.atomic_rmw", value.type, *arguments, attributes=attributes)


def _atomic(
    b: Builder, name: str, pointer: Any, val: Any, mask: Any, sem: str | None, scope: str | None
) -> tensor:
    place, element = _place(b, pointer, f"atomic_{name}")
    value = value_for(b, place, val)
    condition = mask_for(b, place, mask) if mask is not None else None
    order = _enumerator(_ORDERS, sem, "acq_rel", "memory order")
    where = _enumerator(_SCOPES, scope, "gpu", "scope")
    op = _OPS[name][0 if element.is_floating() else 1 if element.is_int_signed() else 2]
    if op == 0:
        raise CompilationError(f"atomic_{name} does not work on {element}", remedy="use integers")
    if op < 0:
        return _float_extremum(b, name, place, value, condition, order, where)
    return _rmw(b, op, place, value, condition, order, where)


def _float_extremum(
    b: Builder, name: str, place: tensor, value: tensor, mask: tensor | None, order: int, scope: int
) -> tensor:
    """Maximum or minimum of floats through integers: their bits order as signed where positive, reversed below."""
    bits = value.dtype.primitive_bitwidth
    integer, unsigned = t.dtype(f"int{bits}"), t.dtype(f"uint{bits}")
    as_integer = bitcast(b, value, integer)
    pointer = convert(b, place, t.pointer_type(integer))
    sign = BINARY[">>"](b, bitcast(b, value, unsigned), bits - 1)
    negative = compare(b, "!=", sign, 0)
    positive = logical_not(b, negative)
    above, below = (6, _UMIN) if name == "max" else (7, _UMAX)
    masks = [m if mask is None else BINARY["&"](b, mask, m) for m in (positive, negative)]
    up = _rmw(b, above, pointer, as_integer, masks[0], order, scope)
    down = _rmw(b, below, pointer, as_integer, masks[1], order, scope)
    return bitcast(b, b.value("arith.select", up.type, positive, up, down), value.dtype)


@member
@builtin
def atomic_add(
    pointer: Any,
    val: Any,
    mask: Any = None,
    sem: str | None = None,
    scope: str | None = None,
    *,
    _semantic: Builder,
) -> tensor:
    """Add ``val`` at ``pointer`` where ``mask``; the old values.  fp16 and bf16 too."""
    return _atomic(_semantic, "add", pointer, val, mask, sem, scope)


@member
@builtin
def atomic_max(
    pointer: Any,
    val: Any,
    mask: Any = None,
    sem: str | None = None,
    scope: str | None = None,
    *,
    _semantic: Builder,
) -> tensor:
    """The maximum with ``val`` at ``pointer`` where ``mask``; the old values."""
    return _atomic(_semantic, "max", pointer, val, mask, sem, scope)


@member
@builtin
def atomic_min(
    pointer: Any,
    val: Any,
    mask: Any = None,
    sem: str | None = None,
    scope: str | None = None,
    *,
    _semantic: Builder,
) -> tensor:
    """The minimum with ``val`` at ``pointer`` where ``mask``; the old values."""
    return _atomic(_semantic, "min", pointer, val, mask, sem, scope)


@member
@builtin
def atomic_and(
    pointer: Any,
    val: Any,
    mask: Any = None,
    sem: str | None = None,
    scope: str | None = None,
    *,
    _semantic: Builder,
) -> tensor:
    """Bitwise and with ``val`` at ``pointer`` where ``mask``; the old values."""
    return _atomic(_semantic, "and", pointer, val, mask, sem, scope)


@member
@builtin
def atomic_or(
    pointer: Any,
    val: Any,
    mask: Any = None,
    sem: str | None = None,
    scope: str | None = None,
    *,
    _semantic: Builder,
) -> tensor:
    """Bitwise or with ``val`` at ``pointer`` where ``mask``; the old values."""
    return _atomic(_semantic, "or", pointer, val, mask, sem, scope)


@member
@builtin
def atomic_xor(
    pointer: Any,
    val: Any,
    mask: Any = None,
    sem: str | None = None,
    scope: str | None = None,
    *,
    _semantic: Builder,
) -> tensor:
    """Bitwise exclusive or with ``val`` at ``pointer`` where ``mask``; the old values."""
    return _atomic(_semantic, "xor", pointer, val, mask, sem, scope)


@member
@builtin
def atomic_xchg(
    pointer: Any,
    val: Any,
    mask: Any = None,
    sem: str | None = None,
    scope: str | None = None,
    *,
    _semantic: Builder,
) -> tensor:
    """Put ``val`` at ``pointer`` where ``mask``; the old values."""
    return _atomic(_semantic, "xchg", pointer, val, mask, sem, scope)


@member
@builtin
def atomic_cas(
    pointer: Any, cmp: Any, val: Any, sem: str | None = None, scope: str | None = None, *, _semantic: Builder
) -> tensor:
    """Put ``val`` at ``pointer`` where it holds ``cmp``; the old values."""
    b = _semantic
    place = check_pointer(b, pointer, "atomic_cas")
    scalar = place.type.scalar
    assert isinstance(scalar, t.pointer_type)
    if scalar.element_ty.primitive_bitwidth not in (16, 32, 64):
        raise CompilationError(
            f"atomic_cas does not work on {scalar.element_ty}", remedy="use 16-, 32- or 64-bit elements"
        )
    expected, value = value_for(b, place, cmp), value_for(b, place, val)
    attributes = {
        "sem": b.i32(_enumerator(_ORDERS, sem, "acq_rel", "memory order")),
        "scope": b.i32(_enumerator(_SCOPES, scope, "gpu", "scope")),
    }
    return b.value("tt.atomic_cas", value.type, place, expected, value, attributes=attributes)
