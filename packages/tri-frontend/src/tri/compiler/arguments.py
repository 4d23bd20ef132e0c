"""The shape of a kernel's arguments: tuples of run-time parameters and constants, and where each of them is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tri.language.constexpr import constexpr
from tri.language.structure import remake
from tri_core.lazy_dataclasses import dataclass

__all__ = ["CONSTEXPR", "Leaf", "Path", "build_tree", "fill", "leaves", "paths"]

#: what a signature says of a constant
CONSTEXPR = "constexpr"

#: a parameter's name, then positions in tuples
Path = tuple[Any, ...]


@dataclass(frozen=True)
class Leaf:
    """A run-time parameter of the compiled kernel: ``t.0`` for the first item of the tuple ``t``."""

    name: str
    path: Path


def paths(signature: Any, path: Path) -> Iterator[tuple[Path, str, Any]]:
    """Every (path, name, text) in what a signature says of one parameter: a text, or a tuple of such."""
    yield from _paths(signature, path, str(path[0]))


def _paths(signature: Any, path: Path, name: str) -> Iterator[tuple[Path, str, Any]]:
    if not isinstance(signature, tuple):
        yield path, name, signature
        return
    fields = getattr(signature, "_fields", range(len(signature)))
    for i, (field, item) in enumerate(zip(fields, signature, strict=True)):
        yield from _paths(item, (*path, i), f"{name}.{field}")


def build_tree(signature: Any, path: Path, leaf: Mapping[Path, str], constants: Mapping[Path, Any]) -> Any:
    """The tuple that the kernel sees, with a :class:`Leaf` or a constexpr in each place."""
    if isinstance(signature, tuple):
        items = [build_tree(item, (*path, i), leaf, constants) for i, item in enumerate(signature)]
        return remake(signature, items)
    return Leaf(leaf[path], path) if path in leaf else constexpr(constants.get(path))


def leaves(tree: Any) -> list[Leaf]:
    """The run-time parameters in a tree, in order."""
    if isinstance(tree, Leaf):
        return [tree]
    return [leaf for item in tree for leaf in leaves(item)] if isinstance(tree, tuple) else []


def fill(tree: Any, value: Callable[[Leaf], Any]) -> Any:
    """The tree with the values of its leaves."""
    if isinstance(tree, Leaf):
        return value(tree)
    return remake(tree, [fill(item, value) for item in tree]) if isinstance(tree, tuple) else tree
