"""Functions and sources of either compiler, made of a record; nothing here imports a compiler before it is asked to.

``triton`` is Triton where it is installed, and tri behind its stand-in elsewhere.
"""

from __future__ import annotations

import importlib
import linecache
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from integration.strangers.record import Kernel

__all__ = ["source_of"]


def source_of(kernel: Kernel, folder: Path, *, ranges: bool = False) -> Any:
    """``ASTSource`` of ``kernel``, whose text goes to files in ``folder``; ``ranges``: pointers reach 2 GB, as AMD's launches find out."""
    functions = _functions(kernel.functions, folder / kernel.key)
    compiler = importlib.import_module("triton.compiler")
    constants = {name: _value(text, functions) for name, text in kernel.constants.items()}
    return compiler.ASTSource(functions[0], dict(kernel.signature), constants, _facts(kernel, ranges))


def _facts(kernel: Kernel, ranges: bool) -> dict[tuple[int, ...], list[list[Any]]]:
    made: dict[tuple[int, ...], list[list[Any]]] = {}
    for number, (name, type_) in enumerate(kernel.signature.items()):
        facts = [list(fact) for fact in kernel.attributes.get(name, ())]
        if ranges and type_.startswith("*"):
            facts.append(["tt.pointer_range", 32])
        if facts:
            made[number,] = facts
    return made


def _functions(texts: Sequence[Mapping[str, Any]], stem: Path) -> list[Any]:
    """The functions; names of values are there before the text runs, those of functions afterwards."""
    triton = importlib.import_module("triton")
    made: list[Any] = []
    spaces = []
    for number, one in enumerate(texts):
        path = stem.with_name(f"{stem.name}_{number}.py")
        path.write_text(one["src"])
        linecache.checkcache(str(path))
        plain = {n: _value(t, []) for n, t in one["globals"].items() if not _calls(t)}
        space: dict[str, Any] = {"__name__": path.stem, **plain}
        exec(compile(one["src"], str(path), "exec", dont_inherit=False), space)
        function = space[one["name"]]
        if one["kind"] == "constexpr_function":
            made.append(triton.constexpr_function(function))
        elif one["kind"] == "plain":
            made.append(function)
        else:
            made.append(triton.jit(function, noinline=one.get("noinline")))
        spaces.append(space)
    for one, space in zip(texts, spaces, strict=True):
        space.update({n: _value(t, made) for n, t in one["globals"].items() if _calls(t)})
    return made


def _calls(text: Mapping[str, Any]) -> bool:
    """True if a function is in the reference ``text``."""
    ((kind, content),) = text.items()
    if kind == "namespace":
        return any(map(_calls, content.values()))
    if kind == "tuple":
        return any(map(_calls, content))
    return kind == "function" or (kind == "constexpr" and _calls(content))


def _value(text: Mapping[str, Any], made: Sequence[Any]) -> Any:
    """Value of a reference."""
    ((kind, content),) = text.items()
    match kind:
        case "function":
            return made[content]
        case "module":
            return importlib.import_module(content)
        case "member":
            return getattr(importlib.import_module(content[0]), content[1])
        case "constexpr":
            return importlib.import_module("triton.language").constexpr(_value(content, made))
        case "tuple":
            return tuple(_value(item, made) for item in content)
        case "namespace":
            # either compiler looks into modules
            space = ModuleType("namespace")
            space.__dict__.update({name: _value(item, made) for name, item in content.items()})
            return space
    return eval(content, {"inf": math.inf, "nan": math.nan})
