"""Rules of assignments and of the statements that hold an expression."""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING, Any

from tri.compiler.binding import bind
from tri.compiler.generator import Exit
from tri.compiler.operators import augmented
from tri.compiler.rules import rule
from tri.compiler.values import NONE, runtime
from tri.language.constexpr import constexpr, unwrap
from tri.language.debug import device_assert
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.generator import Generator


def named(g: Generator, target: ast.expr, node: ast.expr) -> Any:
    """The value of ``node``, its operations named after ``target``."""
    saved = g.hint
    g.hint = target.id if isinstance(target, ast.Name) else saved
    try:
        return g.visit(node)
    finally:
        g.hint = saved


@rule(ast.Assign)
def assign(g: Generator, node: ast.Assign) -> None:
    """``x = ...`` and ``x, y = ...``: numbers become run-time values, but in names that were declared constexpr."""
    value = named(g, node.targets[0], node.value)
    for target in node.targets:
        bind(g, target, value, partial(_as_declared, g))


def _as_declared(g: Generator, name: str, value: Any) -> Any:
    """Value bound to ``name``: ``value`` itself if declared constexpr, else a run-time value."""
    if name not in g.promised:
        return runtime(g.b, value)
    g.promised.discard(name)
    return value


@rule(ast.NamedExpr)
def named_expression(g: Generator, node: ast.NamedExpr) -> Any:
    """``(x := ...)``."""
    value = _as_declared(g, node.target.id, named(g, node.target, node.value))
    bind(g, node.target, value)
    return value


@rule(ast.AugAssign)
def augmented_assign(g: Generator, node: ast.AugAssign) -> None:
    """``x += ...``."""
    if not isinstance(node.target, ast.Name):
        bind(g, node.target, None)  # refuses it
        return
    load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
    saved, g.hint = g.hint, node.target.id
    try:
        x, y = g.visit(load), g.visit(node.value)
        g.b.location = g.ir_location(node)
        value = augmented(g, node, x, y)
    finally:
        g.hint = saved
    bind(g, node.target, runtime(g.b, value))


@rule(ast.AnnAssign)
def annotated_assign(g: Generator, node: ast.AnnAssign) -> None:
    """``x: tl.constexpr = ...`` keeps a compile-time value as one; other annotations say nothing.

    A run-time value stays one under any annotation, as in Triton.  ``x: tl.constexpr`` without a value says
    it of the next assignment.
    """
    constant = _is_constexpr_annotation(node.annotation)
    if node.value is None:
        if constant and isinstance(node.target, ast.Name):
            g.promised.add(node.target.id)
    elif constant:
        bind(g, node.target, named(g, node.target, node.value))
    else:
        bind(g, node.target, runtime(g.b, named(g, node.target, node.value)))


def _is_constexpr_annotation(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id == "constexpr") or (
        isinstance(node, ast.Attribute) and node.attr == "constexpr"
    )


@rule(ast.Expr)
def expression(g: Generator, node: ast.Expr) -> None:
    """An expression for its effect."""
    if not isinstance(node.value, ast.Constant):  # a docstring says nothing
        g.unused = node.value
        g.visit(node.value)


@rule(ast.Pass)
def nothing(g: Generator, node: ast.Pass) -> None:
    """``pass``."""
    return


@rule(ast.Assert)
def assertion(g: Generator, node: ast.Assert) -> None:
    """``assert``: a device assert, also of what is known already, since it may never be reached."""
    condition = g.visit(node.test)
    message = unwrap(g.visit(node.msg)) if node.msg is not None else ""
    device_assert(unwrap(condition), message, _semantic=g.b)


@rule(ast.Return)
def return_(g: Generator, node: ast.Return) -> Exit:
    """``return``."""
    if g.loop is not None:
        raise CompilationError(
            "Cannot have `return` statements inside `while` or `for` statements in triton",
            remedy="leave the loop by its condition, and return after it",
        )
    value = g.visit(node.value) if node.value is not None else NONE
    return Exit(constexpr(value) if value is None else value)
