"""The target under test: its description, its runtime, and how kernels are compiled for it and launched on it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import tri
from tri_conformance.dtypes import NUMPY
from tri_core.api import (
    BackendError,
    BackendInfo,
    ConformanceProfile,
    DeviceInfo,
    LaunchError,
    Runtime,
    Target,
)
from tri_core.plugins import manager
from tri_core.targets import resolve
from tri_runtime.registry import runtime

__all__ = ["Subject"]

_NAMES = {dtype: name for name, dtype in NUMPY.items()}
_SHORT = {"int": "i", "uint": "u"}


@dataclass(frozen=True)
class Subject:
    """A target by name, as users write it; everything else is asked for when it is needed."""

    name: str

    @cached_property
    def target(self) -> Target:
        """What the backend makes of the name; TargetError for one that is not there."""
        return resolve(self.name)

    @cached_property
    def backend(self) -> BackendInfo:
        """The record of the backend."""
        return manager().backends()[self.target.key.backend]

    @cached_property
    def runtime(self) -> Runtime:
        """The runtime that launches on the target."""
        return runtime(self.target.device_kind)

    @cached_property
    def device(self) -> DeviceInfo:
        """The device that a launch uses."""
        return self.runtime.current_device()

    @cached_property
    def profile(self) -> ConformanceProfile:
        """What the backend declares; nothing, when its plug-in has no such hook."""
        _, plugin = manager().owner(self.target.key.backend)
        if "tri_conformance" not in plugin.hooks:
            return ConformanceProfile()
        found = manager().conformance(self.target)
        if not isinstance(found, ConformanceProfile):
            raise BackendError(
                f"tri_conformance gave {found!r}; a ConformanceProfile is expected",
                backend=self.target.key.backend,
                hook="tri_conformance",
            )
        return found

    @cached_property
    def has_encodings(self) -> bool:
        """Whether a module of the pipeline holds encodings of tensors."""
        from tri_conformance.modules import encodings_of

        return any(True for _ in encodings_of(self))

    def options(self, **given: object) -> Any:
        """Options of the target's own type."""
        return self.target.options_type.parse(given)

    def compile(self, source: Any, **options: object) -> Any:
        """The compiled kernel of ``source``."""
        return tri.compile(source, target=self.target, options=dict(options))

    def launch(
        self,
        kernel: Any,
        grid: tuple[int, ...],
        arguments: Sequence[Any],
        constants: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        """Run ``kernel`` on the target, and wait; NumPy arrays among ``arguments`` are written in place."""
        arrays = [a for a in arguments if isinstance(a, np.ndarray)]
        with self._on_device(arrays) as there, tri.target(self.name):
            placed = iter(there)
            passed = [next(placed) if isinstance(a, np.ndarray) else a for a in arguments]
            kernel[grid](*passed, **(constants or {}), **options)
            self.runtime.synchronize()

    def _on_device(self, arrays: Sequence[Any]) -> Any:
        """A context with ``arrays`` as the target reads them."""
        if self.runtime.host_memory != "refused":
            return nullcontext(arrays)
        if not self.profile.arrays:
            raise LaunchError(
                f"{self.name} refuses host arrays and its conformance profile names no `arrays`",
                remedy="name a context manager that copies host arrays to the device and back",
            )
        module, _, attribute = self.profile.arrays.partition(":")
        return getattr(importlib.import_module(module), attribute)(arrays)

    def source(self, kernel: Any, arguments: Sequence[Any], constants: Mapping[str, Any]) -> Any:
        """``kernel`` specialized to ``arguments``, their addresses being multiples of 16."""
        names = [n for n in kernel.arg_names if n not in constants]
        given = dict(zip(names, arguments, strict=True))
        signature = {n: type_name(given[n]) if n in given else "constexpr" for n in kernel.arg_names}
        hints = {
            (kernel.arg_names.index(n),): [["tt.divisibility", 16]]
            for n, value in given.items()
            if isinstance(value, np.ndarray)
        }
        return tri.ASTSource(kernel, signature, dict(constants), hints)


def type_name(value: Any) -> str:
    """The type of an argument as signatures write it: ``*fp32``, ``i32``."""
    if isinstance(value, np.ndarray):
        return f"*{_brief(_NAMES[value.dtype])}"
    return "fp32" if isinstance(value, float) else "i32"


def _brief(name: str) -> str:
    letters = name.rstrip("0123456789")
    return _SHORT[letters] + name.removeprefix(letters) if letters in _SHORT else name
