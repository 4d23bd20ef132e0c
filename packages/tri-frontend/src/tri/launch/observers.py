"""Telling observers about loads and launches; nothing is added to a launch when nobody listens."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tri_core.compiler import CompiledKernel
    from tri_core.plugin_records import Observer
    from tri_core.runtime import Argument, Launch, LoadedKernel, OverlapLaunch, Runtime
    from tri_core.target import DeviceInfo

__all__ = ["AROUND", "Around", "clocked", "observed", "overlap_launch", "tell_load"]

Callback = Callable[[Mapping[str, Any]], None]
#: makes a launcher of a kernel's launcher: see :data:`AROUND`
Around = Callable[["Launch", "CompiledKernel", "Runtime"], "Launch"]

#: what stands around the launchers of kernels that are loaded while it is here
AROUND: list[Around] = []


def _observers() -> Sequence[Observer]:
    from tri_core.plugins import manager

    return manager().observers()


def _tell(observer: Observer, event: str, callback: Callback, facts: Mapping[str, Any]) -> bool:
    """Notify ``observer``; False if it raises, in which case it is dropped, with a warning."""
    from tri_core.compiler.observe import tell
    from tri_core.plugins import manager

    return tell(manager(), observer, event, callback, facts)


def tell_load(kernel: CompiledKernel, device: DeviceInfo) -> None:
    """Say that ``kernel`` was loaded on ``device``."""
    facts = {"kernel": kernel.name, "hash": kernel.metadata.hash, "device": f"{device.kind}:{device.index}"}
    for observer in list(_observers()):
        if observer.kernel_load is not None:
            _tell(observer, "kernel_load", observer.kernel_load, facts)


def clocked(owner: Runtime, stream: int | None, work: Callable[[], object]) -> Callable[[], float | None]:
    """Do ``work``, a launch on ``stream``; a function that waits for it and gives its seconds, None where they cannot be had.

    They are by the device's clock where ``owner`` has one to start and stop (``timer``), else by the host's, with a wait.
    """
    timer = getattr(owner, "timer", None)
    if timer is not None:
        found: Callable[[], float | None] = timer(stream, work)
        return found
    begin = time.perf_counter()
    work()
    owner.synchronize()
    seconds = time.perf_counter() - begin
    return lambda: seconds


def observed(launch: Launch, kernel: CompiledKernel, owner: Runtime) -> Launch:
    """``launch``, of a kernel that ``owner`` loaded, with those who listen called before and after; itself when nobody does."""
    for around in AROUND:
        launch = around(launch, kernel, owner)
    enter = [(o, o.launch_enter) for o in _observers() if o.launch_enter is not None]
    leave = [(o, o.launch_exit) for o in _observers() if o.launch_exit is not None]
    timed = [(o, o.device_times) for o in _observers() if o.device_times is not None]
    if not enter and not leave and not timed:
        return launch

    def launch_and_tell(grid: tuple[int, int, int], stream: int | None, args: Sequence[Argument]) -> None:
        facts = {"kernel": kernel.name, "hash": kernel.metadata.hash, "grid": grid, "stream": stream}
        enter[:] = [(o, callback) for o, callback in enter if _tell(o, "launch_enter", callback, facts)]
        seconds: Callable[[], float | None] | None = None
        if timed:
            seconds = clocked(owner, stream, lambda: launch(grid, stream, args))
        else:
            launch(grid, stream, args)
        leave[:] = [(o, callback) for o, callback in leave if _tell(o, "launch_exit", callback, facts)]
        if timed:
            told: dict[str, Any] = {**facts, "target": str(kernel.metadata.target), "seconds": seconds}
            timed[:] = [(o, callback) for o, callback in timed if _tell(o, "device_times", callback, told)]

    return launch_and_tell


def overlap_launch(owner: Runtime, loaded: LoadedKernel, kernel: CompiledKernel) -> OverlapLaunch | None:
    """Launch of ``loaded`` on arrays that overlap, observed as any launch; None for the usual launch."""
    ask = getattr(owner, "overlapping", None)
    found: OverlapLaunch | None = None if ask is None else ask(loaded, kernel.image)
    if found is None:
        return None
    launch = observed(found.launch, kernel, owner)
    return found if launch is found.launch else replace(found, launch=launch)
