"""Driver interface of the runtime; implementations: :mod:`tri_backend_intel.runtime.drivers`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tri_backend_intel.runtime.found import FoundDevice
from tri_backend_intel.runtime.native import Program, Programs
from tri_core.api import KernelImage, Launch, LaunchPlan
from tri_runtime import DeviceMemory

__all__ = ["Driver", "Kernel", "Queue"]


class Queue(Protocol):
    """A device in use: what is put on it runs in order.  ``handle`` is what launches take as a stream."""

    handle: int

    def wait(self) -> None:
        """Wait for all of it; DeviceError, or KernelFault, for what failed meanwhile."""
        ...

    def settle(self) -> None:
        """Wait if work went to queues of callers, which nothing else orders with this one."""
        ...

    def timed(self, function: Callable[[], object]) -> float:
        """Seconds between the first and the last thing that ``function`` puts here."""
        ...

    def fill(self, address: int, value: int, nbytes: int) -> None:
        """Put a fill with the byte ``value`` here."""
        ...


class Kernel(Protocol):
    """A loaded kernel; ``threads`` is the largest work group that the driver runs it in."""

    @property
    def threads(self) -> int:
        """Threads of a work group at most."""
        ...

    @property
    def resources(self) -> dict[str, int]:
        """As of :class:`tri_core.runtime.LoadedKernel`."""
        ...


class Driver(Protocol):
    """A way to devices.  Queues and kernels that are passed in are this driver's own."""

    name: str

    def devices(self) -> tuple[FoundDevice, ...]:
        """Intel's devices, GPUs first, numbered from 0; DeviceError when the driver cannot be loaded."""
        ...

    def open(self, device: FoundDevice) -> Queue:
        """A queue of ``device``; DeviceError when it gives none."""
        ...

    def memory(self, queue: Any) -> DeviceMemory:
        """Memory of the queue's device."""
        ...

    def programs(self, device: FoundDevice, queue: Any) -> Programs | None:
        """Programs that are built and kept; None where the driver cannot be reached for that."""
        ...

    def build(
        self, image: KernelImage, queue: Any, modes: Sequence[str], programs: Programs | None
    ) -> Kernel:
        """The kernel of ``image``, by the option among ``modes`` that spills least; ToolchainError when it cannot be built."""
        ...

    def kernel(self, program: Program, image: KernelImage, queue: Any) -> Kernel:
        """The kernel of ``image`` in a program that was kept."""
        ...

    def launcher(self, kernel: Any, image: KernelImage) -> Launch:
        """A launcher of ``kernel``."""
        ...

    def launch_plan(self, kernel: Any, image: KernelImage) -> LaunchPlan | None:
        """Launch plan for compiled code; None if it cannot launch it."""
        ...

    def check_build(self, selector: str, data: bytes, name: str, options: str) -> None:
        """Build kernel ``name`` of SPIR-V ``data`` for a device; NativeRefused when the driver does not take it."""
        ...
