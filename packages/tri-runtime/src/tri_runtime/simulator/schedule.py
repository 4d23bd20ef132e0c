"""The order in which a launch is done: one that is hard on kernels that do not synchronise.

Seeded: the same seed gives the same order.  Programs are begun in a random order within a window, run until they are
interrupted, which may be at every access of global memory, and go on by one of three policies: by random priorities (the
one with the highest runs whenever it does not wait; Burckhardt et al., A Randomized Scheduler with Probabilistic
Guarantees of Finding Bugs, 2010), at random, or in turns.  The warps of a CTA and its asynchronous copies have policies of
their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from tri_core.lazy_dataclasses import dataclass

__all__ = ["Orders", "Schedule"]

T = TypeVar("T")

_POLICIES = ("priorities", "random", "turns")
#: how likely an access interrupts its program
_INTERRUPTIONS = {"priorities": 0.05, "random": 0.3, "turns": 1.0}
#: how likely a store of the interrupted CTA becomes visible
_DRAINS = (0.0, 0.1, 0.5)
#: which warp of a CTA runs, as far as it goes
_WARPS = ("first", "last", "random", "one late")
#: how likely a copy is done as late as it may be, rather than at once
_LATE = (1.0, 0.0, 0.5)


@dataclass(frozen=True)
class Orders:
    """Permutations in a launch, by ``seed``: of the ``programs``, of the ``warps`` of each CTA, of the
    completion of ``copies``.
    """

    seed: int
    programs: bool = True
    warps: bool = True
    copies: bool = True


class Schedule:
    """Order of events in one launch."""

    def __init__(self, orders: Orders) -> None:
        seed = orders.seed
        self.orders = orders
        self.random = Random(f"schedule {seed}")
        #: for what is not the order of programs, which stays as it is without
        self.inner = Random(f"within programs {seed}")
        #: programs that have begun and have not ended, unless those wait for others
        self.window = 16 if orders.programs else 1
        self.policy = _POLICIES[seed % len(_POLICIES)]
        #: None: warps are in step
        self.warps = _WARPS[seed % len(_WARPS)] if orders.warps else None
        self._late = _LATE[seed // 2 % len(_LATE)] if orders.copies else 0.0
        self._interruption = _INTERRUPTIONS[self.policy] if orders.programs else 0.0
        self._drain = _DRAINS[seed // len(_POLICIES) % len(_DRAINS)]
        self._priorities: dict[int, float] = {}
        self._turn = 0

    def interrupts(self) -> bool:
        """True if the access that was just made interrupts its program."""
        return self.random.random() < self._interruption

    def drains(self) -> bool:
        """True if a store of the interrupted CTA becomes visible."""
        return self.random.random() < self._drain

    def is_late(self) -> bool:
        """True if the copy that is started now reads its source, or writes to global memory, as late as
        allowed.
        """
        return self.inner.random() < self._late

    def choose(self, programs: Sequence[T]) -> T:
        """The program that runs next."""
        if self.policy == "turns":
            self._turn += 1
            return programs[self._turn % len(programs)]
        if self.policy == "random" or self.random.random() < 0.05:
            return self.random.choice(programs)
        return max(programs, key=self._priority)

    def _priority(self, program: object) -> float:
        return self._priorities.setdefault(id(program), self.random.random())
