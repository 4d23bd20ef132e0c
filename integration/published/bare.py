"""Packages without what their ``__init__`` does: a file of kernels is imported, the program around it is not."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

__all__ = ["without_init"]


class _Nothing(ModuleType):
    """A module that has every name and does nothing: what a launcher's file imports beside kernels."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__ = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return mock.MagicMock(name=f"{self.__name__}.{name}")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        del path, target
        is_one = any(name == each or name.startswith(f"{each}.") for each in self._names)
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if is_one else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _Nothing(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing."""


def without_init(package: str, folder: Path, *, nothing: Sequence[str] = ()) -> ModuleType:
    """``package`` in ``folder`` without what its ``__init__`` does (compile C++, say); modules ``nothing``, and what they hold, are empty.

    ImportError where it is not there.
    """
    place = folder / package
    if not place.is_dir():
        raise ImportError(f"{package} is not in {folder}")
    made = ModuleType(package)
    made.__path__ = [str(place)]
    sys.modules[package] = made
    sys.path.append(str(folder))
    sys.meta_path.insert(0, _Finder(nothing))
    return made
