"""Variables that control a kernel's loops: those that only count iterations, or accumulate loaded values, do
not end a wait.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from types import CodeType

__all__ = ["ignored", "know"]

_LOOPS = (ast.While, ast.For)
#: code of a kernel's function -> its syntax tree, with the lines of the file
_trees: dict[CodeType, ast.FunctionDef] = {}


def know(code: CodeType, tree: ast.FunctionDef) -> None:
    """Have loops of ``code`` looked at in ``tree``."""
    _trees[code] = tree


@cache
def ignored(code: CodeType, line: int) -> frozenset[str]:
    """Variables of ``code`` that change in the innermost loop around ``line`` and by which no loop around it decides.

    A loop decides by the conditions in it, and by the arguments of its calls, with all that these are computed from.
    """
    loops = [loop for loop in _loops(code) if loop.lineno <= line <= (loop.end_lineno or loop.lineno)]
    if not loops:
        return frozenset()
    inner = max(loops, key=lambda loop: loop.lineno)
    outer = min(loops, key=lambda loop: loop.lineno)
    relevant = _names(part for loop in loops for part in _conditions(loop))
    relevant |= _names(part for call in _calls(inner) for part in call)
    sources = list(_assignments(outer))
    while True:
        more = _names(value for targets, value in sources if targets & relevant)
        if more <= relevant:
            break
        relevant |= more
    return frozenset(name for targets, _ in _assignments(inner) for name in targets) - relevant


def _loops(code: CodeType) -> Iterator[ast.While | ast.For]:
    tree = _trees.get(code)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, _LOOPS):
            yield node


def _conditions(loop: ast.AST) -> Iterator[ast.AST]:
    """Conditions for ``loop`` to continue; a range is determined by its variable."""
    for node in ast.walk(loop):
        if isinstance(node, ast.While | ast.If | ast.IfExp | ast.Assert):
            yield node.test
        elif isinstance(node, ast.For | ast.comprehension):
            yield node.iter
            yield node.target


def _calls(loop: ast.AST) -> Iterator[Iterable[ast.AST]]:
    """The operands of calls, and of statements that are neither assignments nor control flow."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Call):
            yield (node.func, *node.args, *(keyword.value for keyword in node.keywords))
        elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield (node,)


def _assignments(loop: ast.AST) -> Iterator[tuple[frozenset[str], ast.AST]]:
    """Names, and what they are bound to."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign):
            yield _names(node.targets), node.value
        elif isinstance(node, ast.AugAssign):
            yield _names([node.target]), node  # whose target is read, too
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            yield _names([node.target]), node.value


def _names(nodes: Iterable[ast.AST]) -> frozenset[str]:
    return frozenset(n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name))
