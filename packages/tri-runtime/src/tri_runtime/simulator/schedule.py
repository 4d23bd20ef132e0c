"""The order in which the programs of a launch run: one that is hard on kernels that do not synchronise.

Seeded: the same seed gives the same order.  Programs are begun in a random order within a window, run until they are
interrupted, which may be at every access of global memory, and go on by one of three policies: by random priorities (the
one with the highest runs whenever it does not wait; Burckhardt et al., A Randomized Scheduler with Probabilistic
Guarantees of Finding Bugs, 2010), at random, or in turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

__all__ = ["Schedule"]

T = TypeVar("T")

_POLICIES = ("priorities", "random", "turns")
#: how likely an access interrupts its program
_INTERRUPTIONS = {"priorities": 0.05, "random": 0.3, "turns": 1.0}
#: how likely a store of the interrupted CTA becomes visible
_DRAINS = (0.0, 0.1, 0.5)


class Schedule:
    """What comes next in one launch."""

    #: programs that have begun and have not ended, unless those wait for others
    window = 16

    def __init__(self, seed: int) -> None:
        self.random = Random(f"schedule {seed}")
        self.policy = _POLICIES[seed % len(_POLICIES)]
        self._interruption = _INTERRUPTIONS[self.policy]
        self._drain = _DRAINS[seed // len(_POLICIES) % len(_DRAINS)]
        self._priorities: dict[int, float] = {}
        self._turn = 0

    def interrupts(self) -> bool:
        """Whether the access that was just made interrupts its program."""
        return self.random.random() < self._interruption

    def drains(self) -> bool:
        """Whether a store of the CTA that was interrupted becomes visible."""
        return self.random.random() < self._drain

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
