"""Everything that a backend can declare is read, and the page about it runs."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import sys
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tri_gpu_dialect.lowering.primitives import Primitives
from tri_gpu_dialect.policies.async_units import AsyncPolicy, BlockCopies, Specialization
from tri_gpu_dialect.policies.gpu import DefaultPolicy, DotPolicy, PipelinePolicy

TOP = Path(__file__).resolve().parents[2]

POLICIES = (DefaultPolicy, DotPolicy, PipelinePolicy, AsyncPolicy, Specialization, BlockCopies)
#: who asks primitives, as passes and rules call them, and primitives themselves
_ASKS = re.compile(r"(^|\.)(hw|primitives|self|words)$")


@cache
def attributes() -> dict[str, set[str]]:
    """Attributes that the packages read: their names, and the expressions that they are read of."""
    found: dict[str, set[str]] = {}
    for path in TOP.glob("packages/*/src/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                found.setdefault(node.attr, set()).add(ast.unparse(node.value))
    return found


def public(kind: type) -> Iterator[str]:
    """Fields and methods that ``kind`` itself declares."""
    fields = [f.name for f in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
    yield from fields
    yield from (n for n, v in vars(kind).items() if inspect.isfunction(v) and not n.startswith("_"))


@pytest.mark.parametrize("kind", POLICIES, ids=lambda k: k.__name__)
def test_somebody_reads_every_field_of_a_policy(kind: type) -> None:
    assert [name for name in public(kind) if name not in attributes()] == []


def test_somebody_calls_every_primitive() -> None:
    asked = {name for name, owners in attributes().items() if any(map(_ASKS.search, owners))}
    assert [name for name in public(Primitives) if name not in asked] == []


def snippets() -> list[str]:
    """Those of the page in Python."""
    return re.findall(r"```python\n(.*?)```", (TOP / "docs" / "backends.md").read_text(), re.DOTALL)


#: names that the files around a snippet have, as the generated project has them
AROUND = """
from typing import Any
import numpy as np
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import MachineOp

_In, _Out = ext.Operand[Any], ext.Result[Any]

class ACME(ext.Dialect, name="acme_of_the_page"):
    pass
"""


@pytest.mark.parametrize("number", range(len(snippets())))
def test_the_snippets_of_the_page_run(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    page = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", page)  # dataclasses look themselves up there
    exec(compile(AROUND + snippets()[number], f"backends.md, snippet {number}", "exec"), vars(page))
