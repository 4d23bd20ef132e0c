"""The registry of syntax rules: one small function per kind of syntax node."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["RULES", "rule"]

Rule = Callable[[Any, Any], Any]
R = TypeVar("R", bound=Callable[..., Any])

#: node class -> what it generates: a value for expressions, an Exit or None for statements
RULES: dict[type[ast.AST], Rule] = {}


def rule(*nodes: type[ast.AST]) -> Callable[[R], R]:
    """Register a function of (generator, node) as the meaning of ``nodes``."""

    def register(function: R) -> R:
        for node in nodes:
            RULES[node] = function
        return function

    return register
