"""The runtime protocol: how images are loaded and launched.  One runtime owns one device kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol

from tri_core.abi import Parameter
from tri_core.image import KernelImage
from tri_core.lazy_dataclasses import dataclass
from tri_core.target import DeviceInfo

__all__ = [
    "Argument",
    "ArrayArgument",
    "HiddenNumbers",
    "HostMemory",
    "Launch",
    "LaunchPlan",
    "LoadedKernel",
    "OverlapLaunch",
    "Probe",
    "Runtime",
]

#: what a launcher takes for a parameter: a pointer as an integer, a scalar, or a runtime's own handle
Argument = int | float | Any

#: how host memory gets to kernels: used in place, copied in and out around the launch, or refused
HostMemory = Literal["direct", "staged", "refused"]


@dataclass(frozen=True, slots=True)
class ArrayArgument:
    """An array as a kernel sees it: address in bytes, dtype (Triton's name), place and owner.

    ``device`` is None for host memory.  ``nbytes`` counts from ``pointer`` to the end of the last element.
    ``stream`` is the driver's handle of the stream that orders the work on this array, in libraries where each array
    has one; None where it is the library's current one.
    """

    pointer: int
    dtype: str
    nbytes: int
    device: DeviceInfo | None = None
    writable: bool = True
    owner: object = None
    stream: int | None = None


class LoadedKernel(Protocol):
    """A kernel in a device's memory, with what the driver says of it."""

    @property
    def resources(self) -> dict[str, int]:
        """``registers`` per thread, ``spills`` in bytes, ``threads`` per CTA at most, where known."""
        ...


#: launch(grid, stream, args): grid in CTAs along x, y, z; stream is a driver handle or None (the current)
Launch = Callable[[tuple[int, int, int], int | None, Sequence[Argument]], None]


@dataclass(frozen=True)
class OverlapLaunch:
    """Launch of a kernel on arrays that overlap.

    ``pairs`` are parameters whose arrays the usual launcher takes for disjoint, or for one; ``launch`` is for those of
    which a pair overlaps in another way.  A runtime whose code depends on it has
    ``overlapping(kernel, image) -> OverlapLaunch | None``; of host arrays, launches then look at their extents.
    """

    pairs: tuple[tuple[int, int], ...]
    launch: Launch


@dataclass(frozen=True)
class Probe:
    """A question to the driver about a stream: ``int function(stream, void *out)`` gives 0 and ``value``, of up to 64 bits."""

    function: int
    value: int


@dataclass(frozen=True)
class HiddenNumbers:
    """Hidden parameters of launches on one stream, and the ``probes`` that have to hold for these ``values`` to be right."""

    values: tuple[int, ...] = ()
    probes: tuple[Probe, ...] = ()


@dataclass(frozen=True, eq=False)
class LaunchPlan:
    """All that a launch of one loaded kernel hands to its driver, for code that calls the driver itself.

    A runtime that has ``launch_plan(kernel, image) -> LaunchPlan | None`` lets such code launch instead of its ``launcher``; whatever
    fails or does not fit is left to that.  Functions of the driver are addresses; they give 0 where all went well.

    ``start``: ``int start(const config *, function, void **parameters, void **extra)``; config is ``{u32 grid[3], block[3], shared;
    void *stream, *attributes; u32 attribute_count}``.  The block is ``(threads, 1, 1)``, ``shared`` is in bytes.
    ``parameters``: the kernel's own and the hidden ones behind them; ``descriptors`` of 128 bytes follow, which ``encode`` makes of
    the values of the kernel's own.  ``resident``: CTAs that run at a time, of a persistent kernel (whose first hidden parameters are
    the extents of the grid), else 0.  ``numbers``: the other hidden ones for launches on a stream; None where they are new for every
    launch.  ``cluster``: CTAs along x for each program along x.  ``most_ctas``: the limit of CTAs, 0 for none.  ``context``:
    ``int get(void **out)`` and what it has to give before a launch, where it matters.  ``note`` is called with ``name`` before every launch.
    """

    name: str
    start: int
    function: int
    threads: int
    shared: int
    parameters: tuple[Parameter, ...]
    numbers: Callable[[int], HiddenNumbers | None]
    attributes: int = 0
    attribute_count: int = 0
    descriptors: int = 0
    encode: Callable[[Sequence[Argument]], Sequence[bytes]] | None = None
    resident: int = 0
    most_ctas: int = 0
    cluster: int = 1
    context: tuple[int, int] | None = None
    note: Callable[[str], object] | None = None
    #: pairs of the kernel's own parameters whose arrays must not overlap, each with True where they may begin at one address;
    #: None: memory is not looked at.  A kernel of the host's is launched so by ``run`` of a compiled kernel alone
    apart: tuple[tuple[int, int, bool], ...] | None = None
    #: what has to stay alive as long as the plan: the kernel, attributes
    keep: tuple[object, ...] = ()


class Runtime(Protocol):
    """Loads and launches kernels on devices of one kind; created lazily, once per process and kind."""

    device_kind: str
    host_memory: HostMemory
    fork_safe: bool

    def devices(self) -> Sequence[DeviceInfo]:
        """The devices present; empty when there are none.  Creates no context."""
        ...

    def current_device(self) -> DeviceInfo:
        """The device that a launch would use now; DeviceError when there is none."""
        ...

    def set_device(self, index: int) -> None:
        """Make device ``index`` current for this thread."""
        ...

    def current_stream(self, device: DeviceInfo) -> int:
        """The driver handle of the stream that the surrounding framework uses, or the default one."""
        ...

    def load(self, image: KernelImage, device: DeviceInfo) -> LoadedKernel:
        """Load ``image``; OutOfResources before the driver is asked when a limit is exceeded."""
        ...

    def launcher(self, kernel: LoadedKernel, image: KernelImage) -> Launch:
        """A callable that launches ``kernel`` with as little work per call as possible."""
        ...

    def staged(self, arrays: Sequence[ArrayArgument]) -> AbstractContextManager[Sequence[Argument]]:
        """Device copies of host ``arrays``: handles inside the context, copied back when it ends."""
        ...

    def synchronize(self) -> None:
        """Wait for all work of the current device; raises DeviceError for asynchronous failures."""
        ...

    def elapsed(self, function: Callable[[], object]) -> float:
        """Seconds that the device spent on the work that ``function`` enqueues."""
        ...
