"""Ops known by name and operands by number, in passes and analyses: a budget for each package that may only fall.

Passes ask an op's class (``tri_core.ir.views``), traits and effects instead: a third party's op is then treated as those that
were known when the pass was written.  Dialects, lowerings and tables of rules are about ops by name, and do not count.
"""

from __future__ import annotations

import ast
import re

__all__ = ["BUDGETS", "Counts", "counts", "counts_operands"]

#: tests of an op's name, subscripts of its operands: how many there are by package.  Lower them with each that goes
BUDGETS: dict[str, tuple[int, int]] = {
    "tri-backend-amd": (0, 0),
    "tri-backend-cpu": (0, 0),
    "tri-backend-intel": (26, 17),
    "tri-backend-nvidia": (4, 0),
    "tri-core": (0, 0),
    "tri-gpu-dialect": (3, 4),
}

#: files that this is about, and those among them that are about ops by name
_PASSES = re.compile(
    r"/(analysis|transforms|async_units|passes|plans|tcgen05|mma|tma|schedule)/|/(matrix|edit|stage)\.py$"
)
_TABLES = re.compile(r"/dialects?/|/rules/")

Counts = tuple[int, int]


def counts(file: str, tree: ast.Module) -> Counts:
    """Tests of an op's name, and subscripts of operands by number, in ``file``."""
    if not _PASSES.search(file) or _TABLES.search(file):
        return 0, 0
    nodes = list(ast.walk(tree))
    return sum(map(_asks_name, nodes)), sum(map(counts_operands, nodes))


def _asks_name(node: ast.AST) -> bool:
    match node:
        case ast.Compare(left=left, comparators=others):
            return any(isinstance(each, ast.Attribute) and each.attr == "name" for each in (left, *others))
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="name"), attr="startswith")):
            return True
    return False


def counts_operands(node: ast.AST) -> bool:
    """True if ``node`` takes an operand by a constant number."""
    match node:
        case ast.Subscript(value=ast.Attribute(attr="operands"), slice=ast.Constant()):
            return True
    return False
