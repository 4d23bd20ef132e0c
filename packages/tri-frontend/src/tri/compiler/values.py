"""Values of the language as the code generator holds them: tensors, constexprs and tuples of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tri.language import types as t
from tri.language.casts import convert, is_plain, value_of
from tri.language.constexpr import constexpr
from tri.language.descriptors import null_descriptor
from tri.language.structure import Structure, parts, remake
from tri.language.tensor import tensor

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = [
    "NONE",
    "describe",
    "flatten",
    "has_tensors",
    "is_static",
    "key",
    "placeholder",
    "rebuild",
    "runtime",
    "same_type",
]

NONE = constexpr(None)


def is_static(value: Any) -> bool:
    """True if ``value`` is known at compile time."""
    return not has_tensors(value)


def has_tensors(value: Any) -> bool:
    """True if ``value`` contains a run-time value."""
    items = parts(value)
    return isinstance(value, tensor) if items is None else any(map(has_tensors, items))


def flatten(value: Any) -> list[tensor]:
    """The run-time values in ``value``, in order."""
    if isinstance(value, tensor):
        return [value]
    return [leaf for item in parts(value) or () for leaf in flatten(item)]


def rebuild(value: Any, leaves: Iterator[tensor]) -> Any:
    """``value`` with its run-time values replaced, in order, by ``leaves``."""
    if isinstance(value, tensor):
        return next(leaves)
    items = parts(value)
    return value if items is None else remake(value, [rebuild(item, leaves) for item in items])


def runtime(b: Builder, value: Any) -> Any:
    """``value`` with every number in it made a run-time value: what an assignment binds.

    The fields of an aggregate keep their kind: it is part of their type.
    """
    if isinstance(value, tuple):
        return remake(value, (runtime(b, item) for item in value))
    if isinstance(value, constexpr) and is_plain(value.value):
        return value_of(b, value)
    return value


def same_type(x: Any, y: Any) -> bool:
    """True if ``x`` and ``y`` have one structure with run-time values of one type."""
    if isinstance(x, tensor) or isinstance(y, tensor):
        return isinstance(x, tensor) and isinstance(y, tensor) and x.type is y.type
    items, others = parts(x), parts(y)
    if items is None or others is None:
        return items is others and bool(key(x) == key(y))
    return type(x) is type(y) and len(items) == len(others) and all(map(same_type, items, others))


def placeholder(b: Builder, value: Any) -> Any:
    """Zeros of the structure of ``value``, for a path on which it is never read."""
    items = parts(value)
    if items is not None:
        return remake(value, [placeholder(b, item) for item in items])
    if not isinstance(value, tensor):
        return value
    if isinstance(value.type, t.tensor_descriptor_type):
        return null_descriptor(b, value.type)
    if value.dtype.is_ptr():
        return convert(b, b.constant(0, value.type.with_element_ty(t.int64)), value.dtype)
    return b.constant(0, value.type)


def key(value: Any) -> Any:
    """Specialisation key of an argument: its type, or its value when static."""
    if isinstance(value, tensor):
        return value.type
    items = parts(value)
    if items is not None:
        return (type(value), *map(key, items))
    if isinstance(value, constexpr):
        inner = value.value
        try:
            hash(inner)
        except TypeError:
            inner = repr(inner)
        return (constexpr, type(inner), inner)
    return value


def describe(value: Any) -> str:
    """``value`` in a message: the type of a run-time value, the value of a static one."""
    if isinstance(value, tensor):
        return str(value.type)
    if isinstance(value, constexpr):
        return f"the constexpr {value.value!r}" if value.value is not None else "None"
    if isinstance(value, tuple):
        return f"({', '.join(map(describe, value))})"
    if isinstance(value, Structure):
        fields = zip(value.structure_names(), value.structure_parts(), strict=True)
        return f"{type(value).__name__}({', '.join(f'{n}: {describe(v)}' for n, v in fields)})"
    return repr(value)
