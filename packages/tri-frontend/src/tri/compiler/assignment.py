"""Rules of assignments and of the statements that hold an expression."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from tri.compiler.expressions import _BINARY, binary, unpack
from tri.compiler.generator import Exit
from tri.compiler.rules import rule
from tri.compiler.values import NONE, describe, has_tensors, runtime
from tri.language.constexpr import constexpr, unwrap
from tri.language.debug import device_assert, static_assert
from tri.language.tensor import tensor
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


def bind(g: Generator, target: ast.expr, value: Any) -> None:
    """Bind ``value`` to a name or, item by item, to a tuple of targets."""
    if isinstance(target, ast.Name):
        g.names[target.id] = value
        g.lost.pop(target.id, None)
    elif isinstance(target, (ast.Tuple, ast.List)):
        items = unpack(value)
        if any(isinstance(element, ast.Starred) for element in target.elts):
            raise CompilationError(
                "a kernel cannot assign to a starred name", remedy="slice the tuple, e.g. x[1:]"
            )
        if len(items) != len(target.elts):
            raise CompilationError(f"{len(target.elts)} names are assigned {len(items)} values")
        for element, item in zip(target.elts, items, strict=True):
            bind(g, element, item)
    else:
        raise CompilationError(
            "a kernel assigns to names only, not to attributes or items",
            remedy="use tl.store for memory, tl.where to change elements",
        )


@rule(ast.Assign)
def assign(g: Generator, node: ast.Assign) -> None:
    """``x = ...`` and ``x, y = ...``: numbers become run-time values."""
    value = runtime(g.b, named(g, node.targets[0], node.value))
    for target in node.targets:
        bind(g, target, value)


@rule(ast.NamedExpr)
def named_expression(g: Generator, node: ast.NamedExpr) -> Any:
    """``(x := ...)``."""
    value = runtime(g.b, named(g, node.target, node.value))
    bind(g, node.target, value)
    return value


@rule(ast.AugAssign)
def augmented_assign(g: Generator, node: ast.AugAssign) -> None:
    """``x += ...``."""
    if not isinstance(node.target, ast.Name):
        raise CompilationError("a kernel assigns to names only", remedy="use tl.store for memory")
    load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
    saved, g.hint = g.hint, node.target.id
    try:
        x, y = g.visit(load), g.visit(node.value)
        g.b.location = g.ir_location(node)
        if type(node.op) not in _BINARY:
            raise CompilationError("operator @= is not defined in kernels", remedy="use tl.dot")
        value = binary(g, *_BINARY[type(node.op)], x, y)
    finally:
        g.hint = saved
    bind(g, node.target, runtime(g.b, value))


@rule(ast.AnnAssign)
def annotated_assign(g: Generator, node: ast.AnnAssign) -> None:
    """``x: tl.constexpr = ...`` keeps a compile-time value; other annotations say nothing."""
    if node.value is None:
        return
    if not _is_constexpr_annotation(node.annotation):
        bind(g, node.target, runtime(g.b, named(g, node.target, node.value)))
        return
    value = g.visit(node.value)
    if has_tensors(value):
        raise CompilationError(
            f"a constexpr is assigned a run-time value ({describe(value)})",
            remedy="drop the annotation, or compute it from constexprs",
        )
    bind(g, node.target, value)


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
    """``assert``: at compile time for constexprs, else a device assert."""
    condition = g.visit(node.test)
    message = unwrap(g.visit(node.msg)) if node.msg is not None else ""
    check = device_assert if isinstance(condition, tensor) else static_assert
    check(unwrap(condition), message, _semantic=g.b)


@rule(ast.Return)
def return_(g: Generator, node: ast.Return) -> Exit:
    """``return``."""
    if g.loop is not None:
        raise CompilationError(
            "return inside a loop is not supported",
            remedy="leave the loop by its condition, and return after it",
        )
    value = g.visit(node.value) if node.value is not None else NONE
    return Exit(constexpr(value) if value is None else value)
