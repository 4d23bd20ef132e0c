"""``extern_elementwise``: functions of libraries that a program brings (option ``extern_libs``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tri.language import types as t
from tri.language.builtin import builtin
from tri.language.casts import convert, value_of
from tri.language.promotion import arithmetic_type
from tri.language.shapes import common_shape, stretch
from tri.language.tensor import dimensions, tensor
from tri_core.errors import CompilationError
from tri_core.extern_libraries import USER

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = ["extern_elementwise"]

#: types of operands -> the function of a library, and the type of its result
Symbols = Mapping[tuple[t.dtype, ...], tuple[str, t.dtype]]


@builtin
def extern_elementwise(
    lib_name: str,
    lib_path: str,
    args: Sequence[Any],
    arg_type_symbol_dict: Symbols,
    is_pure: bool,
    *,
    _semantic: Builder,
) -> tensor:
    """The function of a library that ``arg_type_symbol_dict`` has for the types of ``args``, applied elementwise.

    ``args`` are scalars or tensors that broadcast; types that no key has are brought to their common type.  The library is one of the
    launch's option ``extern_libs``: a ``lib_path`` that is not among them is refused, since a kernel in the store would outlive its
    content.  ``is_pure``: calls may be merged, moved and left out.
    """
    name, path = (getattr(x, "value", x) for x in (lib_name, lib_path))  # of a constexpr, where it is one
    _check_path(_semantic, name, path)
    values = [value_of(_semantic, a) for a in args]
    operands, (symbol, result) = _chosen(values, arg_type_symbol_dict)
    shape: tuple[int, ...] = ()
    for value in values:
        shape = common_shape(shape, dimensions(value))
    given = [
        stretch(_semantic, convert(_semantic, v, d), shape) for v, d in zip(values, operands, strict=True)
    ]
    attributes = {
        "libname": _semantic.string(name or USER),
        "libpath": _semantic.string(path or ""),
        "symbol": _semantic.string(symbol),
        "pure": _semantic.boolean(bool(is_pure)),
    }
    type_ = given[0].type.with_element_ty(result) if shape else result
    return _semantic.value("tt.extern_elementwise", type_, *given, attributes=attributes)


def _check_path(b: Builder, name: str, path: str) -> None:
    known = {place for _, place, _ in b.options.extern_libs}
    if path and path not in known:
        raise CompilationError(
            f"library {name!r} at {path!r} is not among the kernel's libraries",
            remedy=f"launch it with extern_libs={{{name or 'library'!r}: {path!r}}}",
        )


def _chosen(values: Sequence[tensor], symbols: Symbols) -> tuple[tuple[t.dtype, ...], tuple[str, t.dtype]]:
    if not values:
        raise CompilationError("extern_elementwise takes at least one operand")
    types = tuple(v.dtype for v in values)
    if types not in symbols and not any(isinstance(d, t.pointer_type) for d in types):
        common = types[0]
        for dtype in types[1:]:
            common = arithmetic_type(common, dtype)
        types = (common,) * len(types)
    if types not in symbols:
        known = " or ".join(f"({', '.join(map(str, key))})" for key in symbols)
        got = ", ".join(str(v.dtype) for v in values)
        raise CompilationError(
            f"the functions given take {known}, got ({got})",
            remedy="cast the operands, e.g. with .to(tl.float32)",
        )
    return types, symbols[types]
