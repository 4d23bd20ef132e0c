"""A stand-in for AMD's GPU: what packages ask about the architecture is answered, and nothing runs."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import torch

import tri
from integration.published.guards import guarded

__all__ = ["standing_in", "without_init"]

#: compute units of the GPU that an architecture is best known by
_UNITS = {"gfx942": 304, "gfx950": 256, "gfx1201": 32}


@contextmanager
def standing_in(architecture: str) -> Iterator[None]:
    """Answer with ``architecture`` where Triton's driver, PyTorch, or aiter's own query is asked; tensors are in host memory."""
    units = _UNITS[architecture]
    properties = SimpleNamespace(
        gcnArchName=f"{architecture}:sramecc+:xnack-", multi_processor_count=units, major=9, minor=4,
        total_memory=1 << 37, name=architecture, warp_size=64,
    )  # fmt: skip
    with ExitStack() as stack:
        stack.enter_context(guarded("cpu"))
        answers = {
            "get_device_properties": lambda device=None: properties,
            "get_device_capability": lambda device=None: (9, 4),
            "is_available": lambda: True,
        }
        for name, value in answers.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, value))
        stack.enter_context(mock.patch.object(torch.version, "hip", "7.0"))
        # aiter's own query reads these before it asks for a driver
        stack.enter_context(mock.patch.dict(os.environ, {"GPU_ARCHS": architecture, "CU_NUM": str(units)}))
        stack.enter_context(tri.target(f"amd:{architecture}"))
        yield


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
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name in self._names else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _Nothing(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing."""


def without_init(package: str, folder: Path, *, nothing: Sequence[str] = ()) -> ModuleType:
    """``package`` in ``folder`` without what its ``__init__`` does (compile C++, say); modules ``nothing`` are empty.

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
