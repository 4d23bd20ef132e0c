"""A kernel in this process's memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from tri_backend_cpu.runtime.loader import load_object
from tri_core.api import KernelImage

__all__ = ["CpuKernel"]


class CpuKernel:
    """A loaded kernel: ``address``, the same as a callable ``entry``, and facts of its metadata."""

    def __init__(self, image: KernelImage) -> None:
        metadata = image.metadata
        self.name = metadata.name
        self.parameters = metadata.signature.parameters
        symbol = metadata.entry_points[0] if metadata.entry_points else metadata.name
        self._code = load_object(image.data, symbol)
        self.address = self._code.address
        self.entry: Callable[[int, int], None] = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(
            self.address
        )
        self.arena_bytes = int(metadata.resources.get("arena", 0))
        #: bytes that a program stores, counting a loop's stores once
        self.stored_bytes = int(metadata.resources.get("stored", 0))
        self.assertions: list[dict[str, Any]] = _records(metadata.attrs.get("assertions"))
        self.prints: list[dict[str, Any]] = _records(metadata.attrs.get("prints"))

    @property
    def resources(self) -> dict[str, int]:
        """``arena``: bytes of scratch memory per thread."""
        return {"arena": self.arena_bytes}


def _records(value: object) -> list[dict[str, Any]]:
    return list(value) if isinstance(value, list | tuple) else []
