"""Imports of a package's modules among each other, and where they go in circles: of files, and of folders.

Three kinds of imports are told apart: those of the module itself, those for type checkers, and those that functions make
when they are called.  Files have no circle by the first two, and none by the first and the last: a function-local import
that hides a circle is a sign of code that stands in the wrong file.  Folders that do not contain each other have none by the
first and the last.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

import networkx as nx

__all__ = ["import_circles"]

Kind = Literal["module", "types", "function"]
#: what two modules are connected by: kinds of imports
AT_ONCE: frozenset[Kind] = frozenset({"module", "types"})
AT_RUN_TIME: frozenset[Kind] = frozenset({"module", "function"})


def import_circles(modules: Mapping[str, Path]) -> Iterator[tuple[Path, int, str]]:
    """File, line and message of each circle among ``modules``, which are given by name."""
    imports = [
        (name, needed, kind)
        for name, path in modules.items()
        for kind, target, names in _imports(ast.parse(path.read_text()))
        for needed in _needed(modules, target, names)
        if needed != name
    ]
    seen: set[str] = set()
    for kinds, what in ((AT_ONCE, "import cycle"), (AT_RUN_TIME, "import cycle through functions")):
        graph: nx.DiGraph[str] = nx.DiGraph()
        # at run time a package's own __init__ was imported before
        graph.add_edges_from(
            (name, needed)
            for name, needed, kind in imports
            if kind in kinds and (kinds is AT_ONCE or not _contains(needed, name))
        )
        for cycle in _cycles(graph):
            if seen.isdisjoint(cycle):
                yield modules[cycle[0]], 1, f"{what}: {' -> '.join([*cycle, cycle[0]])}"
                seen.update(cycle)
    yield from _folder_circles(modules, [(a, b) for a, b, kind in imports if kind in AT_RUN_TIME])


def _folder_circles(
    modules: Mapping[str, Path], imports: Iterable[tuple[str, str]]
) -> Iterator[tuple[Path, int, str]]:
    folders = {name: _folder(name, path) for name, path in modules.items()}
    examples: dict[tuple[str, str], tuple[str, str]] = {}
    for name, needed in imports:
        pair = folders[name], folders[needed]
        if not _contains(pair[0], pair[1]) and not _contains(pair[1], pair[0]):
            examples.setdefault(pair, (name, needed))
    for cycle in _cycles(nx.DiGraph(examples.keys())):
        pairs = zip(cycle, [*cycle[1:], cycle[0]], strict=True)
        shown = ", ".join(f"{' imports '.join(examples[pair])}" for pair in pairs)
        first = modules[examples[cycle[0], cycle[1]][0]]
        yield first, 1, f"folders import each other: {' -> '.join([*cycle, cycle[0]])} ({shown})"


def _cycles(graph: nx.DiGraph[str]) -> Iterator[list[str]]:
    """One cycle of each group of nodes that reach each other."""
    for group in nx.strongly_connected_components(graph):
        if len(group) > 1:
            yield [edge[0] for edge in nx.find_cycle(graph.subgraph(group))]


def _folder(name: str, path: Path) -> str:
    return name if path.name == "__init__.py" else name.rpartition(".")[0]


def _contains(outer: str, inner: str) -> bool:
    """True if a package is another or contains it."""
    return f"{inner}.".startswith(f"{outer}.")


def _needed(modules: Mapping[str, Path], target: str, names: tuple[str, ...]) -> Iterator[str]:
    """The modules of the package that ``from target import names`` needs: submodules alone where they are named."""
    submodules = [f"{target}.{n}" for n in names if f"{target}.{n}" in modules]
    return (needed for needed in submodules or [target] if needed in modules)


def _imports(tree: ast.Module) -> Iterator[tuple[Kind, str, tuple[str, ...]]]:
    """All imports: kind, module, names."""
    found: list[tuple[Kind, ast.AST]] = []

    def visit(node: ast.AST, kind: Kind) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            kind = "function"
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.append((kind, node))
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            for statement in node.body:
                visit(statement, "types")
            for statement in node.orelse:
                visit(statement, kind)
            return
        for child in ast.iter_child_nodes(node):
            visit(child, kind)

    visit(tree, "module")
    for kind, node in found:
        match node:
            case ast.Import():
                yield from ((kind, alias.name, ()) for alias in node.names)
            case ast.ImportFrom(module=str(module), level=0):
                yield kind, module, tuple(alias.name for alias in node.names)
