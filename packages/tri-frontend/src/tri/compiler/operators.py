"""Rules of operators: of constexprs by Python's rules, of run-time values, of tuples, of aggregates by their methods."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tri.compiler.calls import call_value
from tri.compiler.members import member_of
from tri.compiler.operand_errors import check_operands
from tri.compiler.rules import rule
from tri.compiler.values import describe, has_tensors
from tri.language.arithmetic import BINARY, COMPARISONS, UNARY, logical_and, logical_or
from tri.language.constexpr import constexpr, unwrap
from tri.language.python_values import wrap
from tri.language.shapes import getitem
from tri.language.structure import Structure
from tri.language.tensor import tensor
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.generator import Generator

__all__ = ["augmented", "binary"]

_BINARY: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow),
    ast.BitAnd: ("&", operator.and_),
    ast.BitOr: ("|", operator.or_),
    ast.BitXor: ("^", operator.xor),
    ast.LShift: ("<<", operator.lshift),
    ast.RShift: (">>", operator.rshift),
}
_COMPARE: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
}
_UNARY: dict[type[ast.unaryop], tuple[str, Callable[[Any], Any]]] = {
    ast.USub: ("-", operator.neg),
    ast.UAdd: ("+", operator.pos),
    ast.Invert: ("~", operator.invert),
    ast.Not: ("not", operator.not_),
}


def fold(sign: str, function: Callable[..., Any], *values: Any) -> Any:
    """An operator of compile-time values, by Python's rules."""
    try:
        return wrap(function(*map(unwrap, values)))
    except (TypeError, ValueError, ArithmeticError) as error:
        raise CompilationError(f"{f' {sign} '.join(map(describe, values))}: {error}") from error


def binary(
    g: Generator, sign: str, function: Callable[[Any, Any], Any], x: Any, y: Any, node: ast.AST
) -> Any:
    """``x sign y`` of any values: at run time when one of them is a tensor, by its methods for an aggregate."""
    if isinstance(x, Structure) or isinstance(y, Structure):
        return _by_method(g, sign, x, y, node)
    if not isinstance(x, tensor) and not isinstance(y, tensor):
        if isinstance(x, tuple) or isinstance(y, tuple):
            return _of_tuples(sign, function, x, y)
        return fold(sign, function, x, y)
    check_operands(g, sign, x, y, node)
    emit = BINARY.get(sign) or COMPARISONS.get(sign)
    if emit is None:
        raise CompilationError(
            f"operator {sign} is for constexprs only, got {describe(x)} and {describe(y)}",
            remedy="multiply, or use tl.exp2 and tl.log2",
        )
    return emit(g.b, unwrap(x), unwrap(y))


def _of_tuples(sign: str, function: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Concatenation and repetition of tuples of any values; other operators of static ones."""
    x, y = (wrap(unwrap(v)) if isinstance(v, constexpr) else v for v in (x, y))
    if sign == "+" and isinstance(x, tuple) and isinstance(y, tuple):
        return (*x, *y)
    if sign == "*" and isinstance(x, tuple) and isinstance(y, constexpr) and isinstance(y.value, int):
        return tuple(x) * y.value
    if sign in ("==", "!=") and isinstance(x, tuple) and isinstance(y, tuple) and len(x) != len(y):
        return constexpr(sign == "!=")
    if sign in ("==", "!=") and isinstance(x, tuple) and isinstance(y, tuple) and _identical(x, y):
        return constexpr(sign == "==")
    if has_tensors(x) or has_tensors(y):
        raise CompilationError(
            f"{describe(x)} {sign} {describe(y)}: tuples with run-time values have no operator {sign}",
            remedy="apply it item by item",
        )
    return fold(sign, function, x, y)


def _identical(x: tuple[Any, ...], y: tuple[Any, ...]) -> bool:
    """True if two tuples of one length hold the very same values."""
    return all(
        a is b or (isinstance(a, tuple) and isinstance(b, tuple) and _identical(a, b))
        for a, b in zip(x, y, strict=False)
    )


#: operator -> the methods of its left and of its right operand
_METHODS: dict[str, tuple[str, str]] = {
    "==": ("__eq__", "__eq__"), "!=": ("__ne__", "__ne__"), "<": ("__lt__", "__gt__"),
    "<=": ("__le__", "__ge__"), ">": ("__gt__", "__lt__"), ">=": ("__ge__", "__le__"),
    "and": ("logical_and", "logical_and"), "or": ("logical_or", "logical_or"),
    **{
        sign: (f"__{name}__", f"__r{name}__")
        for sign, name in {
            "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow",
            "<<": "lshift", ">>": "rshift", "&": "and", "|": "or", "^": "xor",
        }.items()
    },
}  # fmt: skip


def _by_method(g: Generator, sign: str, x: Any, y: Any, node: ast.AST) -> Any:
    """An operator with an aggregate: the method of the left one, else the reflected one of the right."""
    for owner, name, other in ((x, _METHODS[sign][0], y), (y, _METHODS[sign][1], x)):
        method = member_of(owner, name) if isinstance(owner, Structure) else None
        if method is None:
            continue
        result = call_value(g, method, [other], {}, node)
        if unwrap(result) is not NotImplemented:
            return result
    raise CompilationError(
        f"operator {sign} is not defined for {describe(x)} and {describe(y)}",
        remedy=f"define {_METHODS[sign][0]} as a @tri.jit method of the aggregate",
    )


@rule(ast.BinOp)
def binary_operator(g: Generator, node: ast.BinOp) -> Any:
    """``x + y`` and its like."""
    x, y = g.visit(node.left), g.visit(node.right)
    if type(node.op) not in _BINARY:
        raise CompilationError("operator @ is not defined in kernels", remedy="use tl.dot")
    return binary(g, *_BINARY[type(node.op)], x, y, node)


def augmented(g: Generator, node: ast.AugAssign, x: Any, y: Any) -> Any:
    """``x op y`` for ``x op= y``."""
    if type(node.op) not in _BINARY:
        raise CompilationError("operator @= is not defined in kernels", remedy="use tl.dot")
    return binary(g, *_BINARY[type(node.op)], x, y, node)


@rule(ast.UnaryOp)
def unary_operator(g: Generator, node: ast.UnaryOp) -> Any:
    """``-x`` and its like."""
    x = g.visit(node.operand)
    sign, function = _UNARY[type(node.op)]
    if isinstance(x, Structure):
        return _unary_method(g, node, sign, x)
    if isinstance(x, tuple) and has_tensors(x):
        if sign == "not":
            return constexpr(not x)
        raise CompilationError(f"operator {sign} is not defined for {describe(x)}")
    return UNARY[sign](g.b, x) if isinstance(x, tensor) else fold(sign, function, x)


def _unary_method(g: Generator, node: ast.UnaryOp, sign: str, x: Any) -> Any:
    name = {"-": "__neg__", "+": "__pos__", "~": "__invert__", "not": "__not__"}[sign]
    method = member_of(x, name)
    if method is None:
        raise CompilationError(
            f"operator {sign} is not defined for {describe(x)}",
            remedy=f"define {name} as a @tri.jit method of the aggregate",
        )
    return call_value(g, method, [], {}, node)


@rule(ast.Compare)
def comparison(g: Generator, node: ast.Compare) -> Any:
    """``x < y``, ``x is y``, ``x in y``, and chains of them, whose middle operands are computed once."""
    values = _comparisons(g, node)
    return next(values) if len(node.ops) == 1 else _conjunction(g, node, values)


def _comparisons(g: Generator, node: ast.Compare) -> Iterator[Any]:
    x = g.visit(node.left)
    for op, operand in zip(node.ops, node.comparators, strict=True):
        y = g.visit(operand)
        if isinstance(op, (ast.Is, ast.IsNot)):
            yield constexpr((_identity(x) is _identity(y)) is isinstance(op, ast.Is))
        elif isinstance(op, (ast.In, ast.NotIn)):
            yield _membership(x, y, isinstance(op, ast.In))
        else:
            yield binary(g, *_COMPARE[type(op)], x, y, node)
        x = y


def _identity(value: Any) -> Any:
    return unwrap(value) if isinstance(value, constexpr) else value


def _membership(x: Any, y: Any, wanted: bool) -> constexpr:
    if has_tensors(x) or has_tensors(y):
        raise CompilationError("in is for constexprs only", remedy="compare with each value")
    return constexpr((unwrap(x) in unwrap(y)) is wanted)


@rule(ast.BoolOp)
def logical_operator(g: Generator, node: ast.BoolOp) -> Any:
    """``and``, ``or``: constexprs decide at compile time, left to right; run-time values are all computed."""
    values = (g.visit(operand) for operand in node.values)
    return _conjunction(g, node, values, is_and=isinstance(node.op, ast.And))


def _conjunction(g: Generator, node: ast.AST, values: Iterable[Any], *, is_and: bool = True) -> Any:
    """The values joined: one that is known decides or says nothing, the others meet at run time."""
    emit = logical_and if is_and else logical_or
    dynamic: list[Any] = []
    last: Any = None
    for last in values:
        if isinstance(last, (tensor, Structure)):
            dynamic.append(last)
        elif bool(unwrap(last)) is not is_and:
            return last
    if not dynamic:
        return last
    result = dynamic.pop()
    while dynamic:
        left = dynamic.pop()
        if isinstance(left, Structure) or isinstance(result, Structure):
            result = _by_method(g, "and" if is_and else "or", left, result, node)
        else:
            result = emit(g.b, _truth(left), _truth(result))
    return result


def _truth(value: tensor) -> tensor:
    """An operand of and/or: they join truth values only, since Python's would give one of the operands."""
    if not value.dtype.is_bool():
        raise CompilationError(
            f"and, or join truth values, got {value.type}", remedy="compare it, e.g. x != 0"
        )
    return value


@rule(ast.Subscript)
def subscript(g: Generator, node: ast.Subscript) -> Any:
    """``x[...]``: dimensions of a block, items of a tuple."""
    owner, index = g.visit(node.value), g.visit(node.slice)
    if isinstance(owner, tensor):
        return getitem(g.b, owner, unwrap(index))
    if isinstance(owner, Structure):
        return _item_by_method(g, node, owner, index)
    if has_tensors(index):
        raise CompilationError(
            f"{describe(owner)} is indexed with a run-time value",
            remedy="use a constexpr index, or tl.static_range",
        )
    try:
        return wrap((owner.value if isinstance(owner, constexpr) else owner)[unwrap(index)])
    except (TypeError, LookupError) as error:
        raise CompilationError(
            f"{describe(owner)}[{describe(index)}]: {error}",
            remedy=f"it has {len(owner)} items" if isinstance(owner, tuple) else None,
        ) from error


def _item_by_method(g: Generator, node: ast.Subscript, owner: Any, index: Any) -> Any:
    method = member_of(owner, "__getitem__")
    if method is None:
        raise CompilationError(
            f"{describe(owner)} has no items",
            remedy="define __getitem__ as a @tri.jit method of the aggregate",
        )
    return call_value(g, method, [index], {}, node)
