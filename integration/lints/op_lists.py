"""Lists of ops: what an op is stands in its dialect (``tri_core.ir.traits``), not in the passes that ask."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

__all__ = ["op_lists"]

_OP = re.compile(
    r"(?:arith|math|scf|cf|ub|tt|ttg|ttng|nvm|amdg|ttig|llvm\.intr)\.[a-z]\w*(?:\.\w+)*|(?:tt|ttg|ttng)\.\w+_"
)
#: op names in a list from which on it is one
_LEAST = 4
#: folders whose business ops by name are: dialects and their text, and tables of rules
_TABLES = re.compile(
    r"/dialects?/|/ir/|/text/|/text\.py|/lowering/|/lower/|/rules/|/interpreter/|/simulator/|/machine/|/testing/"
    r"|/compat/|/language/|/vector_math/|/graph/"
)


def _names(value: ast.expr) -> list[str]:
    """Ops that a collection names; a table of rules or of attributes by op is none."""
    if isinstance(value, ast.Dict) and not all(isinstance(v, ast.Constant) for v in value.values):
        return []
    nodes = ast.walk(value)
    texts = [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return [text for text in texts if _OP.fullmatch(text)]


def op_lists(file: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Lines and names of the lists of ops in ``file``."""
    if _TABLES.search(file):
        return
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        name = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
        if len(_names(node.value)) < _LEAST:
            continue
        yield (
            node.lineno,
            f"{name} lists ops: declare what they are in their dialect (tri_core.ir.traits, .effects)",
        )
