"""The target under test: its description, its runtime, and how kernels are compiled for it and launched on it."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import tri
from tri.launch.arrays import describe
from tri.tools.tensor_descriptor import TensorDescriptor
from tri_conformance.dtypes import canonical, name_of
from tri_core.api import (
    BackendError,
    BackendInfo,
    ConformanceProfile,
    DeviceInfo,
    OptionError,
    Runtime,
    Target,
)
from tri_core.forks import cached_property
from tri_core.plugins import manager
from tri_core.target_selection import resolve
from tri_runtime import DeviceMemory, runtime, staged_copies

__all__ = ["Subject", "arrays_in", "options_of", "with_arrays"]

_SHORT = {"int": "i", "uint": "u"}


@dataclass(frozen=True)
class Subject:
    """A target by name, as users write it; everything else is asked for when it is needed.

    ``given``: options, as ``warp_size=8``, that every kernel gets for which a case names no others.
    """

    name: str
    given: tuple[str, ...] = ()

    @cached_property
    def target(self) -> Target:
        """Target that the backend gives for the name; TargetError for an unknown one."""
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
        """Declarations of the backend; empty, if its plug-in has no such hook."""
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

    @property
    def title(self) -> str:
        """The target's name and the options that all kernels get."""
        return " ".join((self.name, *self.given))

    @cached_property
    def common_options(self) -> Mapping[str, object]:
        """``given``, read; OptionError for a word that is no option."""
        return options_of(self.given)

    def undeclared(self, dtypes: Iterable[str]) -> list[str]:
        """Those of ``dtypes`` (Triton's names) that the target's spec has neither natively nor emulated."""
        spec = self.target.spec
        known = {canonical(name) for name in spec.dtypes | spec.emulated_dtypes}
        return [name for name in dtypes if canonical(name) not in known]

    def options(self, **options: object) -> Any:
        """Options of the target's own type."""
        return self.target.options_type.parse({**self.common_options, **options})

    def compile(self, source: Any, **options: object) -> Any:
        """The compiled kernel of ``source``."""
        return tri.compile(source, target=self.target, options={**self.common_options, **options})

    def launch(
        self,
        kernel: Any,
        grid: tuple[int, ...],
        arguments: Sequence[Any],
        constants: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        """Run ``kernel`` on the target, and wait; NumPy arrays in ``arguments`` are written in place."""
        arrays = list(arrays_in(arguments))
        with self._on_device(arrays) as there, tri.target(self.name):
            kernel[grid](
                *with_arrays(tuple(arguments), iter(there)),
                **(constants or {}),
                **{**self.common_options, **options},
            )
            self.runtime.synchronize()

    @contextmanager
    def _on_device(self, arrays: Sequence[Any]) -> Iterator[Sequence[Any]]:
        """``arrays`` as the target reads them: as they are, by the profile's maker, or copies in device memory."""
        if self.runtime.host_memory != "refused":
            yield arrays
        elif self.profile.arrays:
            module, _, attribute = self.profile.arrays.partition(":")
            with getattr(importlib.import_module(module), attribute)(arrays) as there:
                yield there
        else:
            described = [describe(array) for array in arrays]
            with staged_copies(described, self._memory) as addresses:
                pairs = zip(described, addresses, strict=True)
                yield [replace(d, pointer=int(address), device=self.device) for d, address in pairs]

    @property
    def _memory(self) -> DeviceMemory:
        memory = getattr(self.runtime, "memory", None)
        if memory is None:
            raise BackendError(
                f"the runtime of {self.name} refuses host arrays, has no `memory`, and the profile names no `arrays`",
                backend=self.target.key.backend,
                hook="tri_conformance",
                remedy="give the runtime memory(device), as RuntimeBase has it, or name a maker of arrays",
            )
        found: DeviceMemory = memory(self.device)
        return found

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


def options_of(words: Iterable[str]) -> dict[str, object]:
    """The options in ``words`` such as ``warp_size=8``; values are literals of Python, or else text.  OptionError for other words."""
    made: dict[str, object] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name.isidentifier() or not equals:
            raise OptionError(f"{word!r} is no option", remedy="write NAME=VALUE, as num_warps=8")
        try:
            made[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            made[name] = value
    return made


def arrays_in(value: Any) -> Iterator[Any]:
    """The NumPy arrays of an argument or of a sequence of them, in order: in tuples and descriptors too."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, TensorDescriptor):
        yield from arrays_in(value.base)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from arrays_in(item)


def with_arrays(value: Any, arrays: Iterator[Any]) -> Any:
    """``value`` with ``arrays`` in the places of its NumPy arrays, in the order of :func:`arrays_in`."""
    if isinstance(value, np.ndarray):
        return next(arrays)
    if isinstance(value, TensorDescriptor):
        return replace(value, base=with_arrays(value.base, arrays))
    if isinstance(value, (tuple, list)):
        items = [with_arrays(item, arrays) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def type_name(value: Any) -> str:
    """The type of an argument as signatures write it: ``*fp32``, ``i32``."""
    if isinstance(value, np.ndarray):
        return f"*{_brief(name_of(value.dtype))}"
    return "fp32" if isinstance(value, float) else "i32"


def _brief(name: str) -> str:
    letters = name.rstrip("0123456789")
    return _SHORT[letters] + name.removeprefix(letters) if letters in _SHORT else name
