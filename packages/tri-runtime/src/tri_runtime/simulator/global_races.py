"""Data races in simulated global memory: between programs, and between the threads of one.

Between programs :mod:`tri_runtime.races` says what is ordered, between the threads of a program (of a cluster, where
several CTAs run it) its vector clocks do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_core.errors import DataRace, RaceAccess, SimulationError
from tri_core.forks import cached_property
from tri_core.lazy_dataclasses import dataclass
from tri_runtime.races import Order, Semantics, Shadow, unchanged
from tri_runtime.simulator.allocation import Allocation
from tri_runtime.simulator.clocks import Clocks
from tri_runtime.simulator.scene import Scene
from tri_runtime.simulator.threads import Threads

__all__ = ["GlobalRaces", "SimulatedDataRace"]

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

#: loads of a program between barriers that are compared with its stores
_MOST_LOADS = 4096
_DONE = {"load": "loaded", "store": "stored", "atomic": "updated by an atomic"}
_BETWEEN_PROGRAMS = (
    "update the element with an atomic (tl.atomic_add, ...), have one program own it, or order the programs with an "
    "atomic that releases after the one access and one that acquires before the other"
)
_BETWEEN_THREADS = (
    "a barrier is missing between them (tl.debug_barrier), or lanes of one store share an address"
)


class SimulatedDataRace(SimulationError, DataRace):
    """A data race in global memory; ``check`` is ``"race"``."""


@dataclass(frozen=True, eq=False)
class _Load:
    """Access of ``threads`` (of the cluster) at ``offsets`` of ``shadow``, ``nbytes`` each, at ``stamp``: a
    load, or a store.
    """

    shadow: Shadow
    offsets: Indices
    threads: Indices
    nbytes: int
    stamp: int
    access: int

    @cached_property
    def extent(self) -> tuple[int, int]:
        """First and last offset."""
        return int(self.offsets.min()), int(self.offsets.max()) + self.nbytes

    def pieces(self) -> tuple[Indices, Indices]:
        """The pieces, and the thread of each."""
        pieces = self.shadow.pieces(self.offsets, self.nbytes)
        return pieces, np.repeat(self.threads, len(pieces) // len(self.threads))

    def is_by(self, pieces: Indices, users: Indices) -> bool:
        """True if it loaded exactly ``pieces``, each by the one of ``users``."""
        mine, readers = self.pieces()
        return np.array_equal(mine, pieces) and np.array_equal(readers, users)


def _among(some: Indices, others: Indices) -> Mask:
    """Mask of ``some`` that are among ``others``; fast where these are one, as of a scalar."""
    if len(others) and (others == others[0]).all():
        return np.asarray(some == others[0])
    return np.isin(some, others)


class GlobalRaces:
    """Finds data races in the global memory of one launch of ``kernel``."""

    def __init__(self, kernel: str, scene: Scene) -> None:
        self._kernel, self._scene, self._order = kernel, scene, Order()
        self._shadows: dict[int, Shadow] = {}
        self._cta: Threads | None = None
        self._first = 0
        #: by program its loads since a barrier of all its threads, and when that was
        self._loads: dict[int, tuple[int, list[_Load]]] = {}

    def enter(self, cta: Threads) -> None:
        """Threads of ``cta`` run from now on."""
        if cta is not self._cta:
            self._cta, self._first = cta, cta.rank * cta.num_threads
            self._order.enter(cta.program_id)

    @property
    def _clocks(self) -> Clocks:
        assert self._cta is not None  # programs access memory, and they have entered
        return self._cta.cluster.clocks

    # --- accesses: offsets into an allocation, one thread of the CTA each -------------------------------------

    def read(self, allocation: Allocation, offsets: Indices, threads: Indices, nbytes: int) -> None:
        """A plain load of ``nbytes`` each; SimulatedDataRace."""
        if self._cta is None or not allocation.writable:
            return
        shadow, pieces = self._pieces(allocation, offsets, nbytes)
        users = threads + self._first
        access = self._access("load", users)
        found = shadow.read(pieces, access)
        if found is not None:
            raise self._between_programs(allocation, shadow, pieces, found, "load", users, nbytes)
        self._check_writers(allocation, shadow, pieces, users, nbytes, "load")
        self._log().append(_Load(shadow, offsets, users, nbytes, self._clocks.now, access))

    def write(
        self, allocation: Allocation, offsets: Indices, threads: Indices, nbytes: int, same: Mask
    ) -> None:
        """A plain store of ``nbytes`` each, ``same`` bytes of which are there already; SimulatedDataRace."""
        if self._cta is None:
            return
        shadow, pieces = self._pieces(allocation, offsets, nbytes)
        users = threads + self._first
        held = np.asarray(same.reshape(len(pieces), -1).all(axis=1))
        changed = np.flatnonzero(~held)
        if len(changed):
            own = np.repeat(users, len(pieces) // len(users))[changed]
            some = pieces[changed]
            self._check_writers(allocation, shadow, some, own, nbytes, "store")
            self._check_loads(allocation, shadow, some, own, nbytes)
        access = self._access("store", users)
        found = shadow.write(pieces, access, held)
        if found is not None:
            raise self._between_programs(allocation, shadow, pieces, found, "store", users, nbytes)
        if len(changed):
            shadow.note("threads", some, own)
        if held.any():  # as if loaded: another value that another thread stores makes a difference
            kept = np.flatnonzero(held)
            mine = np.repeat(users, len(pieces) // len(users))[kept]
            self._log().append(
                _Load(shadow, pieces[kept] * shadow.step, mine, shadow.step, self._clocks.now, access)
            )

    def overwritten(self, allocation: Allocation, offsets: Indices, threads: Indices, wrong: Mask) -> None:
        """SimulatedDataRace where threads (``wrong``) of one store find another's value where they stored."""
        if self._cta is None or not wrong.any():
            return
        row = int(wrong.argmax())
        other = int(np.flatnonzero(offsets == offsets[row])[-1])
        users = threads + self._first
        size = int(np.diff(np.unique(offsets)).min(initial=1 << 20))
        raise self._error(
            allocation, int(offsets[row]), size if size < 1 << 20 else 1, "store", int(users[row]),
            RaceAccess("store", self._scene.place(), self._scene.program, int(users[other])), self._scene.site,
        )  # fmt: skip

    @contextmanager
    def atomic(
        self,
        parts: list[tuple[Allocation, Indices, Indices]],
        nbytes: int,
        semantics: Semantics,
        contents: Callable[[Allocation, Indices], Array],
    ) -> Iterator[None]:
        """Context of an atomic of ``nbytes`` on each of ``parts`` (allocation, offsets, threads)."""
        known = [
            (a, *self._pieces(a, o, nbytes), t + self._first, contents(a, o)) for a, o, t in parts if len(o)
        ]
        for _, shadow, pieces, _, _ in known:
            shadow.acquire(pieces, relaxed=not semantics.acquires)
        yield
        for (allocation, shadow, pieces, users, before), (_, offsets, _) in zip(known, parts, strict=True):
            # a word that is swapped for itself, or partly, may be changed beside that by anybody
            same = unchanged(before, contents(allocation, offsets), len(pieces) // len(before))
            found = shadow.update(pieces, self._access("atomic", users), same, counts_reads=False)
            if found is not None:
                raise self._between_programs(allocation, shadow, pieces, found, "atomic", users, nbytes)
        for _, shadow, pieces, users, _ in known:
            shadow.release(pieces, relaxed=not semantics.releases, is_ordered=self._is_ordered(users))

    def fence(self, semantics: Semantics) -> None:
        """A fence: atomics before it acquire, and those behind it release, what ``semantics`` says."""
        if self._cta is not None:
            self._order.fence(semantics)

    def acquire(self, allocation: Allocation, offsets: Indices, nbytes: int) -> None:
        """A load that waits for others, of ``nbytes`` each, has seen what was released there."""
        if self._cta is not None:
            shadow, pieces = self._pieces(allocation, offsets, nbytes)
            shadow.acquire(pieces)

    def _is_ordered(self, releasing: Indices) -> Callable[[int, Mask], bool]:
        """Predicate of accesses of threads at a time that are ordered before a release by ``releasing``."""
        clocks = self._clocks

        def is_ordered(stamp: int, threads: Mask) -> bool:
            others = np.setdiff1d(np.flatnonzero(threads), releasing)
            if stamp <= clocks.floor or not len(others):
                return True
            stamps = np.full((len(releasing), len(others)), stamp)
            return bool(clocks.ordered(releasing[:, None], others[None, :], stamps).any(axis=0).all())

        return is_ordered

    # --- within a program -------------------------------------------------------------------------------------

    def _check_writers(
        self, allocation: Allocation, shadow: Shadow, pieces: Indices, users: Indices, nbytes: int, kind: str
    ) -> None:
        writes = shadow.last("writes", pieces)
        if writes is None or not (own := self._order.own(writes)).any():
            return
        writers = shadow.last("threads", pieces)
        assert writers is not None  # every store of the program noted its threads
        mine = np.repeat(users, len(pieces) // len(users))
        wrong = own & (writers != mine)
        if (
            kind == "load" and wrong.any()
        ):  # where who stored loads, too, the others have copies of its element
            wrong &= ~_among(pieces, pieces[own & (writers == mine)])
        if wrong.any():
            rows = np.flatnonzero(wrong)
            stamps = self._order.stamps(writes[rows])
            rows = rows[~self._clocks.ordered(mine[rows], writers[rows], stamps)]
            if len(rows):
                row = int(rows[0])
                raise self._between_threads(
                    allocation, shadow, int(pieces[row]), nbytes, kind, int(mine[row]),
                    int(writers[row]), int(writes[row]),
                )  # fmt: skip

    def _check_loads(
        self, allocation: Allocation, shadow: Shadow, pieces: Indices, users: Indices, nbytes: int
    ) -> None:
        """Stores to ``pieces`` by ``users`` against what other threads of the program loaded before."""
        own = np.zeros(len(pieces), np.bool_)
        for name in ("reads", "other reads"):
            recorded = shadow.last(name, pieces)
            own |= False if recorded is None else self._order.own(recorded)
        if not own.any():
            return
        pieces, users = pieces[own], users[own]
        loads = self._log()
        answered = []
        begin, end = int(pieces.min()) * shadow.step, (int(pieces.max()) + 1) * shadow.step
        for load in loads:
            if load.shadow is not shadow or load.extent[0] >= end or load.extent[1] <= begin:
                continue
            if load.is_by(pieces, users):
                answered.append(load)
            elif (found := self._overtaken(load, pieces, users)) is not None:
                row, reader = found
                raise self._between_threads(
                    allocation, shadow, int(pieces[row]), nbytes, "store", int(users[row]),
                    reader, load.access,
                )  # fmt: skip
            elif _among(load.pieces()[0], pieces).all():
                answered.append(load)
        # who stores there next is compared with this store
        for load in answered:
            loads.remove(load)

    def _overtaken(self, load: _Load, pieces: Indices, users: Indices) -> tuple[int, int] | None:
        """The first row of stores to ``pieces`` by ``users`` that ``load`` of another thread may come after, and that.

        Where the storing thread loaded the piece itself, by the same op, the others have copies of its element.
        """
        loaded, readers = load.pieces()
        if len(pieces) == 1:
            who = readers[loaded == pieces[0]]
            late = ~self._clocks.ordered(users[0], who, np.full(len(who), load.stamp))
            return None if (who == users[0]).any() or not late.any() else (0, int(who[late.argmax()]))
        order = np.argsort(loaded, kind="stable")
        low, high = (np.searchsorted(loaded[order], pieces, side) for side in ("left", "right"))
        counts = high - low
        rows = np.repeat(np.arange(len(pieces)), counts)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        who = readers[order][low[rows] + within]
        copies = np.zeros(len(pieces), np.bool_)
        copies[rows[who == users[rows]]] = True
        wrong = ~copies[rows] & ~self._clocks.ordered(users[rows], who, np.full(len(rows), load.stamp))
        if not wrong.any():
            return None
        first = int(wrong.argmax())
        return int(rows[first]), int(who[first])

    def _log(self) -> list[_Load]:
        """The loads of the present program that not all of its threads know of."""
        number, floor = self._order.present.number, self._clocks.floor
        since, loads = self._loads.get(number, (-1, []))
        if since != floor or len(loads) >= _MOST_LOADS:
            loads = [load for load in loads[-_MOST_LOADS // 2 :] if load.stamp > floor]
            self._loads[number] = floor, loads
        return loads

    # --- parts ------------------------------------------------------------------------------------------------

    def _pieces(self, allocation: Allocation, offsets: Indices, nbytes: int) -> tuple[Shadow, Indices]:
        shadow = self._shadows.get(id(allocation))
        if shadow is None:
            shadow = self._shadows[id(allocation)] = Shadow(allocation.data.size, self._order)
        return shadow, shadow.pieces(offsets, nbytes)

    def _access(self, kind: str, users: Indices) -> int:
        clocks = self._clocks
        threads = np.zeros(clocks.num_threads, np.bool_)
        threads[users] = True
        return self._order.access(kind, self._scene.site, clocks.now, threads)

    def _between_programs(
        self,
        allocation: Allocation,
        shadow: Shadow,
        pieces: Indices,
        conflict: Any,
        kind: str,
        users: Indices,
        nbytes: int,
    ) -> SimulatedDataRace:
        order, site = self._order, self._order.site_of(conflict.other)
        other = RaceAccess(
            order.kind_of(conflict.other), self._scene.place(site), order.program_of(conflict.other)
        )
        offset = int(pieces[conflict.index]) * shadow.step
        thread = int(users[conflict.index // (len(pieces) // len(users))])
        return self._error(allocation, offset, min(shadow.step, nbytes), kind, thread, other, site)

    def _between_threads(
        self,
        allocation: Allocation,
        shadow: Shadow,
        piece: int,
        nbytes: int,
        kind: str,
        thread: int,
        other: int,
        access: int,
    ) -> SimulatedDataRace:
        site = self._order.site_of(access)
        earlier = RaceAccess(self._order.kind_of(access), self._scene.place(site), self._scene.program, other)
        size = min(shadow.step, nbytes)
        return self._error(allocation, piece * shadow.step, size, kind, thread, earlier, site)

    def _error(
        self,
        allocation: Allocation,
        offset: int,
        size: int,
        kind: str,
        thread: int,
        other: RaceAccess,
        site: int,
    ) -> SimulatedDataRace:
        scene, inside = self._scene, other.program == self._scene.program
        who = f"thread {other.thread}" if inside else f"program {other.program}"
        return SimulatedDataRace(
            f"{self._kernel}, program {scene.program}: data race on element {offset // size} (of {size} bytes) of "
            f"{allocation.name or 'global memory'}: this {kind} by thread {thread} and what {who} "
            f"{_DONE[other.kind]}{scene.describe(site)} are not ordered",
            location=scene.place(),
            remedy=_BETWEEN_THREADS if inside else _BETWEEN_PROGRAMS,
            check="race",
            program=scene.program,
            thread=thread,
            other=other.location,
            kernel=self._kernel,
            array=allocation.name,
            element=offset // size,
            accesses=(other, RaceAccess(kind, scene.place(), scene.program, thread)),
        )
