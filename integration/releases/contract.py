"""Contracts between packages, read from their sources: hooks, stated versions, imported names."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

__all__ = ["Contract", "Imported", "Plugin", "Sources", "imports"]


def _constant(tree: ast.Module, name: str) -> Any:
    """The literal that ``name`` is bound to at the top of a module; None when there is none."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == name for t in node.targets
        ):
            return ast.literal_eval(node.value)
    return None


def _marked(tree: ast.Module, mark: str) -> dict[str, tuple[str, ...]]:
    """Functions decorated with ``mark``, each with its arguments."""
    return {
        node.name: tuple(a.arg for a in node.args.args)
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and any(mark in _names(d) for d in node.decorator_list)
    }


def _names(node: ast.AST) -> set[str]:
    return {
        n.id if isinstance(n, ast.Name) else n.attr
        for n in ast.walk(node)
        if isinstance(n, ast.Name | ast.Attribute)
    }


@dataclass(frozen=True)
class Contract:
    """A version of the hook contract: ``api`` (major, minor), and the arguments of each hook."""

    api: tuple[int, int]
    hooks: Mapping[str, tuple[str, ...]]

    @classmethod
    def parse(cls, text: str) -> Contract:
        """Read a ``hookspecs.py``."""
        tree = ast.parse(text)
        return cls(_constant(tree, "HOOKSPEC_API"), _marked(tree, "hookspec"))

    def owed(self, before: Contract) -> tuple[int, int]:
        """The lowest version that this contract may have after ``before``."""
        major, minor = before.api
        if any(not set(args) <= set(self.hooks.get(hook, ())) for hook, args in before.hooks.items()) or set(
            before.hooks
        ) - set(self.hooks):
            return major + 1, 0
        return before.api if self.hooks == before.hooks else (major, minor + 1)

    def lacks(self, plugin: Plugin) -> str:
        """Reason that this contract does not serve ``plugin``; empty if it does."""
        if plugin.api is not None and (plugin.api[0] != self.api[0] or plugin.api[1] > self.api[1]):
            return f"it has contract {_dotted(self.api)}, the plugin is written for {_dotted(plugin.api)}"
        for hook, arguments in plugin.hooks.items():
            if hook not in self.hooks:
                return f"it has no hook {hook}"
            if unknown := [a for a in arguments if a not in self.hooks[hook]]:
                return f"its {hook} has no argument {', '.join(unknown)}"
        return ""


def _dotted(pair: tuple[int, int]) -> str:
    return f"{pair[0]}.{pair[1]}"


@dataclass(frozen=True)
class Plugin:
    """A plugin module: the contract it states, the ranges it repeats, its hooks with their arguments."""

    api: tuple[int, int] | None
    requires: Mapping[str, str]
    hooks: Mapping[str, tuple[str, ...]]

    @classmethod
    def parse(cls, text: str) -> Plugin:
        """Read a plugin module."""
        tree = ast.parse(text)
        return cls(
            _constant(tree, "TRI_PLUGIN_API"),
            _constant(tree, "TRI_REQUIRES") or {},
            _marked(tree, "hookimpl"),
        )


@dataclass(frozen=True)
class Imported:
    """``from module import name`` at ``line`` of ``file``; ``name`` is empty for ``import module``."""

    module: str
    name: str
    file: Path
    line: int


def imports(source: Path) -> Iterator[Imported]:
    """Imports at run time of the modules below ``source``, without optional ones."""
    for file in sorted(source.rglob("*.py")):
        for node in _executed(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (Imported(alias.name, "", file, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                yield from (Imported(node.module, alias.name, file, node.lineno) for alias in node.names)


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes below ``node``, without those for type checkers and those whose ImportError is caught."""
    for child in ast.iter_child_nodes(node):
        if (isinstance(child, ast.If) and "TYPE_CHECKING" in _names(child.test)) or (
            isinstance(child, ast.Try)
            and any(h.type is not None and _catches_imports(h.type) for h in child.handlers)
        ):
            skipped = child.body
        else:
            yield child
            yield from _executed(child)
            continue
        kept = [c for c in ast.iter_child_nodes(child) if c not in skipped]
        yield from kept
        for part in kept:
            yield from _executed(part)


def _catches_imports(node: ast.expr) -> bool:
    return bool(_names(node) & {"ImportError", "ModuleNotFoundError"})


@dataclass(frozen=True)
class Sources:
    """The sources of one version of a package, below ``root`` (its ``src``)."""

    root: Path

    @cached_property
    def packages(self) -> frozenset[str]:
        """The import packages."""
        return frozenset(p.name for p in self.root.iterdir() if p.is_dir())

    def has(self, imported: Imported) -> bool:
        """True if the module, and the name in it, exist."""
        if self._file(imported.module) is None:
            return False
        return imported.name in ("", "*") or self._defines(imported.module, imported.name)

    def _file(self, module: str) -> Path | None:
        path = self.root.joinpath(*module.split("."))
        found = (path / "__init__.py", path.with_suffix(".py"))
        return next((file for file in found if file.is_file()), path if path.is_dir() else None)

    def _defines(self, module: str, name: str) -> bool:
        if self._file(f"{module}.{name}") is not None:
            return True
        file = self._file(module)
        if file is None or file.is_dir():
            return False
        bound = set(_bound(ast.parse(file.read_text(encoding="utf-8")).body))
        # computed names: only running the module tells
        return bool(bound & {name, "__getattr__", "*"})


def _bound(body: list[ast.stmt]) -> Iterator[str]:
    """Names that statements bind at the top of a module, within branches too."""
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                yield from (alias.asname or alias.name.split(".")[0] for alias in aliases)
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                yield from (
                    n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
                )
            case _:
                for part in ("body", "orelse", "finalbody"):
                    yield from _bound(getattr(node, part, []))
                for handler in getattr(node, "handlers", []):
                    yield from _bound(handler.body)
