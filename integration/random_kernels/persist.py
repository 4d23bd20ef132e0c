"""Kernels as JSON: a failure is kept as the program that showed it, and replayed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from integration.random_kernels.productions import PRODUCTIONS
from integration.random_kernels.program import (
    Branch,
    Loop,
    Parameters,
    Program,
    RandomKernel,
    Step,
    Stored,
    View,
)
from integration.random_kernels.source import source
from integration.random_kernels.values import Value

__all__ = ["load", "save"]

_TYPES: dict[str, Callable[..., Any]] = {
    kind.__name__: kind
    for kind in (Branch, Loop, Parameters, Program, RandomKernel, Step, Stored, Value, View)
}


def save(kernel: RandomKernel, path: Path, why: str) -> None:
    """Write ``kernel``, with ``why`` it is kept and its text for readers."""
    content = {"why": why, "text": kernel.source.splitlines(), "kernel": _encoded(kernel)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load(path: Path) -> RandomKernel:
    """The kernel of a file that :func:`save` wrote; its text is made of the program again."""
    kernel: RandomKernel = _decoded(json.loads(path.read_text(encoding="utf-8"))["kernel"])
    assert kernel.program is not None
    return dataclasses.replace(kernel, source=source(kernel.program, PRODUCTIONS))


def _encoded(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        fields = {f.name: _encoded(getattr(value, f.name)) for f in dataclasses.fields(value)}
        fields.pop("source", None)
        return {"is": type(value).__name__, **fields}
    if isinstance(value, tuple):
        return [_encoded(v) for v in value]
    return value


def _decoded(value: Any) -> Any:
    if isinstance(value, dict):
        fields = {name: _decoded(v) for name, v in value.items() if name != "is"}
        kind = _TYPES[value["is"]]
        return kind(**({"source": ""} if kind is RandomKernel else {}), **fields)
    if isinstance(value, list):
        return tuple(_decoded(v) for v in value)
    return value
