"""Running a decoded kernel over a grid."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import field
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_core.errors import LaunchError
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.progress import Progress
from tri_runtime.simulator.clocks import Clocks
from tri_runtime.simulator.cluster import Cluster, window
from tri_runtime.simulator.cta import CTA, Executable
from tri_runtime.simulator.global_races import GlobalRaces
from tri_runtime.simulator.memory import Access, Allocation, Memory
from tri_runtime.simulator.program import External, Program, find_kernel, symbols_of
from tri_runtime.simulator.progress import check_progress
from tri_runtime.simulator.running import Place, Running, run_programs
from tri_runtime.simulator.scene import Scene
from tri_runtime.simulator.schedule import Orders, Schedule
from tri_runtime.simulator.tracking import Tracker
from tri_runtime.simulator.weak import WeakMemory

__all__ = ["Machine", "simulate", "upset", "watch"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A kernel and the shape of what runs it.

    The program's symbols are all at the start of shared memory; ``global_spaces`` and ``shared_space`` are LLVM's address spaces.  ``cluster`` CTAs, neighbours along x, run a program together.  ``name`` is
    said where a launch takes long.
    """

    program: Executable
    num_threads: int
    threads_per_warp: int
    shared_bytes: int = 0
    shared_space: int = 3
    global_spaces: tuple[int, ...] = (0, 1)
    check_races: bool = True
    cluster: int = 1
    name: str = "a kernel"
    _shared_base: int = field(default=1 << 16)

    def run(
        self,
        grid: tuple[int, int, int],
        arguments: Sequence[int | float],
        memory: Memory,
        listener: Callable[[Access], None] | None = None,
    ) -> None:
        """Run every CTA of ``grid``, one cluster after the other, more at once only where they wait for each other.

        The CTAs of ``grid`` along x are whole clusters; programs are numbered by cluster.  ``arguments`` are addresses in ``memory`` (global) and scalars.
        """
        memory.scene.sites = self.program.sites
        memory.listener = listener
        given = self.program.given(arguments, self.num_threads)
        programs = (grid[0] // self.cluster, grid[1], grid[2])

        checked: set[Hashable] = set()

        def start(place: Place) -> Running:
            made = self._cluster(place, programs, memory, listener)
            # a CTA alone needs no scheduling within its cluster
            execution = made.run(given) if self.cluster > 1 else made.members[0].run(given)
            return Running(made, _with_progress(execution, made, checked, memory))

        with np.errstate(all="ignore"), Progress(f"simulating {self.name}", math.prod(programs)) as progress:
            run_programs(_places(programs, progress), start, memory)

    def _cluster(
        self, place: Place, programs: Place, memory: Memory, listener: Callable[[Access], None] | None
    ) -> Cluster[CTA]:
        """The CTAs of program ``place``, with their shared memory."""
        scene = memory.scene
        clocks = Clocks(self.num_threads * self.cluster)
        cluster: Cluster[CTA] = Cluster(clocks, self.num_threads, self.threads_per_warp)
        own = [self._shared(rank, clocks, scene, listener) for rank in range(self.cluster)]
        if self.cluster > 1:
            _open_windows(own, self._shared_base)
        for shared in own:
            memories = {**dict.fromkeys(self.global_spaces, memory), self.shared_space: shared}
            symbols = dict.fromkeys(self.program.symbols, self._shared_base)
            CTA(  # which joins the cluster
                self.program,
                self.num_threads,
                self.threads_per_warp,
                memories,
                symbols,
                place,
                programs,
                scene,
                clocks,
                cluster,
                memory,
            )
        return cluster

    def _shared(
        self, rank: int, clocks: Clocks, scene: Scene, listener: Callable[[Access], None] | None
    ) -> Memory:
        """The shared memory of a CTA, at the same addresses in each."""
        tracker = (
            Tracker(self.shared_bytes, clocks, scene, self.threads_per_warp, self.num_threads)
            if self.check_races
            else None
        )
        first = rank * self.num_threads
        shared = Memory("shared", self._shared_base, tracker, scene, listener, first)
        shared.allocate(self.shared_bytes)
        return shared


def _places(programs: Place, progress: Progress) -> Iterator[Place]:
    """Every program, x first; when the next one is asked for, one is done or waits."""
    for z in range(programs[2]):
        for y in range(programs[1]):
            for x in range(programs[0]):
                yield x, y, z
                progress.step()


def _open_windows(own: Sequence[Memory], base: int) -> None:
    """Every CTA of a cluster sees the shared memory of all of them."""
    for shared in own:
        for rank, peer in enumerate(own):
            start = window(base, rank)
            shared.add(
                Allocation(f"shared memory of CTA {rank}", start, peer.contents(base), tracker=peer.tracker)
            )


def _with_progress(
    execution: Iterator[None], cluster: Cluster[CTA], checked: set[Hashable], memory: Memory
) -> Iterator[None]:
    """Run ``cluster``, then check that its threads end in other orders, too, if not ``checked`` before."""
    yield from execution
    for cta in cluster.members:
        memory.leave(cta)
    key = cluster.trace.key()
    if key not in checked:
        check_progress(cluster.trace, cluster.members[0].scene)
        checked.add(key)


def watch(memory: Memory, kernel: str) -> None:
    """Look for data races in global ``memory`` at a launch of ``kernel``."""
    memory.races = GlobalRaces(kernel, memory.scene)


def upset(memory: Memory, orders: Orders | None, is_weak: bool) -> None:
    """Have the next launch done in ``orders``, if any, and see ``memory`` late where ``is_weak``."""
    if orders is not None:
        memory.schedule = Schedule(orders)
    if is_weak:
        memory.weak = WeakMemory(Random(f"memory {None if orders is None else orders.seed}"))


def simulate(
    module: ir.Module,
    name: str,
    grid: tuple[int, int, int],
    arguments: Sequence[Array | float],
    *,
    num_threads: int,
    threads_per_warp: int,
    shared_bytes: int = 0,
    shared_space: int = 3,
    global_space: int = 1,
    externals: Mapping[str, External] | None = None,
    check_races: bool = True,
    check_global_races: bool = False,
    cluster: int = 1,
) -> None:
    """Run kernel ``name`` of ``module`` on every CTA of ``grid``, ``cluster`` of them, neighbours along x, together.

    ``module`` is in the ``llvm`` dialect with machine ops that have a ``simulate`` method.  Arrays (C
    contiguous) are passed as pointers to global memory and written back; bf16 and f8 arrays are given as
    uint16 and uint8.  Raises SimulationError for what hardware would do wrong.
    """
    program = Program(find_kernel(module, name), dict(externals or {}), symbols_of(module))
    if len(program.parameters) != len(arguments):
        raise LaunchError(f"{name} takes {len(program.parameters)} arguments; {len(arguments)} given")
    memory = Memory("global", scene=Scene())
    if check_global_races:
        watch(memory, name)
    places = [
        memory.allocate(a.reshape(-1).view(np.uint8), f"argument {i}") if isinstance(a, np.ndarray) else None
        for i, a in enumerate(arguments)
    ]
    scalars = [a if place is None else place for a, place in zip(arguments, places, strict=True)]
    machine = Machine(
        program=program,
        num_threads=num_threads,
        threads_per_warp=threads_per_warp,
        shared_bytes=shared_bytes,
        shared_space=shared_space,
        global_spaces=(0, global_space),
        check_races=check_races,
        cluster=cluster,
        name=name,
    )
    machine.run(grid, scalars, memory)  # type: ignore[arg-type]  # arrays have become addresses
    for array, place in zip(arguments, places, strict=True):
        if isinstance(array, np.ndarray) and place is not None and array.flags.writeable:
            array.reshape(-1).view(np.uint8)[:] = memory.contents(place)
