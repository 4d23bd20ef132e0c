"""Atomic operations on memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tri.language import types as t
from tri.language.accesses import check_pointer, mask_for, points_to_bool, value_for
from tri.language.arithmetic import BINARY, compare, logical_not
from tri.language.builtin import builtin, member
from tri.language.casts import bitcast, convert, value_of
from tri.language.tensor import tensor
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.builder import Builder
    from tri_core.mlir import ir

__all__ = [
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_load",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_poll",
    "atomic_store",
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
        raise CompilationError(f"{name}: Cannot store to a constant pointer")
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


_RESULT = """
``pointer``: one or a block of them; ``val`` and ``mask`` (int1) are broadcast to its shape, ``val`` is converted to the
pointee.  The result has its shape and dtype, and is undefined where ``mask`` is false.  ``sem``: ``"relaxed"``, ``"acquire"``,
``"release"`` or ``"acq_rel"`` (default); ``scope``: ``"cta"``, ``"gpu"`` (default) or ``"sys"``.
CompilationError for other elements, a constant pointer, shapes that do not broadcast, and another ``sem`` or ``scope``.
"""


def _changing(name: str, what: str) -> Callable[..., tensor]:
    """The function ``tl.atomic_<name>``, which does ``what`` to memory and gives what was there before."""

    def atomic(
        pointer: Any,
        val: Any,
        mask: Any = None,
        sem: str | None = None,
        scope: str | None = None,
        *,
        _semantic: Builder,
    ) -> tensor:
        return _atomic(_semantic, name, pointer, val, mask, sem, scope)

    atomic.__name__ = atomic.__qualname__ = f"atomic_{name}"
    atomic.__doc__ = f"{what}\n{_RESULT}"
    return member(builtin(atomic))


atomic_add = _changing(
    "add",
    "Add ``val`` at ``pointer`` where ``mask``; the old values.  Elements are of 32 or 64 bits, fp16 or bf16.",
)
atomic_max = _changing(
    "max",
    "Put the larger of ``val`` and what is there at ``pointer`` where ``mask``; the old values.  Numbers of 32 or 64 bits.",
)
atomic_min = _changing(
    "min",
    "Put the smaller of ``val`` and what is there at ``pointer`` where ``mask``; the old values.  Numbers of 32 or 64 bits.",
)
atomic_and = _changing(
    "and",
    "Bitwise and with ``val`` at ``pointer`` where ``mask``; the old values.  Integers of 32 or 64 bits.",
)
atomic_or = _changing(
    "or", "Bitwise or with ``val`` at ``pointer`` where ``mask``; the old values.  Integers of 32 or 64 bits."
)
atomic_xor = _changing(
    "xor",
    "Bitwise exclusive or with ``val`` at ``pointer`` where ``mask``; the old values.  Integers of 32 or 64 bits.",
)
atomic_xchg = _changing(
    "xchg",
    "Put ``val`` at ``pointer`` where ``mask``; the old values.  Elements are numbers of 32 or 64 bits.",
)


@member
@builtin
def atomic_cas(
    pointer: Any, cmp: Any, val: Any, sem: str | None = None, scope: str | None = None, *, _semantic: Builder
) -> tensor:
    """Put ``val`` at ``pointer`` where it holds ``cmp``; the old values, of the pointer's shape and its pointee's dtype.

    Elements are numbers of 16, 32 or 64 bits; ``cmp`` and ``val`` are broadcast to the pointer's shape and converted to them.
    ``sem`` and ``scope``: as of :func:`atomic_add`.  CompilationError for other elements, a constant pointer and shapes that do
    not broadcast.
    """
    b = _semantic
    place = check_pointer(b, pointer, "atomic_cas")
    _check_width(place, "atomic_cas", (16, 32, 64))
    if _element(place, "atomic_cas", writes=True).is_ptr():
        raise CompilationError("atomic_cas does not work on pointers", remedy="use 64-bit integers")
    expected, value = value_for(b, place, cmp), value_for(b, place, val)
    attributes = _order_and_scope(b, sem, scope, "acq_rel", tuple(_ORDERS))
    return b.value("tt.atomic_cas", value.type, place, expected, value, attributes=attributes)


# --- loads, stores, waiting -----------------------------------------------------------------------------


def _element(place: tensor, name: str, *, writes: bool) -> t.dtype:
    scalar = place.type.scalar
    assert isinstance(scalar, t.pointer_type)
    if writes and scalar.const:
        raise CompilationError(
            f"{name}: Cannot store to a constant pointer", remedy="drop tl.const from the parameter"
        )
    return scalar.element_ty


def _check_width(place: tensor, name: str, widths: tuple[int, ...]) -> None:
    element = _element(place, name, writes=False)
    if element.primitive_bitwidth not in widths:
        known = ", ".join(map(str, widths))
        raise CompilationError(f"{name} does not work on {element}", remedy=f"use elements of {known} bits")


def _order_and_scope(
    b: Builder, sem: str | None, scope: str | None, default: str, orders: tuple[str, ...]
) -> dict[str, ir.Attribute]:
    table = {name: _ORDERS[name] for name in orders}
    return {
        "sem": b.i32(_enumerator(table, sem, default, "memory order")),
        "scope": b.i32(_enumerator(_SCOPES, scope, "gpu", "scope")),
    }


@member
@builtin
def atomic_load(
    pointer: Any, mask: Any = None, sem: str | None = None, scope: str | None = None, *, _semantic: Builder
) -> tensor:
    """The values at ``pointer`` where ``mask`` (int1, broadcast to its shape; elsewhere undefined), in its shape and pointee's dtype.

    ``sem``: ``"acquire"`` (default) or ``"relaxed"``; ``scope``: as of :func:`atomic_add`.  CompilationError for pointers as elements,
    and for another ``sem`` or ``scope``.
    """
    b = _semantic
    is_bool = isinstance(pointer, tensor) and points_to_bool(pointer)
    place = check_pointer(b, pointer, "atomic_load")
    element = _element(place, "atomic_load", writes=False)
    if element.is_ptr():
        raise CompilationError("atomic_load does not work on pointers", remedy="use 64-bit integers")
    attributes = _order_and_scope(b, sem, scope, "acquire", ("acquire", "relaxed"))
    attributes["operandSegmentSizes"] = b.segments(1, mask is not None)
    arguments = [place] if mask is None else [place, mask_for(b, place, mask)]
    loaded = b.value("tt.atomic_load", place.type.with_element_ty(element), *arguments, attributes=attributes)
    return convert(b, loaded, t.int1) if is_bool else loaded


@member
@builtin
def atomic_store(
    pointer: Any,
    val: Any,
    mask: Any = None,
    sem: str | None = None,
    scope: str | None = None,
    *,
    _semantic: Builder,
) -> None:
    """Put ``val`` at ``pointer`` where ``mask`` (int1); both are broadcast to its shape, ``val`` is converted to the pointee.

    ``sem``: ``"release"`` (default) or ``"relaxed"``; ``scope``: as of :func:`atomic_add`.  CompilationError for pointers as elements,
    a constant pointer, and another ``sem`` or ``scope``.
    """
    b = _semantic
    is_bool = isinstance(pointer, tensor) and points_to_bool(pointer)
    place = check_pointer(b, pointer, "atomic_store")
    if _element(place, "atomic_store", writes=True).is_ptr():
        raise CompilationError("atomic_store does not work on pointers", remedy="use 64-bit integers")
    value = convert(b, val, t.int1) if is_bool and isinstance(val, tensor) else val
    arguments = [place, value_for(b, place, value)]
    if mask is not None:
        arguments.append(mask_for(b, place, mask))
    attributes = _order_and_scope(b, sem, scope, "release", ("release", "relaxed"))
    attributes["operandSegmentSizes"] = b.segments(1, 1, mask is not None)
    b.create("tt.atomic_store", operands=arguments, attributes=attributes)


@member
@builtin
def atomic_poll(
    pointer: Any,
    expected_value: Any,
    sem: str | None = None,
    scope: str | None = None,
    timeout_ns: Any = None,
    *,
    _semantic: Builder,
) -> tensor:
    """Wait until memory at ``pointer`` holds ``expected_value``; int1, false where ``timeout_ns`` passed before.

    Elements are integers of 16, 32 or 64 bits; ``expected_value`` is broadcast to the pointer's shape, which the result has.
    ``timeout_ns``, a scalar in nanoseconds, is for all of them together, and each is read once at least.  ``sem``: acquire
    (default) or relaxed.  CompilationError for other elements, a negative ``timeout_ns``, and another ``sem`` or ``scope``.
    """
    b = _semantic
    place = check_pointer(b, pointer, "atomic_poll")
    _check_width(place, "atomic_poll", (16, 32, 64))
    if not _element(place, "atomic_poll", writes=False).is_int():
        raise CompilationError("atomic_poll waits for integers", remedy="use a pointer to integers")
    expected = value_for(b, place, expected_value)
    arguments = [place, expected]
    if timeout_ns is not None:
        arguments.append(_timeout(b, timeout_ns))
    attributes = _order_and_scope(b, sem, scope, "acquire", ("acquire", "relaxed"))
    attributes["operandSegmentSizes"] = b.segments(1, 1, timeout_ns is not None)
    return b.value("tt.atomic_poll", place.type.with_element_ty(t.int1), *arguments, attributes=attributes)


def _timeout(b: Builder, timeout_ns: Any) -> tensor:
    if isinstance(timeout_ns, int) and timeout_ns < 0:
        raise CompilationError(f"timeout_ns is {timeout_ns}", remedy="give nanoseconds, 0 or more")
    value = value_of(b, timeout_ns)
    if value.type.is_block() or not value.dtype.is_int():
        raise CompilationError(f"timeout_ns is a scalar integer, got {value.type}")
    return convert(b, value, t.uint64)
