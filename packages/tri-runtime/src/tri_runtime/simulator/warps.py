"""The warps of a CTA, which run one by one rather than in step."""

from __future__ import annotations

from collections.abc import Collection
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["WarpOrder"]

Mask = npt.NDArray[np.bool_]

#: blocks after which a collective op no longer waits for other warps, which may wait for them
_PATIENCE = 4096
#: blocks that others run after which a warp that can go on does, whatever the policy: they may wait for it
_MOST_LATE = 256


class WarpOrder:
    """Order of warps of ``lanes`` threads, each of which runs as far as it can alone: up to a barrier or one
    of ``collectives``.

    ``collectives`` are the places of ops that several warps do together.  They are left to all that are there when no other warp
    can go on.  ``policy``: the ``first`` or the ``last`` that can go on, a ``random`` one, or a random one but ``one late``;
    but none is passed over forever: one that waits for what a late one does would run instead of it.
    """

    def __init__(self, lanes: int, collectives: Collection[int], policy: str, random: Random) -> None:
        self._lanes, self._collectives, self._policy, self._random = lanes, collectives, policy, random
        self._late = random.randrange(1 << 16)
        self._alone = 0
        #: by warp, the choices of others since it last ran or could not go on
        self._passed_over: dict[int, int] = {}

    def next(self, places: npt.NDArray[Any], done: int) -> tuple[int, Mask]:
        """The place where threads run next, and which; ``places`` of those that do not are ``done``."""
        by_warp = places.reshape(-1, self._lanes).min(axis=1)
        free = [
            w for w, place in enumerate(by_warp.tolist()) if place < done and place not in self._collectives
        ]
        together = not free or (self._alone >= _PATIENCE and len(free) < int((by_warp < done).sum()))
        if together:
            self._alone = 0
            going = [int(p) for p in by_warp if p < done and p in self._collectives]
            place = min(going, default=done)
            return place, places == place
        self._alone += 1
        warp = self._choose(free, len(by_warp))
        place = int(by_warp[warp])
        active = places == place
        first = warp * self._lanes
        active[:first] = False
        active[first + self._lanes :] = False
        return place, active

    def _choose(self, free: list[int], count: int) -> int:
        waited = {w: self._passed_over.get(w, -1) + 1 for w in free}
        chosen = max(free, key=waited.__getitem__)
        if waited[chosen] < _MOST_LATE:
            chosen = self._preferred(free, count)
        waited[chosen] = -1
        self._passed_over = waited
        return chosen

    def _preferred(self, free: list[int], count: int) -> int:
        match self._policy:
            case "first":
                return free[0]
            case "last":
                return free[-1]
            case "one late" if len(free) > 1:
                return self._random.choice([w for w in free if w != self._late % count])
            case _:
                return self._random.choice(free)
