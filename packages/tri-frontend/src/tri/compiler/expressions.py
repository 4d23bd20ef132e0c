"""Rules of expressions: literals, sequences, comprehensions, conditionals, strings."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tri.compiler.binding import bind, unpack
from tri.compiler.branches import either, truth
from tri.compiler.generator import Exit
from tri.compiler.iterables import static_items
from tri.compiler.rules import rule
from tri.compiler.scope import lookup
from tri.compiler.values import runtime
from tri.language.constexpr import constexpr, unwrap
from tri.language.tensor import tensor
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.generator import Generator

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


@rule(ast.ListComp, ast.GeneratorExp)
def comprehension(g: Generator, node: ast.ListComp | ast.GeneratorExp) -> tuple[Any, ...]:
    """``[f(x) for x in xs if c]`` over tuples and constexpr ranges: a tuple.  Its names end with it."""
    before = dict(g.names)
    items: list[Any] = []
    try:
        _comprehend(g, node, 0, items)
    finally:
        walrus = {n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr)}
        g.names = {**before, **{k: v for k, v in g.names.items() if k in walrus}}
    return tuple(items)


def _comprehend(g: Generator, node: ast.ListComp | ast.GeneratorExp, depth: int, items: list[Any]) -> None:
    if depth == len(node.generators):
        items.append(g.visit(node.elt))
        return
    clause = node.generators[depth]
    for item in static_items(g, clause.iter):
        bind(g, clause.target, item)
        conditions = (truth(g, g.visit(c), "the condition of a comprehension") for c in clause.ifs)
        if all(map(_known, conditions)):
            _comprehend(g, node, depth + 1, items)


def _known(decision: Any) -> bool:
    if isinstance(decision, tensor):
        raise CompilationError(
            "the condition of a comprehension is a run-time value",
            remedy="use a constexpr condition: it decides how many values there are",
        )
    return bool(decision)


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
        mismatch="Ternary expression with dynamic condition has inconsistent types {} and {}",
    )
    assert result is not None  # both sides give a value
    return result.value


@rule(ast.Slice)
def slice_(g: Generator, node: ast.Slice) -> constexpr:
    """``a:b:c`` in a subscript."""
    parts = [unwrap(g.visit(p)) if p is not None else None for p in (node.lower, node.upper, node.step)]
    return constexpr(slice(*parts))


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
