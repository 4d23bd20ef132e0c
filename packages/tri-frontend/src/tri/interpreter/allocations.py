"""The arguments of a launch as memory: bytes that kernels see at an address."""

from __future__ import annotations

import ctypes
from dataclasses import field
from typing import Any

import numpy as np

from tri.interpreter.arrays import Data
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Allocation", "Part"]

_SHIFTS = {1: 0, 2: 1, 4: 2, 8: 3}


@dataclass(eq=False)
class Allocation:
    """The bytes of one argument: ``base`` is the address of the first, ``dtype`` and ``shape`` are for messages."""

    name: str
    base: int
    nbytes: int
    dtype: str
    shape: tuple[int, ...] | None
    writable: bool
    owner: Any
    memory: Data
    _views: dict[np.dtype[Any], Data] = field(default_factory=dict)

    @classmethod
    def at(cls, name: str, base: int, memory_at: int, nbytes: int, **facts: Any) -> Allocation:
        """``nbytes`` bytes that kernels see at ``base`` and that are at ``memory_at`` in this process."""
        raw = memoryview((ctypes.c_uint8 * nbytes).from_address(memory_at))
        return cls(name=name, base=base, nbytes=nbytes, memory=np.frombuffer(raw, np.uint8), **facts)

    def view(self, dtype: np.dtype[Any]) -> Data:
        """The bytes as whole elements of ``dtype``."""
        found = self._views.get(dtype)
        if found is None:
            whole = self.nbytes - self.nbytes % dtype.itemsize
            found = self._views[dtype] = self.memory[:whole].view(dtype)
        return found

    def read(self, offsets: Data, dtype: np.dtype[Any]) -> Data:
        """The elements at ``offsets`` (bytes from ``base``, in bounds)."""
        if _are_multiples(offsets, dtype.itemsize):
            return self.view(dtype)[offsets >> _SHIFTS[dtype.itemsize]]
        return np.ascontiguousarray(self.memory[_bytes(offsets, dtype)]).view(dtype)[..., 0]

    def write(self, offsets: Data, values: Data) -> None:
        """Put ``values`` at ``offsets`` (bytes from ``base``, in bounds)."""
        dtype = values.dtype
        if _are_multiples(offsets, dtype.itemsize):
            self.view(dtype)[offsets >> _SHIFTS[dtype.itemsize]] = values
        else:
            self.memory[_bytes(offsets, dtype)] = np.ascontiguousarray(values[..., None]).view(np.uint8)

    def extent(self, size: int) -> str:
        """Size of the allocation, in elements of ``size`` bytes."""
        shape = "" if self.shape is None else f", shape {self.shape}"
        return f"{self.nbytes // size} ({self.dtype}{shape})"


def _are_multiples(offsets: Data, size: int) -> bool:
    """Of ``size``, a power of two."""
    return not int(np.bitwise_or.reduce(offsets, axis=None)) & (size - 1)


def _bytes(offsets: Data, dtype: np.dtype[Any]) -> Data:
    return np.asarray(offsets[..., None] + np.arange(dtype.itemsize))


@dataclass(frozen=True, slots=True)
class Part:
    """The active ``lanes`` of an access (None: all of them) that go to one allocation, at ``offsets``."""

    target: Allocation
    lanes: Data | None
    offsets: Data
