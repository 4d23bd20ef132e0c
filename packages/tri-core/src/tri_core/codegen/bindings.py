"""llvmlite's bindings without the modules that they need for one line each.  Runs in the worker process only.

They find their library by ``importlib.resources``, which brings archives, temporary files and URLs along, and ask ``platform``
for the processor when they make an execution engine: a third of the worker's time until LLVM is there.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from types import ModuleType
from typing import Any

__all__ = ["import_bindings"]

_BINDINGS = "llvmlite"


class _Folder:
    """The folder of a package, as ``importlib.resources`` gives it."""

    def __init__(self, package: str) -> None:
        self.path = os.path.dirname(os.path.abspath(sys.modules[package].__file__ or ""))

    def __truediv__(self, name: str) -> str:
        return os.path.join(self.path, name)


class _Later(ModuleType):
    """A module that is imported when something of it is asked for."""

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return getattr(importlib.import_module(self.__name__), attribute)


def _resources() -> ModuleType:
    module = ModuleType("importlib.resources")
    vars(module).update(files=_Folder, as_file=nullcontext)
    return module


@contextmanager
def _in_place(modules: Mapping[str, ModuleType]) -> Iterator[None]:
    """While the block runs, an ``import`` of what nobody has imported yet finds ``modules``."""
    placed = {name: module for name, module in modules.items() if name not in sys.modules}
    sys.modules.update(placed)
    try:
        yield
    finally:
        for name, module in placed.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]


def import_bindings() -> None:
    """Import ``llvmlite.binding``; with all that it imports where that is more than the stand-ins have."""
    name = f"{_BINDINGS}.binding"
    try:
        with _in_place({"importlib.resources": _resources(), "platform": _Later("platform")}):
            importlib.import_module(name)
    except Exception:
        for found in [m for m in sys.modules.copy() if m.partition(".")[0] == _BINDINGS]:
            del sys.modules[found]
        importlib.import_module(name)
