"""Operators of values: arithmetic, comparison, bits, logic.  The tables say which op each dtype class uses."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tri.language import types as t
from tri.language.builtin import builtin
from tri.language.casts import convert, is_plain, value_of
from tri.language.constexpr import constexpr
from tri.language.promotion import arithmetic_type, check_range, scalar_dtype
from tri.language.shapes import broadcast_pair, common_shape, stretch
from tri.language.tensor import dimensions, tensor
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = [
    "BINARY",
    "COMPARISONS",
    "UNARY",
    "add",
    "compare",
    "logical_and",
    "logical_not",
    "logical_or",
    "mul",
    "operands",
    "operands_of_three",
    "sub",
]

#: comparison -> predicates of arith.cmpf (ordered, but != which is true for NaN), signed and unsigned arith.cmpi
_PREDICATES: dict[str, tuple[int, int, int]] = {
    "==": (1, 0, 0),
    "!=": (13, 1, 1),
    "<": (4, 2, 6),
    "<=": (5, 3, 7),
    ">": (2, 4, 8),
    ">=": (3, 5, 9),
}

#: operator -> ops for floats, signed and unsigned integers; None where there is none
_OPS: dict[str, tuple[str | None, str | None, str | None]] = {
    "+": ("arith.addf", "arith.addi", "arith.addi"),
    "-": ("arith.subf", "arith.subi", "arith.subi"),
    "*": ("arith.mulf", "arith.muli", "arith.muli"),
    "/": ("arith.divf", None, None),
    "//": (None, "arith.divsi", "arith.divui"),
    "%": ("arith.remf", "arith.remsi", "arith.remui"),
    "&": (None, "arith.andi", "arith.andi"),
    "|": (None, "arith.ori", "arith.ori"),
    "^": (None, "arith.xori", "arith.xori"),
    "<<": (None, "arith.shli", "arith.shli"),
    ">>": (None, "arith.shrsi", "arith.shrui"),
}

_FLOAT_REMEDY = {
    "//": "use tl.floor(x / y)",
    "&": "cast to an integer, or bitcast",
    "|": "cast to an integer, or bitcast",
    "^": "cast to an integer, or bitcast",
}


def operands(
    b: Builder, sign: str, x: Any, y: Any, *, division: bool = False, pointers: bool = False
) -> tuple[tensor, tensor]:
    """Both operands of operator ``sign`` as values of one type: promoted and broadcast.

    ``pointers`` lets two pointers through unconverted (``tl.where``); else they are refused.
    """
    x_plain, y_plain = is_plain(x), is_plain(y)
    x_type = scalar_dtype(x) if x_plain else _value_type(x, sign).scalar
    y_type = scalar_dtype(y) if y_plain else _value_type(y, sign).scalar
    if x_type.is_ptr() or y_type.is_ptr():
        if not pointers or x_type is not y_type:
            raise _unsupported(sign, x_type, y_type)
        return broadcast_pair(b, x, y)
    common = arithmetic_type(x_type, y_type, x_plain=x_plain, y_plain=y_plain, division=division)
    if not pointers:
        check_computable(sign, common)
    left = _operand(b, sign, x, common, y)
    right = _operand(b, sign, y, common, x)
    return broadcast_pair(b, left, right)


def operands_of_three(b: Builder, sign: str, *given: Any) -> list[tensor]:
    """The operands of ``sign`` as values of one type and shape: run-time ones decide it, plain ones by their kind."""
    plain = [scalar_dtype(x) for x in given if is_plain(x)]
    dynamic = [_value_type(x, sign).scalar for x in given if not is_plain(x)]
    if any(type_.is_ptr() for type_ in dynamic):
        raise _unsupported(sign, dynamic[0], (dynamic + plain)[1])
    common = functools.reduce(arithmetic_type, dynamic or plain)
    if dynamic and plain:
        common = arithmetic_type(common, functools.reduce(arithmetic_type, plain), y_plain=True)
    check_computable(sign, common)
    values = [_operand(b, sign, x, common, None) for x in given]
    shape = functools.reduce(common_shape, map(dimensions, values))
    return [stretch(b, value, shape) for value in values]


def check_computable(sign: str, type_: t.dtype) -> None:
    """Refuse arithmetic on a type that is only stored."""
    if type_.is_fp8e4b15():
        raise CompilationError(
            f"operator {sign} is not defined for {type_}, which is only stored",
            remedy="convert it with .to(tl.float16), compute, and convert the result",
        )


def _operand(b: Builder, sign: str, x: Any, common: t.dtype, other: Any) -> tensor:
    if not is_plain(x):
        return convert(b, x, common)
    if x < 0 and common.is_int_unsigned():
        raise CompilationError(
            f"{x} {sign} a value of type {common}: a negative scalar has no unsigned meaning",
            remedy="cast one of them explicitly",
        )
    check_range(x, common)
    shape = dimensions(other) if isinstance(other, tensor) else ()
    return b.constant(x, t.block_type(common, shape) if shape else common)


def _value_type(x: Any, sign: str) -> t.dtype:
    if isinstance(x, tensor):
        return x.type
    raise CompilationError(
        f"operand {x!r} of {sign} is not a number or a tensor", remedy="check what the name is bound to"
    )


def _unsupported(sign: str, x: t.dtype, y: t.dtype) -> CompilationError:
    remedy = "a pointer takes + and - with an integer offset, in elements"
    if sign.isidentifier():
        return CompilationError(
            f"{sign} is not defined for {x} and {y}", remedy="give both operands one type"
        )
    return CompilationError(f"invalid operands of type {x} and {y} to operator {sign}", remedy=remedy)


def _op_name(sign: str, type_: t.dtype) -> str:
    column = 0 if type_.is_floating() else 1 if type_.is_int_signed() else 2
    name = _OPS[sign][column]
    if name is None:
        raise CompilationError(
            f"invalid operands of type {type_} to operator {sign}",
            remedy=_FLOAT_REMEDY.get(sign, "cast the operands to an integer type"),
        )
    return name


def _simple(b: Builder, sign: str, x: Any, y: Any, *, division: bool = False) -> tensor:
    x, y = operands(b, sign, x, y, division=division)
    return b.value(_op_name(sign, x.type.scalar), x.type, x, y)


def _overflowing(b: Builder, sign: str, x: Any, y: Any, sanitize: bool) -> tensor:
    """``+``, ``-`` or ``*``; with the options debug and sanitize_overflow it asserts that integers fit."""
    if not (sanitize and b.options.is_checked):
        return _simple(b, sign, x, y)
    x, y = operands(b, sign, x, y)
    scalar = x.type.scalar
    if scalar.is_int() and scalar.int_bitwidth < 64:
        exact = _simple(b, sign, convert(b, x, t.int64), convert(b, y, t.int64))
        fits = _simple(
            b,
            "&",
            compare(b, "<=", exact, scalar.get_int_max_value()),
            compare(b, ">=", exact, scalar.get_int_min_value()),
        )
        message = f"{scalar} overflow in operator {sign}"
        b.create("tt.assert", operands=[fits], attributes={"message": b.string(message)})
    return b.value(_op_name(sign, scalar), x.type, x, y)


def _move(b: Builder, pointer: tensor, offset: Any) -> tensor:
    """``pointer + offset`` elements."""
    offset = value_of(b, offset)
    if not offset.type.scalar.is_int():
        raise _unsupported("+", pointer.type.scalar, offset.type.scalar)
    if offset.type.scalar.is_int_unsigned() and offset.dtype.int_bitwidth < 64:
        # offsets are read as signed: an unsigned one has to be widened first
        offset = convert(b, offset, t.int64)
    pointer, offset = broadcast_pair(b, pointer, offset)
    return b.value("tt.addptr", pointer.type, pointer, offset)


def _is_pointer(x: Any) -> bool:
    return isinstance(x, tensor) and x.type.scalar.is_ptr()


def _add(b: Builder, x: Any, y: Any, sanitize: bool = True) -> tensor:
    if _is_pointer(x) and not _is_pointer(y):
        return _move(b, x, y)
    if _is_pointer(y) and not _is_pointer(x):
        return _move(b, y, x)
    return _overflowing(b, "+", x, y, sanitize)


def _sub(b: Builder, x: Any, y: Any, sanitize: bool = True) -> tensor:
    if _is_pointer(x) and not _is_pointer(y):
        offset = value_of(b, y)
        if offset.type.scalar.is_int_unsigned():  # it has no negative value in its own type
            offset = convert(b, offset, t.int64)
        return _move(b, x, negate(b, offset))
    return _overflowing(b, "-", x, y, sanitize)


def _mul(b: Builder, x: Any, y: Any, sanitize: bool = True) -> tensor:
    return _overflowing(b, "*", x, y, sanitize)


def _truediv(b: Builder, x: Any, y: Any) -> tensor:
    left, right = operands(b, "/", x, y, division=True)
    if left.type.scalar.is_int():
        left, right = convert(b, left, t.float32), convert(b, right, t.float32)
    return b.value("arith.divf", left.type, left, right)


def _floordiv(b: Builder, x: Any, y: Any) -> tensor:
    return _simple(b, "//", x, y, division=True)


def _mod(b: Builder, x: Any, y: Any) -> tensor:
    return _simple(b, "%", x, y, division=True)


def _bitwise(sign: str) -> Callable[[Builder, Any, Any], tensor]:
    return lambda b, x, y: _simple(b, sign, x, y)


def _shift_right(b: Builder, x: Any, y: Any) -> tensor:
    """``x >> y``: the sign bit is repeated when ``x`` is signed, whatever type both are converted to."""
    left, right = operands(b, ">>", x, y)
    type_ = _value_type(y if is_plain(x) else x, ">>").scalar
    return b.value(_op_name(">>", type_ if left.dtype.is_int() else left.dtype), left.type, left, right)


def negate(b: Builder, x: tensor) -> tensor:
    """``-x``; 0 - x for integers."""
    scalar = x.type.scalar
    if scalar.is_ptr():
        raise CompilationError(f"operator unary - is not defined for {scalar}")
    check_computable("unary -", scalar)
    if scalar.is_floating():
        return b.value("arith.negf", x.type, x)
    return b.value("arith.subi", x.type, b.constant(0, x.type), x)


def _positive(b: Builder, x: tensor) -> tensor:
    return x


def _invert(b: Builder, x: tensor) -> tensor:
    scalar = x.type.scalar
    if not scalar.is_int():
        raise CompilationError(
            f"operator ~ is not defined for {scalar}", remedy="cast to an integer, or bitcast"
        )
    return b.value("arith.xori", x.type, x, b.constant((1 << scalar.int_bitwidth) - 1, x.type))


def logical_not(b: Builder, x: tensor) -> tensor:
    """``not x``: true where ``x`` is zero."""
    truth = convert(b, x, t.int1)
    return b.value("arith.xori", truth.type, truth, b.constant(True, truth.type))


def compare(b: Builder, sign: str, x: Any, y: Any) -> tensor:
    """``x`` compared with ``y``: an int1 of the common shape."""
    left, right = operands(b, sign, x, y)
    scalar = left.type.scalar
    column = 0 if scalar.is_floating() else 1 if scalar.is_int_signed() else 2
    name = "arith.cmpf" if column == 0 else "arith.cmpi"
    attributes = {"predicate": b.i64(_PREDICATES[sign][column])}
    return b.value(name, left.type.with_element_ty(t.int1), left, right, attributes=attributes)


def _comparison(sign: str) -> Callable[[Builder, Any, Any], tensor]:
    return lambda b, x, y: compare(b, sign, x, y)


def logical_and(b: Builder, x: Any, y: Any) -> tensor:
    """``x and y`` of truth values, both computed."""
    left, right = (convert(b, value_of(b, v), t.int1) for v in (x, y))
    return _simple(b, "&", left, right)


def logical_or(b: Builder, x: Any, y: Any) -> tensor:
    """``x or y`` of truth values, both computed."""
    left, right = (convert(b, value_of(b, v), t.int1) for v in (x, y))
    return _simple(b, "|", left, right)


#: operator -> what it does to two operands, each a tensor or a plain scalar
BINARY: dict[str, Callable[[Builder, Any, Any], tensor]] = {
    "+": _add,
    "-": _sub,
    "*": _mul,
    "/": _truediv,
    "//": _floordiv,
    "%": _mod,
    "&": _bitwise("&"),
    "|": _bitwise("|"),
    "^": _bitwise("^"),
    "<<": _bitwise("<<"),
    ">>": _shift_right,
}
COMPARISONS: dict[str, Callable[[Builder, Any, Any], tensor]] = {s: _comparison(s) for s in _PREDICATES}
UNARY: dict[str, Callable[[Builder, tensor], tensor]] = {
    "-": negate,
    "+": _positive,
    "~": _invert,
    "not": logical_not,
}


@builtin
def add(x: Any, y: Any, sanitize_overflow: bool = True, *, _semantic: Builder) -> tensor:
    """``x + y``, elementwise: numbers promoted to one dtype, or a pointer and an integer offset in elements; broadcast to one shape.

    ``sanitize_overflow=False`` leaves out the check that the options ``debug`` and ``sanitize_overflow`` ask for: KernelFault
    where integers of fewer than 64 bits overflow.  Unchecked integers wrap.  CompilationError for dtypes without a common
    one and for shapes that do not broadcast.
    """
    return _add(_semantic, x, y, sanitize_overflow)


@builtin
def sub(x: Any, y: Any, sanitize_overflow: bool = True, *, _semantic: Builder) -> tensor:
    """``x - y``, elementwise: numbers promoted to one dtype, or a pointer less an integer offset in elements; else as :func:`add`.

    CompilationError for two pointers, for dtypes without a common one and for shapes that do not broadcast.
    """
    return _sub(_semantic, x, y, sanitize_overflow)


@builtin
def mul(x: Any, y: Any, sanitize_overflow: bool = True, *, _semantic: Builder) -> tensor:
    """``x * y``, elementwise: numbers promoted to one dtype, broadcast to one shape; checks of overflow as in :func:`add`.

    CompilationError for pointers, for dtypes without a common one and for shapes that do not broadcast.
    """
    return _mul(_semantic, x, y, sanitize_overflow)


def _method(name: str, function: Callable[..., tensor], *, swap: bool = False) -> Callable[..., tensor]:
    def operator(self: Any, other: Any, *, _semantic: Builder) -> tensor:
        other = other.value if isinstance(other, constexpr) else other
        return function(_semantic, other, self) if swap else function(_semantic, self, other)

    operator.__name__ = name
    return builtin(operator)


def _unary_method(name: str, function: Callable[..., tensor]) -> Callable[..., tensor]:
    def operator(self: Any, *, _semantic: Builder) -> tensor:
        return function(_semantic, self)

    operator.__name__ = name
    return builtin(operator)


_DUNDERS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod",
    "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
_COMPARISON_DUNDERS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}

for _sign, _name in _DUNDERS.items():
    setattr(tensor, f"__{_name}__", _method(f"tensor.__{_name}__", BINARY[_sign]))
    setattr(tensor, f"__r{_name}__", _method(f"tensor.__r{_name}__", BINARY[_sign], swap=True))
for _sign, _name in _COMPARISON_DUNDERS.items():
    setattr(tensor, f"__{_name}__", _method(f"tensor.__{_name}__", COMPARISONS[_sign]))
for _sign, _name in {"-": "neg", "+": "pos", "~": "invert", "not": "not"}.items():
    setattr(tensor, f"__{_name}__", _unary_method(f"tensor.__{_name}__", UNARY[_sign]))
for _name, _function in {"logical_and": logical_and, "logical_or": logical_or}.items():
    setattr(tensor, _name, _method(f"tensor.{_name}", _function))
tensor.__hash__ = object.__hash__  # type: ignore[method-assign]
