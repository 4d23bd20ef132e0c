"""The kernels, as either compiler compiles them; nothing here imports a compiler.

``cases.json`` holds what launches of the packages' own functions gave.
"""

from __future__ import annotations

import ast
import importlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from integration.published.projects import load

__all__ = ["CASES", "Case", "function_of", "read", "source_of"]

CASES = Path(__file__).parent / "cases.json"


@dataclass(frozen=True)
class Case:
    """A launch: the kernel's ``types`` (of run-time parameters), ``constants`` (as text), parameters that are multiples of 16."""

    label: str
    project: str
    module: str
    kernel: str
    types: Mapping[str, str]
    constants: Mapping[str, str]
    aligned: Sequence[str]
    options: Mapping[str, int]

    @property
    def name(self) -> str:
        return f"{self.label}/{self.kernel}"


def read(path: Path = CASES) -> list[Case]:
    """All cases."""
    return [Case(**entry) for entry in json.loads(path.read_text())]


def function_of(case: Case, folder: Path) -> Any:
    """The kernel of ``case``, without what tunes it, from the packages in ``folder``."""
    found = getattr(load(case.project, case.module, folder), case.kernel)
    # decorators of either compiler hold what they decorate as `fn`; the kernel's own is a plain function
    while hasattr(found.fn, "arg_names"):
        found = found.fn
    return found


def source_of(make: Any, kernel: Any, case: Case) -> Any:
    """Source of ``case`` by ``make`` (``ASTSource`` of either compiler)."""
    signature = {name: case.types.get(name, "constexpr") for name in kernel.arg_names}
    language = importlib.import_module(f"{make.__module__.partition('.')[0]}.language")
    constants = {name: _constant(text, language) for name, text in case.constants.items()}
    attributes = {
        (i,): [["tt.divisibility", 16]] for i, name in enumerate(kernel.arg_names) if name in case.aligned
    }
    return make(kernel, signature, constants, attributes)


def _constant(text: str, language: Any) -> Any:
    """A literal, or what ``tl`` calls so."""
    module, _, name = text.partition(".")
    return getattr(language, name) if module == "tl" else ast.literal_eval(text)
