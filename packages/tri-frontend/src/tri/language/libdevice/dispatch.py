"""``tl.extra.libdevice``: a function by its operands' types, from the target's own library or computed here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tri.language import types as t
from tri.language.builtin import builtin, is_builtin, of_builtin
from tri.language.casts import convert, value_of
from tri.language.libdevice.ops import has_type
from tri.language.libdevice.table import SIGNATURES, Signature
from tri.language.library_symbols import symbols
from tri.language.promotion import arithmetic_type
from tri.language.shapes import common_shape, stretch
from tri.language.tensor import dimensions, tensor
from tri_core.errors import CompilationError, Unsupported

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = ["FUNCTIONS", "select"]

#: how plugins name this module in a LanguageExtension's module_map
MODULE = "tri.language.extra.libdevice"


def select(b: Builder, name: str, args: Sequence[Any]) -> tuple[list[tensor], Signature]:
    """The operands as the signature that fits wants them: theirs, or that of their common type."""
    signatures = SIGNATURES[name]
    count = len(signatures[0][0])
    if len(args) != count:
        raise CompilationError(f"libdevice.{name} takes {count} operands, got {len(args)}")
    values = [value_of(b, a) for a in args]
    found = _matching(signatures, [v.dtype for v in values])
    if found is None:
        found = _matching(signatures, [_common(values)] * count)
    if found is None:
        known = " or ".join(f"({', '.join(map(str, operands))})" for operands, _ in signatures)
        got = ", ".join(str(v.dtype) for v in values)
        raise CompilationError(
            f"libdevice.{name} takes {known}, got ({got})",
            remedy="cast the operands, e.g. with .to(tl.float32)",
        )
    shape: tuple[int, ...] = ()
    for value in values:
        shape = common_shape(shape, dimensions(value))
    return [stretch(b, convert(b, v, d), shape) for v, d in zip(values, found[0], strict=True)], found


def _matching(signatures: Sequence[Signature], dtypes: Sequence[t.dtype]) -> Signature | None:
    return next((s for s in signatures if list(s[0]) == list(dtypes)), None)


def _common(values: Sequence[tensor]) -> t.dtype:
    result = values[0].dtype
    for value in values[1:]:
        result = arithmetic_type(result, value.dtype)
    return result


def _compute(b: Builder, name: str, operands: list[tensor], signature: Signature) -> tensor:
    """The function by the formulas of this package."""
    from tri.language.libdevice.catalogue import CATALOGUE

    if name == "pow" and signature[0][1] is t.int32:
        name = "pow_integer"
    formula = CATALOGUE[name]
    given = operands
    if formula.wide:
        _require_fp64(b, name, operands)
        given = [convert(b, x, t.float64) if x.dtype is t.float32 else x for x in operands]
    if is_builtin(formula.function):
        made = of_builtin(formula.function)(*given, _semantic=b)
    else:
        made = b.expand(formula.function, [*given, *formula.constants])
    return convert(b, made, signature[1])


def _require_fp64(b: Builder, name: str, operands: list[tensor]) -> None:
    if operands[0].dtype is t.float32 and not has_type(t.float64, _semantic=b):
        raise Unsupported(
            f"libdevice.{name} of fp32 is computed in fp64, which {b.target} lacks",
            remedy="use functions of tl.math, which are computed in fp32, or a table from the host",
        )


def _extern(b: Builder, symbol: str, operands: list[tensor], result: t.dtype) -> tensor:
    """A call of the target's own function."""
    attributes = {
        "libname": b.string(""),
        "libpath": b.string(""),
        "symbol": b.string(symbol),
        "pure": b.boolean(True),
    }
    type_ = operands[0].type.with_element_ty(result)
    return b.value("tt.extern_elementwise", type_, *operands, attributes=attributes)


def _function(name: str) -> Callable[..., tensor]:
    def function(*args: Any, _semantic: Builder) -> tensor:
        operands, signature = select(_semantic, name, args)
        key = (name, tuple(d.name for d in signature[0]))
        symbol = symbols(MODULE, _semantic.target.key).get(key)
        if symbol is not None:
            return _extern(_semantic, symbol, operands, signature[1])
        return _compute(_semantic, name, operands, signature)

    function.__name__ = function.__qualname__ = name
    shown = "; ".join(f"({', '.join(map(str, o))}) -> {r}" for o, r in SIGNATURES[name])
    function.__doc__ = (
        f"libdevice's ``{name}``, elementwise, over operands broadcast to one shape: {shown}.\n\n"
        "CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."
    )
    return builtin(function)


#: every function, as builtins
FUNCTIONS: dict[str, Callable[..., tensor]] = {name: _function(name) for name in sorted(SIGNATURES)}
