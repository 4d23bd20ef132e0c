"""Reports of the interpreter about a running kernel."""

from __future__ import annotations

from typing import Any

from tri_core import errors
from tri_core.errors import DataRace, DeviceError

__all__ = [
    "AssertionFailed",
    "InvalidAccess",
    "KernelDataRace",
    "KernelDeadlock",
    "KernelError",
    "OffsetOverflow",
    "OutOfBounds",
]


class KernelError(errors.KernelFault):
    """A kernel did something wrong while the interpreter ran it: ``kernel``, ``program`` (x, y, z)."""

    kernel: Any  # its name; core's errors beside it allow None, or do not
    program: tuple[int, int, int] | None


class InvalidAccess(KernelError, errors.InvalidAccess):
    """An access through an address that belongs to no argument, or a store to memory that is read-only."""


class OutOfBounds(InvalidAccess, errors.OutOfBounds):
    """An access outside of its argument: ``parameter``, ``offset`` and ``extent`` (both in bytes)."""


class OffsetOverflow(KernelError):
    """An integer computation wrapped around and its result was used as an address of ``parameter``."""

    parameter: str
    exact: int
    wrapped: int


class AssertionFailed(KernelError, DeviceError):
    """A ``device_assert`` or ``assume`` of a kernel did not hold."""


class KernelDataRace(KernelError, DataRace):
    """Two programs, or two lanes of one store, touch an element, one with a plain store, and nothing orders them."""


class KernelDeadlock(KernelError, DeviceError):
    """Every program waits for what never comes."""
