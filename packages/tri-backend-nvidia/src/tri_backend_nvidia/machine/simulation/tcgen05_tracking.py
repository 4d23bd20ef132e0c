"""Simulator state of a CTA's tensor memory, and the errors it reports: see :mod:`tcgen05_simulation`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from tri_core.errors import SimulationError
from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.lowering import SimulatedCTA
from tri_runtime.simulator import CTA, as_cta

__all__ = [
    "COLUMNS",
    "LANES",
    "QUARTERS",
    "WARP",
    "Dot",
    "State",
    "allocated_columns",
    "check_defined",
    "check_dots",
    "check_stamps",
    "check_stores",
    "error",
    "everyone",
    "state_of",
    "whole_warps",
]

Array = npt.NDArray[Any]

#: lanes and columns of tensor memory, lanes of a warp, and how many warps share the lanes
LANES, COLUMNS, WARP, QUARTERS = 128, 512, 32, 4


# --- state ------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Dot:
    """Dots (or copies) under way: the columns that they write, what they read, and the shape that orders them.

    ``left`` is called when what they read in shared memory is read; ``reads``: columns that they read beside their accumulators.
    """

    thread: int
    columns: Array
    shape: tuple[str, int, int]
    left: list[Callable[[], None]]
    site: int
    reads: Array = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass
class Stamps:
    """Last accesses to the quarters and columns of tensor memory: thread, clock, own tick, and op."""

    shape: tuple[int, ...]
    thread: Array = field(init=False)
    time: Array = field(init=False)
    tick: Array = field(init=False)
    site: Array = field(init=False)

    def __post_init__(self) -> None:
        self.thread = np.full(self.shape, -1, np.int64)
        self.time, self.tick = np.zeros(self.shape, np.int64), np.zeros(self.shape, np.int64)
        self.site = np.full(self.shape, -1, np.int64)

    def touch(self, place: Any, thread: int, time: int, tick: int, site: int) -> None:
        """``thread`` touches ``place`` now."""
        self.thread[place], self.time[place] = thread, time
        self.tick[place], self.site[place] = tick, site


@dataclass
class State:
    """Tensor memory of one CTA."""

    threads: int
    words: Array = field(default_factory=lambda: np.zeros((LANES, COLUMNS), np.uint32))
    defined: Array = field(default_factory=lambda: np.zeros((QUARTERS, COLUMNS), np.bool_))
    #: first column of an allocation -> (columns, warp, site)
    allocated: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    gave_up: bool = False
    writes: Stamps = field(default_factory=lambda: Stamps((QUARTERS, COLUMNS)))
    reads: Stamps = field(init=False)
    #: the warp whose store to a place is not waited for
    storing: Array = field(default_factory=lambda: np.full((QUARTERS, COLUMNS), -1, np.int64))
    dots: list[Dot] = field(default_factory=list)
    #: per warp: what stands for a loaded register, and what it will be
    loads: dict[int, dict[bytes, Array]] = field(default_factory=dict)
    tick: int = 0
    before: Array = field(init=False)
    after: Array = field(init=False)
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(5))

    def __post_init__(self) -> None:
        self.reads = Stamps((self.threads // WARP, COLUMNS))
        self.before = np.zeros(self.threads, np.int64)
        self.after = np.zeros(self.threads, np.int64)


_states: WeakKeyDictionary[CTA, State] = WeakKeyDictionary()


def state_of(cta: SimulatedCTA) -> tuple[CTA, State]:
    """The CTA and what is known of its tensor memory, one tick later."""
    real = as_cta(cta)
    found = _states.get(real)
    if found is None:
        found = _states[real] = State(real.num_threads)
        real.at_end.append(lambda: _finish(real))
    found.tick += 1
    return real, found


def error(
    cta: CTA, check: str, message: str, thread: int, remedy: str, other: int | None = None
) -> SimulationError:
    """The error that ``thread`` makes; ``other``: the site that it clashes with."""
    known = None if other is None or other < 0 else other
    return cta.scene.error(check, message, thread=thread, remedy=remedy, other=known)


def _finish(cta: CTA) -> None:
    """The kernel ends: all tensor memory must have been deallocated."""
    state = _states[cta]
    for start, (count, warp, site) in state.allocated.items():
        cta.scene.site = site
        raise error(
            cta,
            "tensor-memory",
            f"columns {start} to {start + count - 1} of tensor memory are never deallocated",
            warp * WARP,
            "deallocate them, by the warp that allocated them",
        )


def whole_warps(cta: CTA, wanted: Array) -> Iterator[int]:
    """The warps whose active threads have ``wanted``; these instructions need all their lanes."""
    mask = (cta.active & wanted).reshape(-1, WARP)
    for warp in np.flatnonzero(mask.any(axis=1)):
        if not mask[warp].all():
            raise error(
                cta,
                "tensor-memory",
                f"only {int(mask[warp].sum())} lanes of warp {warp} come to an instruction of the whole warp",
                int(warp) * WARP,
                "let all lanes of the warp execute it",
            )
        yield int(warp)


def everyone(cta: CTA) -> Array:
    """All threads."""
    return np.ones(cta.num_threads, np.bool_)


# --- checks of accesses -----------------------------------------------------------------------------------


def allocated_columns(cta: CTA, state: State, thread: int, first: int, count: int) -> Array:
    """Columns ``first`` and following; SimulationError unless one allocation has them all."""
    inside = any(s <= first and first + count <= s + n for s, (n, _, _) in state.allocated.items())
    if not inside:
        message = f"columns {first} to {first + count - 1} of tensor memory are not allocated"
        raise error(cta, "out-of-bounds", message, thread, "stay within the columns of one allocation")
    return np.arange(first, first + count)


def check_dots(
    cta: CTA,
    state: State,
    thread: int,
    columns: Array,
    what: str,
    shape: tuple[str, int, int] | None,
    *,
    writes: bool = True,
) -> None:
    """Nobody may touch what a dot under way writes, but the next one of its thread and ``shape``; nor write what it
    reads."""
    for dot in state.dots:
        follows = (dot.thread, dot.shape) == (thread, shape)
        touched = [] if follows else [dot.columns]
        touched += [dot.reads] if writes else []
        if not any(np.isin(columns, each).any() for each in touched):
            continue
        raise error(
            cta,
            "asynchronous",
            f"thread {thread} {what} tensor memory in which a dot is under way",
            thread,
            "commit the dot to a barrier in memory, and wait for it",
            dot.site,
        )


def check_stamps(cta: CTA, state: State, thread: int, stamps: Stamps, place: Any, what: str) -> None:
    """Check that earlier accesses at ``place`` by others are ordered before the current one of ``thread``, by
    threads and by fences.
    """
    own, warp = stamps.thread[place], thread // WARP
    others = (own >= 0) & (own // WARP != warp)
    if not others.any():
        return
    who = np.where(others, own, thread)
    ordered = cta.clocks.ordered(np.full(who.shape, thread), who, stamps.time[place])
    fenced = (state.before[who] > stamps.tick[place]) & (state.after[thread] > stamps.tick[place])
    for missing, check, remedy in (
        (others & ~ordered, "race", "let the threads synchronise at a barrier in between"),
        (
            others & ~fenced,
            "asynchronous",
            "put tcgen05.fence::before_thread_sync and after_thread_sync around the barrier",
        ),
    ):
        if missing.any():
            first = tuple(np.argwhere(missing)[0])
            message = f"thread {thread} {what} tensor memory that thread {own[first]} has touched, unordered"
            raise error(cta, check, message, thread, remedy, int(stamps.site[place][first]))


def check_stores(cta: CTA, state: State, thread: int, place: Any, what: str) -> None:
    """Stores must have been waited for."""
    if (state.storing[place] >= 0).any():
        site = int(state.writes.site[place][state.storing[place] >= 0][0])
        message = f"thread {thread} {what} tensor memory that a store has yet to reach"
        raise error(cta, "asynchronous", message, thread, "wait with tcgen05.wait::st", site)


def check_defined(cta: CTA, state: State, thread: int, place: Any, what: str) -> None:
    """Somebody must have written ``place``."""
    if not state.defined[place].all():
        message = f"thread {thread} {what} tensor memory that nobody has written"
        raise error(cta, "uninitialised", message, thread, "write it first")
