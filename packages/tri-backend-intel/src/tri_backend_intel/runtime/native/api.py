"""Requests to the driver's own interface, OpenCL or Level Zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from tri_core.lazy_dataclasses import dataclass

__all__ = ["Below", "NativeApi", "NativeRefused", "OwnedPrograms"]


class NativeRefused(Exception):
    """The driver refused a module or an image; the text is its log, or the number that it gave."""


class NativeApi(Protocol):
    """Programs (OpenCL) or modules (Level Zero) of one context and device, as handles.

    A handle is released by :meth:`release`, or by the SYCL object that takes it over.
    """

    name: str

    def extensions(self) -> frozenset[str] | None:
        """The SPIR-V extensions that the device takes; None when the driver does not say."""
        ...

    def megahertz(self) -> int | None:
        """The device's highest clock frequency; None when the driver does not say."""
        ...

    def from_spirv(self, data: bytes, options: str) -> int:
        """A built program; NativeRefused with the driver's log."""
        ...

    def from_image(self, data: bytes, options: str) -> int:
        """A program from what :meth:`image` gave; NativeRefused when the driver does not take it."""
        ...

    def image(self, program: int) -> bytes:
        """The driver's binary of ``program``; NativeRefused when it has none."""
        ...

    def spills(self, program: int, kernel: str) -> int | None:
        """Bytes per thread that ``kernel`` spills; None when the driver does not say. NativeRefused without such a kernel."""
        ...

    def release(self, program: int) -> None:
        """Give ``program`` back."""
        ...


class Below(Protocol):
    """Factory of programs on one device, and of kernels from those."""

    api: NativeApi

    def adopt(self, program: int) -> Any:
        """An object that owns the built ``program`` of :attr:`api` from now on."""
        ...

    def has_kernel(self, program: Any, name: str) -> bool:
        """True if such an object has kernel ``name``."""
        ...


@dataclass
class OwnedPrograms:
    """:class:`Below` where what ``adopt`` makes of a program knows its kernels."""

    api: NativeApi
    adopt: Callable[[int], Any]

    def has_kernel(self, program: Any, name: str) -> bool:
        """True if ``program`` has kernel ``name``."""
        return bool(program.has_kernel(name))
