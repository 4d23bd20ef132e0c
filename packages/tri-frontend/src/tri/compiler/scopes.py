"""The rule of ``with``: a scope that a plugin declares, whose operations carry a hint."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tri.compiler.branches import statements
from tri.compiler.rules import rule
from tri.language.constexpr import unwrap
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.generator import Generator


@rule(ast.With)
def with_scopes(g: Generator, node: ast.With) -> None:
    """``with scope, ...:``, which binds no name; names that its body binds stay bound behind it, as in Python."""
    from tri.language.hints import attribute_of, expect_scope  # few kernels have a scope

    check_with(node)
    if g.source.returns(node):
        found = next(n for n in ast.walk(node) if isinstance(n, ast.Return))
        raise CompilationError(
            "a return inside of a with",
            remedy="bind the value to a name there, and return it behind the with",
            location=g.source.locate(found),
        )
    scopes = [expect_scope(unwrap(g.visit(item.context_expr))) for item in node.items]
    with g.b.inside([(s.name, attribute_of(g.b, s.value), s.ops) for s in scopes]):
        statements(g, node.body)


def check_with(node: ast.With) -> None:
    """CompilationError for a ``with`` that binds what it enters: a scope has no value."""
    if any(item.optional_vars is not None for item in node.items):
        raise CompilationError("a with that binds a name", remedy="drop the as: a scope has no value")
