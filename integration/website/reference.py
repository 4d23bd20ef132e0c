"""Pages of the reference: one per public module, with what its ``__all__`` names, from docstrings."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias

__all__ = ["MODULES", "Definition", "definitions", "index", "module_page", "public_names", "source_of"]

Definition: TypeAlias = ast.FunctionDef | ast.ClassDef

TOP = Path(__file__).resolve().parents[2]

#: public modules: what each is for
MODULES = {
    "tri": "kernels: compiling, launching, tuning",
    "tri.language": "what a kernel is written in; `import tri.language as tl`",
    "tri.language.math": "mathematical functions under Triton's second name, `tl.math`",
    "tri.language.extra.libdevice": "the functions of CUDA's libdevice, on every target",
    "tri.testing": "benchmarks, and comparing results",
    "tri.serving": "recording what a program launches, bundles",
    "tri.tuning": "autotuning and heuristics",
    "tri_core.api": "what backends and extensions are written against",
    "tri_core.errors": "the errors, all of them `TriError`",
    "tri_core.passes": "passes over TTIR",
    "tri_runtime": "what runtimes share: arguments, staging, launching",
    "tri_gpu_dialect.layouts": "linear layouts",
    "tri_gpu_dialect.passes": "passes over TTGIR",
}


def source_of(module: str) -> Path | None:
    """The file of ``module``, a stub beside it left out; None if no package has it."""
    path = module.replace(".", "/")
    candidates = (
        f for p in sorted(TOP.glob("packages/*/src")) for f in (p / path / "__init__.py", p / f"{path}.py")
    )
    return next((file for file in candidates if file.exists()), None)


@cache
def parsed(file: Path) -> ast.Module:
    """The tree of ``file``."""
    return ast.parse(file.read_text())


def _files(module: str) -> list[Path]:
    """The stub of ``module``, if it has one, and its source."""
    source = source_of(module)
    return [f for f in (source.with_suffix(".pyi"), source) if f.exists()] if source else []


def _elsewhere(tree: ast.Module) -> set[str]:
    """Names that ``tree`` imports and that are modules, or no package's of this repository."""
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
        if source_of(node.module) is None or source_of(f"{node.module}.{alias.name}")
    }


def public_names(module: str) -> list[str]:
    """Names in ``__all__`` of ``module`` (or of its stub), modules left out; ValueError if it is no list of
    strings.
    """
    for file in _files(module):
        tree = parsed(file)
        for node in tree.body:
            match node:
                case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                    return sorted(set(ast.literal_eval(value)) - _elsewhere(tree), key=str.lower)
    raise ValueError(f"no package has a module {module} with an __all__")


def definitions(module: str, name: str) -> Iterator[Definition]:
    """The functions and classes that define ``name`` of ``module``, followed through imports: stubs', then sources'."""
    return _definitions(module, name, set())


def _definitions(module: str, name: str, seen: set[tuple[str, str]]) -> Iterator[Definition]:
    if (module, name) in seen:
        return
    seen.add((module, name))
    for entry in (entry for file in _files(module) for entry in _entries(file).get(name, ())):
        if not isinstance(entry, tuple):
            yield entry
        elif entry[0] != module:
            yield from _definitions(*entry, seen)


@cache
def _entries(file: Path) -> dict[str, list[Definition | tuple[str, str]]]:
    """By name, in order: the definitions in ``file``, and module and name of what it imports."""
    found: dict[str, list[Definition | tuple[str, str]]] = {}
    for node in ast.walk(parsed(file)):
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                found.setdefault(node.name, []).append(node)
            case ast.ImportFrom(module=str(module)):
                for alias in node.names:
                    found.setdefault(alias.asname or alias.name, []).append((module, alias.name))
    return found


def module_page(module: str) -> str:
    """The page of ``module``, for mkdocstrings."""
    names = public_names(module)
    shown = [name for name in names if any(definitions(module, name))]
    entries = "".join(f"::: {module}.{name}\n\n" for name in shown)
    rest = ", ".join(f"`{name}`" for name in names if name not in shown)
    others = f"Values and types without a page: {rest}.\n" if rest else ""
    return f"# {module}\n\n{MODULES[module][:1].upper()}{MODULES[module][1:]}.\n\n{entries}{others}"


def index() -> str:
    """The page that lists the modules."""
    rows = "".join(f"| [`{m}`]({m}.md) | {text} | {len(public_names(m))} |\n" for m, text in MODULES.items())
    return (
        "# Reference\n\nEvery public name, from the docstrings. What is not on these pages is internal.\n\n"
        f"| module | for | names |\n| --- | --- | ---: |\n{rows}"
    )
