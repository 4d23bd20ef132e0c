"""Cost of simulated kernels' memory accesses per source line: bank conflicts and coalescing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tri_core.errors import LaunchError
from tri_core.lazy_dataclasses import dataclass
from tri_core.notebooks import html_table
from tri_runtime.dlpack import HOST_DEVICES, read_dlpack
from tri_runtime.simulator.reporting import (
    active_report,
    is_weak,
    reachable,
    resident,
    scheduled,
    watching,
)
from tri_runtime.simulator.reporting import schedules as others
from tri_runtime.simulator.scene import in_kernel
from tri_runtime.simulator.schedule import Orders
from tri_runtime.staging import Span

if TYPE_CHECKING:
    import numpy.typing as npt
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

    from tri_core.errors import SourceLocation
    from tri_core.target import Memory as MemorySpec
    from tri_runtime.simulator.memory import Access
    from tri_runtime.simulator.runtime import SimulatedKernel
    from tri_runtime.simulator.scene import Scene

    Indices = npt.NDArray[np.int64]

__all__ = ["Line", "Report", "simulation"]

#: bytes that global memory moves at once
SECTOR = 32
_TITLE = "memory accesses in the simulator"
#: columns of the table, of text and of numbers
_TEXTS = ("kernel", "line", "memory", "access")
_NUMBERS = ("count", "bytes", "moves", "ideal", "")


@dataclass
class Line:
    """The accesses of one memory by one source line of one kernel.

    ``accesses`` counts warps' instructions; ``nbytes`` what their threads requested.  ``transactions`` is what
    the memory did for them (sectors of 32 bytes of global memory, cycles of shared memory), ``ideal`` the least
    that could have served as many bytes.
    """

    kernel: str
    memory: str
    kind: str
    location: SourceLocation | None
    accesses: int = 0
    nbytes: int = 0
    transactions: int = 0
    ideal: int = 0

    @property
    def efficiency(self) -> float:
        """1 is perfect: no sector fetched in vain, no bank accessed twice."""
        return self.ideal / self.transactions if self.transactions else 1.0

    @property
    def place(self) -> str:
        """``file:line``."""
        if self.location is None:
            return "(compiler)"
        return f"{self.location.file.rsplit('/', 1)[-1]}:{self.location.line}"

    def cells(self) -> tuple[str, ...]:
        """A row of a table: kernel, line, memory, kind; accesses, bytes, transactions, ideal, efficiency."""
        texts = self.kernel, self.place, self.memory, self.kind
        numbers = map(str, (self.accesses, self.nbytes, self.transactions, self.ideal))
        return (*texts, *numbers, f"{self.efficiency:.0%}")


@dataclass
class Report:
    """Memory accesses of the launches in a :func:`simulation` block, by source line.

    Prints as a table with rich; :meth:`picture` draws it (extra ``picture``).
    """

    lines: dict[tuple[str, str, str, str], Line] = field(default_factory=dict)

    @contextmanager
    def launch(self, kernel: SimulatedKernel, scene: Scene) -> Iterator[Callable[[Access], None]]:
        """A listener for one launch of ``kernel``."""
        banks = next((m for m in kernel.target.spec.memories if m.name == "shared"), None)
        warp = kernel.machine.threads_per_warp
        found: dict[tuple[int, str, str], Line] = {}

        def listen(access: Access) -> None:
            key = (access.site, access.memory, access.kind)
            line = found.get(key)
            if line is None:
                line = found[key] = self._line(kernel.name, access, scene)
            _count(line, access, warp, banks)

        yield listen

    def _line(self, kernel: str, access: Access, scene: Scene) -> Line:
        location = in_kernel(scene.place(access.site))
        made = Line(kernel, access.memory, access.kind, location)
        return self.lines.setdefault((kernel, access.memory, access.kind, made.place), made)

    def sorted_lines(self) -> list[Line]:
        """The costliest first: by transactions that a perfect access would not have made."""
        return sorted(self.lines.values(), key=lambda line: line.ideal - line.transactions)

    def table(self) -> Table:
        """A row per source line and kind of access."""
        from rich.table import Table

        table = Table(title=_TITLE)
        for name in _TEXTS:
            table.add_column(name, overflow="fold")
        for name in _NUMBERS:
            table.add_column(name, justify="right", no_wrap=True)
        for line in self.sorted_lines():
            table.add_row(*line.cells(), style="" if line.efficiency > 0.5 else "red")
        return table

    def _repr_html_(self) -> str:
        """HTML for notebooks: the table."""
        return html_table((*_TEXTS, *_NUMBERS), [line.cells() for line in self.sorted_lines()], _TITLE)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.table()

    def picture(self, path: str | None = None) -> Any:
        """A matplotlib figure of ideal and real transactions per line; written to ``path`` if given.

        Needs the extra ``picture`` of tri-runtime.
        """
        from matplotlib.figure import Figure

        lines = self.sorted_lines()[::-1]
        figure = Figure(figsize=(9, 1.2 + 0.4 * max(len(lines), 1)), layout="constrained")
        axes = figure.add_subplot()
        rows = np.arange(len(lines))
        axes.barh(rows, [x.transactions for x in lines], color="#d9796a", label="transactions")
        axes.barh(rows, [x.ideal for x in lines], height=0.4, color="#4c8f8b", label="ideal")
        axes.set_yticks(rows, [f"{x.place}  {x.memory} {x.kind}" for x in lines])
        axes.set_xlabel("sectors of global memory, cycles of shared memory")
        axes.legend(loc="lower right")
        if path is not None:
            figure.savefig(path)
        return figure


@contextmanager
def simulation(
    *,
    report: bool = True,
    arrays: Sequence[Any] = (),
    ctas: int | None = None,
    races: bool | None = None,
    memory: Literal["strong", "weak"] | None = None,
    schedule: int | None = None,
    schedules: int | None = None,
) -> Iterator[Report]:
    """Record the accesses of simulated kernels that are launched inside the ``with`` block, in this thread or task::

        with tri.target("sim:backend:arch"), tri.simulation() as report:
            kernel[grid](array, ...)
        rich.print(report)

    ``report=False`` records nothing (the checks are always made).  ``arrays`` (of any library, in host memory) may
    be touched by kernels that find their addresses in memory: others are out of bounds.  ``ctas``: of a persistent kernel,
    how many are resident on the device at the same time (None: as before, 4 at first).  ``races``: whether a data race in
    global memory, between programs or between threads of one, is an error (DataRace; None: as before, no at first).
    ``memory="weak"``: what CTAs store is seen late by others, and what they have loaded may be old, unless they release and
    acquire (None: as before, ``"strong"`` at first).  ``schedule``: the seed of an order in which programs run that
    interrupts them at accesses, warps of a CTA run ahead of each other, and copies are done late (None: as before, programs one
    after the other, warps in step, copies at once at first).  ``schedules``: each launch is done so many times more, in other orders and with a weak memory;
    SimulationError with ``check="order"`` where one leaves other bits than the first (None: as before, 0 at first).
    """
    made = Report()
    spans = tuple(_span(array) for array in arrays)
    reported = active_report.set(made if report else None)
    reached = reachable.set(reachable.get() + spans)
    occupancy = resident.set(resident.get() if ctas is None else ctas)
    watched = watching.set(watching.get() if races is None else races)
    late = is_weak.set(is_weak.get() if memory is None else memory == "weak")
    order = scheduled.set(scheduled.get() if schedule is None else Orders(schedule))
    times = others.set(others.get() if schedules is None else schedules)
    try:
        yield made
    finally:
        others.reset(times)
        scheduled.reset(order)
        is_weak.reset(late)
        watching.reset(watched)
        resident.reset(occupancy)
        reachable.reset(reached)
        active_report.reset(reported)


def _span(array: Any) -> Span:
    """The bytes of a host array."""
    found = read_dlpack(array)
    if found.device_type not in HOST_DEVICES:
        raise LaunchError(
            "an array that is not in host memory was given to tri.simulation",
            remedy="move it to the host",
        )
    return Span(found.pointer, found.pointer + found.nbytes)


# --- counting ---------------------------------------------------------------------------------------------


def _count(line: Line, access: Access, lanes: int, shared: MemorySpec | None) -> None:
    """Add what ``access`` costs to ``line``."""
    warps = access.threads // lanes
    starts = np.flatnonzero(np.diff(warps, prepend=-1))
    line.accesses += len(starts)
    line.nbytes += len(access.threads) * access.nbytes
    if access.memory == "shared":
        banks, width = (shared.banks, shared.bank_bytes) if shared is not None else (32, 4)
        for addresses in np.split(access.addresses, starts[1:]):
            cycles, ideal = bank_cycles(addresses, access.nbytes, banks, width)
            line.transactions += cycles
            line.ideal += ideal
    else:
        line.transactions += _sectors(access.addresses, access.nbytes, warps)
        line.ideal += _ideal_sectors(access.addresses, access.nbytes, warps)


def _sectors(addresses: Indices, nbytes: int, warps: Indices) -> int:
    """Distinct (warp, sector) pairs that the accesses touch."""
    first, last = addresses // SECTOR, (addresses + nbytes - 1) // SECTOR
    found = [
        np.stack([warps, first + i], axis=1)[first + i <= last]
        for i in range(int((last - first).max(initial=0)) + 1)
    ]
    return len(np.unique(np.concatenate(found), axis=0))


def _ideal_sectors(addresses: Indices, nbytes: int, warps: Indices) -> int:
    """Sectors that each warp's distinct bytes would fill, packed."""
    pairs = np.unique(np.stack([warps, addresses], axis=1), axis=0)
    _, counts = np.unique(pairs[:, 0], return_counts=True)
    return int((-(-counts * nbytes // SECTOR)).sum())


def bank_cycles(addresses: Indices, nbytes: int, banks: int, width: int) -> tuple[int, int]:
    """Cycles that one warp's access of shared memory takes, and the least that as many words need.

    A cycle moves one word of each bank; threads that want the same word share it.  An access wider than a word
    is done by as many threads at a time as fill the banks, in order.
    """
    words = max(-(-nbytes // width), 1)
    together = max(banks // words, 1) if words > 1 else len(addresses)
    cycles = ideal = 0
    for start in range(0, len(addresses), together):
        part = addresses[start : start + together]
        wanted = np.unique((part // width)[:, None] + np.arange(words))
        cycles += int(np.bincount(wanted % banks).max())
        ideal += -(-len(wanted) // banks)
    return cycles, ideal
