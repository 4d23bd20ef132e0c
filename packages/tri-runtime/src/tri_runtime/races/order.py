"""Order of accesses between programs on which a program may rely.

An *access* is a number: what one program did at one line at one time.  What a program knows is a set of accesses,
the bits of an integer: those that happen before what it does now.  A release leaves such a set at an address, an
acquire takes it from there (Lamport 1978; vector clocks with a bit per access instead of a count per program).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_core.lazy_dataclasses import dataclass

__all__ = ["RELAXED", "History", "Order", "Semantics"]

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
Program = tuple[int, int, int]

#: sets of accesses at addresses, before those that no address has any more are forgotten
_MOST_SETS = 4096


@dataclass(frozen=True, slots=True)
class Semantics:
    """Ordering of an atomic between programs: acquire and release."""

    acquires: bool = False
    releases: bool = False

    @classmethod
    def named(cls, order: str, scope: str = "") -> Semantics:
        """Of ``relaxed``, ``acquire``, ``release`` or ``acq_rel``; the scope ``cta`` orders no other program."""
        between = scope != "cta"
        return cls(between and order in ("acquire", "acq_rel"), between and order in ("release", "acq_rel"))


RELAXED = Semantics()


@dataclass(slots=True, eq=False)
class History:
    """A program, by its ``id`` in the grid and its ``number`` here: what it did and what it knows of others.

    ``known``: accesses that happen before what it does now; ``current``: its accesses by kind, line and time that it may
    still add to; ``unreleased``: its accesses that no release covers, with the threads that took part.  ``found``: what
    relaxed atomics found where others released, which an acquire fence adds to what is known; ``fence``: the first access
    after the last release fence (0: there was none), ``fenced`` what was known there.
    """

    id: Program
    number: int
    known: int = 0
    current: dict[tuple[str, int, int], int] = field(default_factory=dict)
    unreleased: dict[int, Mask | None] = field(default_factory=dict)
    mask: Mask | None = None
    found: int = 0
    fence: int = 0
    fenced: int = 0


class Order:
    """The happens-before relation of the accesses of one launch; ``present`` is the program that runs."""

    def __init__(self) -> None:
        self._programs: dict[Program, History] = {}
        self._numbers: list[History] = []
        self._made = 1
        #: by access: number of its program, line, time
        self._program = np.full(1024, -1, np.int32)
        self._site = np.zeros(1024, np.int32)
        self._stamp = np.zeros(1024, np.int64)
        self._kinds = [""]
        self._sets: dict[int, int] = {}
        self._by_number: dict[int, int] = {}
        self._next_set = 1
        self._limit = _MOST_SETS
        self._holders: list[Callable[[], Iterable[int]]] = []
        self.present = self.enter((0, 0, 0))

    # --- programs and accesses --------------------------------------------------------------------------------

    def enter(self, program: Program) -> History:
        """Program ``program`` runs from now on."""
        found = self._programs.get(program)
        if found is None:
            found = self._programs[program] = History(program, len(self._numbers))
            self._numbers.append(found)
        self.present = found
        return found

    def access(self, kind: str, site: int, stamp: int = 0, threads: Mask | None = None) -> int:
        """The number of a ``kind`` (load, store, atomic) by the present program at line ``site`` at time ``stamp``, by ``threads``."""
        history = self.present
        key = kind, site, stamp
        found = history.current.get(key)
        if found is None:
            found = history.current[key] = self._new(history.number, site, stamp)
            self._kinds.append(kind)
            history.unreleased[found] = threads
        elif threads is not None:
            before = history.unreleased.get(found)
            history.unreleased[found] = threads if before is None else before | threads
        return found

    def _new(self, program: int, site: int, stamp: int) -> int:
        number = self._made
        if number == len(self._program):
            for name in ("_program", "_site", "_stamp"):
                table = getattr(self, name)
                setattr(self, name, np.concatenate([table, np.full_like(table, -1)]))
        self._program[number], self._site[number], self._stamp[number] = program, site, stamp
        self._made += 1
        return number

    def program_of(self, access: int) -> Program:
        """The program that did ``access``."""
        return self._numbers[self._program[access]].id

    def kind_of(self, access: int) -> str:
        """Kind of ``access``: a load, a store or an atomic."""
        return self._kinds[access]

    def site_of(self, access: int) -> int:
        """The line of ``access``."""
        return int(self._site[access])

    def own(self, accesses: Array) -> Mask:
        """Mask of ``accesses`` that are the present program's."""
        mine: Mask = self._program[accesses] == self.present.number
        return mine

    def stamps(self, accesses: Array) -> Array:
        """The times of ``accesses``."""
        return self._stamp[accesses]

    def before(self, accesses: Array) -> Mask:
        """Mask of ``accesses`` (0: none) that happen before the present access of the program, or are its
        own.
        """
        found = self.own(accesses) | (accesses == 0)
        if self.present.known:
            mask = self._known()
            found |= mask[np.where(accesses < len(mask), accesses, 0)]
        return found

    def _known(self) -> Mask:
        history = self.present
        if history.mask is None:
            raw = history.known.to_bytes(history.known.bit_length() // 8 + 1, "little")
            history.mask = np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little").astype(np.bool_)
        return history.mask

    # --- release and acquire ----------------------------------------------------------------------------------

    def release(
        self, left: int = 0, is_ordered: Callable[[int, Mask], bool] = lambda stamp, threads: True
    ) -> int:
        """The set that the present program leaves where set ``left`` was: what it did and knows, and what was there.

        ``is_ordered(stamp, threads)``: whether what ``threads`` did then is ordered before the release.
        """
        history = self.present
        self._cover(self._made, is_ordered)
        return self._set(history.known | self._by_number.get(left, 0))

    def release_relaxed(
        self, left: int, is_ordered: Callable[[int, Mask], bool] = lambda stamp, threads: True
    ) -> int:
        """The set that a relaxed atomic leaves where set ``left`` was: what a release fence before it covers, if there was one."""
        history = self.present
        if not history.fence:
            return left
        self._cover(history.fence, is_ordered)
        return self._set(history.fenced | self._by_number.get(left, 0))

    def _cover(self, end: int, is_ordered: Callable[[int, Mask], bool]) -> None:
        """Count accesses before number ``end`` that are ordered before a release as released."""
        history = self.present
        covered = [
            access
            for access, threads in history.unreleased.items()
            if access < end and (threads is None or is_ordered(int(self._stamp[access]), threads))
        ]
        for access in covered:
            history.known |= 1 << access
            if access < history.fence:
                history.fenced |= 1 << access
            del history.unreleased[access]
        if covered:
            gone = set(covered)
            history.current = {key: a for key, a in history.current.items() if a not in gone}

    def acquire(self, left: int) -> None:
        """The present program relies on set ``left``."""
        self._rely(self._by_number.get(left, 0))

    def acquire_relaxed(self, left: int) -> None:
        """A relaxed atomic found set ``left``: an acquire fence behind it will rely on that."""
        self.present.found |= self._by_number.get(left, 0)

    def fence(self, semantics: Semantics) -> None:
        """A fence of the present program, which makes relaxed atomics before it acquire, and those behind it release."""
        history = self.present
        if semantics.acquires:
            self._rely(history.found)
        if semantics.releases:
            # what is done from here on gets numbers of its own
            history.fence, history.fenced, history.current = self._made, history.known, {}

    def _rely(self, bits: int) -> None:
        history = self.present
        known = history.known | bits
        if known != history.known:
            history.known, history.mask = known, None

    def _set(self, bits: int) -> int:
        found = self._sets.get(bits)
        if found is None:
            if len(self._sets) >= self._limit:
                self._forget()
            found = self._sets[bits] = self._next_set
            self._by_number[found] = bits
            self._next_set += 1
        return found

    def hold(self, holder: Callable[[], Iterable[int]]) -> None:
        """``holder()`` gives the numbers of the sets that addresses have."""
        self._holders.append(holder)

    def _forget(self) -> None:
        held = {number for holder in self._holders for number in holder()}
        self._by_number = {n: bits for n, bits in self._by_number.items() if n in held}
        self._sets = {bits: n for n, bits in self._by_number.items()}
        self._limit = max(_MOST_SETS, 2 * len(self._sets))
