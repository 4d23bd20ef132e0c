"""Recording of accesses: the observers of the present launch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tri_runtime.simulator.memory import Access
    from tri_runtime.simulator.scene import Scene
    from tri_runtime.simulator.schedule import Orders
    from tri_runtime.staging import Span

__all__ = [
    "LaunchObserver",
    "active_report",
    "is_weak",
    "listening",
    "reachable",
    "resident",
    "scheduled",
    "schedules",
    "watching",
]


class LaunchObserver(Protocol):
    """Recorder of the accesses of launches."""

    def launch(self, kernel: Any, scene: Scene) -> AbstractContextManager[Callable[[Access], None]]:
        """A listener for one launch of ``kernel``."""
        ...


#: the report of the surrounding ``tri.simulation`` block
active_report: ContextVar[LaunchObserver | None] = ContextVar("tri_simulation", default=None)

#: host memory that kernels reach through pointers that they load
reachable: ContextVar[tuple[Span, ...]] = ContextVar("tri_simulation_arrays", default=())

#: CTAs of a persistent kernel that are resident on the simulated device
resident: ContextVar[int] = ContextVar("tri_simulation_ctas", default=4)

#: whether data races in global memory are looked for
watching: ContextVar[bool] = ContextVar("tri_simulation_races", default=False)

#: whether what CTAs store is seen late by others
is_weak: ContextVar[bool] = ContextVar("tri_simulation_memory", default=False)

#: the order in which a launch is done; None for programs one after the other, warps in step, copies at once
scheduled: ContextVar[Orders | None] = ContextVar("tri_simulation_schedule", default=None)

#: in how many other orders each launch is done as well
schedules: ContextVar[int] = ContextVar("tri_simulation_schedules", default=0)


@contextmanager
def listening(kernel: Any, scene: Scene) -> Iterator[Callable[[Access], None] | None]:
    """The listener for a launch of ``kernel``; None when nobody wants to know."""
    report = active_report.get()
    if report is None:
        yield None
        return
    with report.launch(kernel, scene) as listener:
        yield listener
