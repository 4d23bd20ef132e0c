"""A kernel in this process's memory."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Sequence
from typing import Any

from tri_backend_cpu.launch_abi import Facts, facts_symbol, ordered_symbol
from tri_core.api import KernelImage
from tri_core.extern_libraries import BITCODE, SHARED_OBJECT, checked_libraries, paths_by_kind
from tri_runtime import argument_table, check_parameters
from tri_runtime.loader import LoadedObject

__all__ = ["CpuKernel"]


def _shared_objects(given: object) -> list[ctypes.CDLL]:
    """Those of a kernel's libraries that are shared objects, loaded; OptionError where one is another file than it was."""
    found = paths_by_kind(checked_libraries(given), "cpu", (SHARED_OBJECT, BITCODE))
    return [ctypes.CDLL(path) for path in found[SHARED_OBJECT]]


class _Imports(dict[str, int]):
    """Addresses of functions of shared objects, looked up when they are asked for."""

    def __init__(self, libraries: Sequence[ctypes.CDLL]) -> None:
        super().__init__()
        self._libraries = libraries

    def get(self, name: str, default: Any = None) -> Any:
        """The address of ``name`` in the first library that has it."""
        for library in self._libraries:
            with contextlib.suppress(AttributeError):
                return ctypes.cast(library[name], ctypes.c_void_p).value
        return default


class CpuKernel:
    """A loaded kernel: its ``versions``, the one for arrays that are disjoint first.

    LaunchError when the object takes other arguments than a launch passes.
    """

    def __init__(self, image: KernelImage) -> None:
        metadata = image.metadata
        self.name = metadata.name
        self.parameters = metadata.signature.parameters
        symbol = metadata.entry
        self._libraries = _shared_objects(metadata.options.get("extern_libs"))
        self._code = LoadedObject(
            image.data,
            (symbol, facts_symbol(symbol)),
            _Imports(self._libraries) if self._libraries else None,
            optional=(ordered_symbol(symbol),),
        )
        address, facts, *others = self._code.addresses
        self.facts = Facts.from_text(ctypes.string_at(facts))
        #: code and what is to be known of it
        self.versions = [(address, self.facts)]
        if self.facts.ordered is not None:
            self.versions.append((others[0], self.facts.ordered))
        check_parameters(image, self.facts.parameters, argument_table(self.parameters))

    @property
    def apart(self) -> tuple[tuple[int, int, bool], ...]:
        """Pairs of parameters that the first version takes for disjoint, and whether they may also be the same."""
        return tuple((first, second, bool(in_place)) for first, second, in_place in self.facts.apart)

    @property
    def resources(self) -> dict[str, int]:
        """``arena``: bytes of scratch memory per thread."""
        return {"arena": self.facts.arena}
