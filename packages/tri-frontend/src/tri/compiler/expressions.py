"""Rules of expressions."""

from __future__ import annotations

import ast
import operator
import types as python_types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tri.compiler.branches import either, truth
from tri.compiler.generator import Exit
from tri.compiler.rules import rule
from tri.compiler.scope import is_usable_global, lookup, near
from tri.compiler.values import BoundMethod, describe, runtime, wrap
from tri.jit import JITFunction
from tri.language.arithmetic import BINARY, COMPARISONS, UNARY, logical_and, logical_or
from tri.language.builtin import is_builtin
from tri.language.constexpr import constexpr, unwrap
from tri.language.later import LATER_METHODS
from tri.language.shapes import getitem
from tri.language.tensor import tensor
from tri_core.errors import CompilationError, Unsupported

if TYPE_CHECKING:
    from tri.compiler.generator import Generator

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


#: ``{x!r}`` in an f-string
_CONVERSIONS: dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}


@rule(ast.Constant)
def constant(g: Generator, node: ast.Constant) -> constexpr:
    """A literal is a constexpr."""
    return constexpr(node.value)


@rule(ast.Name)
def name(g: Generator, node: ast.Name) -> Any:
    """A name, where :meth:`Generator.visit` is not the caller."""
    return lookup(g, node)


@rule(ast.Tuple, ast.List)
def sequence(g: Generator, node: ast.Tuple | ast.List) -> tuple[Any, ...]:
    """``(a, b)`` and ``[a, b]`` are tuples."""
    items: list[Any] = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            items.extend(unpack(g.visit(element.value)))
        else:
            items.append(g.visit(element))
    return tuple(items)


def unpack(value: Any) -> tuple[Any, ...]:
    """The items of a tuple, or of a constexpr that holds one."""
    inner = wrap(unwrap(value)) if isinstance(value, constexpr) else value
    if isinstance(inner, tuple):
        return inner
    raise CompilationError(f"{describe(value)} cannot be unpacked", remedy="unpack tuples only")


# --- operators ------------------------------------------------------------------------------------------


def fold(sign: str, function: Callable[..., Any], *values: Any) -> Any:
    """An operator of compile-time values, by Python's rules."""
    try:
        return wrap(function(*map(unwrap, values)))
    except (TypeError, ValueError, ArithmeticError) as error:
        raise CompilationError(f"{f' {sign} '.join(map(describe, values))}: {error}") from error


def binary(g: Generator, sign: str, function: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """``x sign y`` of any values: at run time when one of them is a tensor."""
    if not isinstance(x, tensor) and not isinstance(y, tensor):
        if isinstance(x, tuple) and isinstance(y, tuple) and sign == "+":
            return x + y
        return fold(sign, function, x, y)
    emit = BINARY.get(sign) or COMPARISONS.get(sign)
    if emit is None:
        raise CompilationError(
            f"operator {sign} is for constexprs only, got {describe(x)} and {describe(y)}",
            remedy="multiply, or use tl.exp2 and tl.log2",
        )
    return emit(g.b, unwrap(x), unwrap(y))


@rule(ast.BinOp)
def binary_operator(g: Generator, node: ast.BinOp) -> Any:
    """``x + y`` and its like."""
    x, y = g.visit(node.left), g.visit(node.right)
    if type(node.op) not in _BINARY:
        raise CompilationError("operator @ is not defined in kernels", remedy="use tl.dot")
    return binary(g, *_BINARY[type(node.op)], x, y)


@rule(ast.UnaryOp)
def unary_operator(g: Generator, node: ast.UnaryOp) -> Any:
    """``-x`` and its like."""
    x = g.visit(node.operand)
    sign, function = _UNARY[type(node.op)]
    return UNARY[sign](g.b, x) if isinstance(x, tensor) else fold(sign, function, x)


@rule(ast.Compare)
def comparison(g: Generator, node: ast.Compare) -> Any:
    """``x < y``, ``x is y``, ``x in y``."""
    if len(node.ops) != 1:
        raise CompilationError(
            "chained comparisons are not supported in kernels", remedy="write (a < b) & (b < c)"
        )
    x, y = g.visit(node.left), g.visit(node.comparators[0])
    op = node.ops[0]
    if isinstance(op, (ast.Is, ast.IsNot)):
        return constexpr((_identity(x) is _identity(y)) is isinstance(op, ast.Is))
    if isinstance(op, (ast.In, ast.NotIn)):
        return _membership(x, y, isinstance(op, ast.In))
    return binary(g, *_COMPARE[type(op)], x, y)


def _identity(value: Any) -> Any:
    return unwrap(value) if isinstance(value, constexpr) else value


def _membership(x: Any, y: Any, wanted: bool) -> constexpr:
    if isinstance(x, tensor) or isinstance(y, tensor):
        raise CompilationError("in is for constexprs only", remedy="compare with each value")
    return constexpr((unwrap(x) in unwrap(y)) is wanted)


@rule(ast.BoolOp)
def logical_operator(g: Generator, node: ast.BoolOp) -> Any:
    """``and``, ``or``: constexprs decide at compile time, left to right; run-time values are all computed."""
    is_and = isinstance(node.op, ast.And)
    emit = logical_and if is_and else logical_or
    result: Any = None
    for operand in node.values:
        value = g.visit(operand)
        if isinstance(value, tensor) or isinstance(result, tensor):
            result = value if result is None else _logical(g, emit, result, value)
            continue
        result = value
        if bool(unwrap(value)) is not is_and:
            return value
    return result


def _logical(g: Generator, emit: Callable[..., tensor], x: Any, y: Any) -> Any:
    """Two operands that do not decide alone: a static one says nothing beside a truth value."""
    for value, other in ((x, y), (y, x)):
        if (
            not isinstance(value, tensor)
            and bool(unwrap(value)) is (emit is logical_and)
            and other.dtype.is_bool()
        ):
            return other
        if (
            isinstance(value, constexpr)
            and isinstance(other, tensor)
            and not isinstance(value.value, (bool, int))
        ):
            raise CompilationError(
                f"{describe(value)} is combined with a run-time value by and/or", remedy="compare it first"
            )
    return emit(g.b, unwrap(x), unwrap(y))


@rule(ast.IfExp)
def conditional(g: Generator, node: ast.IfExp) -> Any:
    """``x if c else y``."""
    decision = truth(g, g.visit(node.test), "the condition of a conditional expression")
    if isinstance(decision, bool):
        return g.visit(node.body if decision else node.orelse)
    result = either(
        g,
        decision,
        lambda: Exit(runtime(g.b, g.visit(node.body))),
        lambda: Exit(runtime(g.b, g.visit(node.orelse))),
        what="the value of a conditional expression",
    )
    assert result is not None  # both sides give a value
    return result.value


# --- attributes and subscripts --------------------------------------------------------------------------


@rule(ast.Attribute)
def attribute(g: Generator, node: ast.Attribute) -> Any:
    """``x.name``, of values, modules and Python objects."""
    owner = g.visit(node.value)
    if isinstance(owner, tensor):
        return _tensor_attribute(g, owner, node.attr)
    holder = owner.value if isinstance(owner, constexpr) else owner
    try:
        value = getattr(holder, node.attr)
    except AttributeError:
        raise _no_attribute(holder, node.attr) from None
    if isinstance(holder, python_types.ModuleType):
        return _module_attribute(holder, node.attr, value)
    return wrap(value)


def _tensor_attribute(g: Generator, owner: tensor, attr: str) -> Any:
    if attr == "T":
        attr = "trans"
        return getattr(tensor, attr)(owner, _semantic=g.b)
    member = getattr(tensor, attr, None)
    if isinstance(member, JITFunction) or is_builtin(member):
        return BoundMethod(owner, member)
    if attr in ("dtype", "type", "shape", "numel"):
        return wrap(getattr(owner, attr))
    if attr in LATER_METHODS:
        raise Unsupported(f"tensor.{attr} is not built in this version", remedy=LATER_METHODS[attr])
    known = [n for n in dir(tensor) if not n.startswith("_")]
    raise CompilationError(f"a tensor has no attribute {attr!r}", remedy=near(attr, known))


def _module_attribute(module: python_types.ModuleType, attr: str, value: Any) -> Any:
    if is_usable_global(value) or callable(value):
        return value
    return wrap(value)


def _no_attribute(holder: Any, attr: str) -> CompilationError | Unsupported:
    name = getattr(holder, "__name__", type(holder).__name__)
    later = getattr(holder, "__later__", {})
    if attr in later:
        return Unsupported(f"{name}.{attr} is not built in this version", remedy=later[attr])
    return CompilationError(f"{name} has no attribute {attr!r}", remedy=near(attr, dir(holder)))


@rule(ast.Slice)
def slice_(g: Generator, node: ast.Slice) -> constexpr:
    """``a:b:c`` in a subscript."""
    parts = [unwrap(g.visit(p)) if p is not None else None for p in (node.lower, node.upper, node.step)]
    return constexpr(slice(*parts))


@rule(ast.Subscript)
def subscript(g: Generator, node: ast.Subscript) -> Any:
    """``x[...]``: dimensions of a block, items of a tuple."""
    owner, index = g.visit(node.value), g.visit(node.slice)
    if isinstance(owner, tensor):
        return getitem(g.b, owner, unwrap(index))
    if isinstance(index, tensor):
        raise CompilationError(
            f"{describe(owner)} is indexed with a run-time value",
            remedy="use a constexpr index, or tl.static_range",
        )
    try:
        return wrap((owner.value if isinstance(owner, constexpr) else owner)[unwrap(index)])
    except (TypeError, LookupError) as error:
        raise CompilationError(f"{describe(owner)}[{describe(index)}]: {error}") from error


# --- strings --------------------------------------------------------------------------------------------


@rule(ast.JoinedStr)
def joined_string(g: Generator, node: ast.JoinedStr) -> constexpr:
    """An f-string."""
    return constexpr("".join(str(unwrap(g.visit(part))) for part in node.values))


@rule(ast.FormattedValue)
def formatted_value(g: Generator, node: ast.FormattedValue) -> constexpr:
    """``{x}`` in an f-string."""
    value = g.visit(node.value)
    if isinstance(value, tensor):
        raise CompilationError(
            "an f-string in a kernel formats constexprs only",
            remedy="use tl.device_print for run-time values",
        )
    plain = unwrap(value)
    if node.conversion >= 0:
        plain = _CONVERSIONS[chr(node.conversion)](plain)
    spec = unwrap(g.visit(node.format_spec)) if node.format_spec is not None else ""
    return constexpr(format(plain, spec))
