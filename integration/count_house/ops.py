"""Ops in source: written by string, told apart by name, operands taken by number."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from integration.lints.op_names import counts_operands

__all__ = ["name_tests", "named_ops", "operand_subscripts"]

#: dialects whose ops have classes
_OP = re.compile(
    r"(tt|ttg|ttng|arith|math|scf|cf|gpu|nvg|amdg|ig|llvm|vector|memref|func|xegpu|index)\.[a-z][a-z0-9_.]*"
)


def named_ops(tree: ast.Module) -> Iterator[ast.AST]:
    """Calls with an op's name among their arguments; those that register something for an op are decorators, and do not count."""
    decorators = {id(each) for node in ast.walk(tree) for each in getattr(node, "decorator_list", ())}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and id(node) not in decorators and any(map(_is_op, node.args)):
            yield node


def _is_op(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(_OP.fullmatch(node.value))


def name_tests(tree: ast.Module) -> Iterator[ast.AST]:
    """Comparisons of a ``name`` with the name of an op, or of its beginning."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, comparators=others):
                sides = (left, *others)
                named = any(isinstance(each, ast.Attribute) and each.attr == "name" for each in sides)
                if named and any(_is_op(part) for each in sides for part in ast.walk(each)):
                    yield node
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="name"), attr="startswith")):
                yield node


def operand_subscripts(tree: ast.Module) -> Iterator[ast.AST]:
    """Subscripts of ``operands`` by a constant number."""
    return filter(counts_operands, ast.walk(tree))
