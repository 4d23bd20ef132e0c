"""The driver: every call that the runtime makes.  **This is where your driver goes.**

Write a class with the methods of :class:`Driver` on top of your library (``ctypes``, ``cffi`` or a binding of
your own) and give it out of :func:`connect`.  ``tests/fake_driver.py`` is such a class, without a device.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Protocol

__all__ = ["Driver", "connect"]


class Driver(Protocol):
    """Devices are numbered from 0; addresses, functions and streams are integers, sizes are in bytes.

    A method that fails raises :class:`tri_core.api.DeviceError` with what the driver said.
    """

    def devices(self) -> Sequence[tuple[str, str]]:
        """(architecture, name) of each device; creates no context."""
        ...

    def allocate(self, device: int, nbytes: int) -> int:
        """The address of ``nbytes`` new bytes, aligned to at least 256; OutOfResources when there are none."""
        ...

    def free(self, device: int, address: int) -> None:
        """Give memory back once the work that uses it is done."""
        ...

    def copy_in(self, device: int, destination: int, source: int, nbytes: int) -> None:
        """Copy from the host, after the launches so far."""
        ...

    def copy_out(self, device: int, destination: int, source: int, nbytes: int) -> None:
        """Copy to the host, after the launches so far; returns when the bytes are there."""
        ...

    def load(self, device: int, image: bytes, name: str) -> int:
        """Load the kernel ``name`` of ``image``: a function to launch."""
        ...

    def unload(self, device: int, function: int) -> None:
        """Forget a loaded kernel."""
        ...

    def launch(
        self,
        device: int,
        function: int,
        grid: tuple[int, int, int],
        threads: int,
        stream: int,
        arguments: int,
        nbytes: int,
    ) -> None:
        """Enqueue ``grid`` blocks of ``threads`` threads; returns at once, with the arguments copied.

        ``arguments`` is the host address of ``nbytes`` bytes: all arguments, each aligned as in C.
        """
        ...

    def synchronize(self, device: int) -> None:
        """Wait for all work."""
        ...


@functools.cache
def connect() -> Driver | None:
    """The machine, which is always there."""
    from tri_backend_toy.threads import ToyMachine

    return ToyMachine()
