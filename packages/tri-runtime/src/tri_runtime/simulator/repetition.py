"""Programs that only repeat themselves: loops that what they compute on the way never ends.

What a loop decides by is a part of what it computes: the conditions of its branches, and the operands of what it does to
memory, with all that these are computed from.  A warp that comes to a place again with these values the same, while memory
has stayed as it was, does the same forever, however it counts its turns; one whose counter decides goes on.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tri_core.lazy_dataclasses import dataclass

__all__ = ["Flow", "Repetition"]

Array = npt.NDArray[Any]

#: looks after which it is looked at anew: a program may be in another loop by now
_MOST = 4096


@dataclass
class _Block:
    """Data flow of a block: its values, and those that control depends on; ``arguments`` are forwarded to a
    block, by its index.
    """

    defined: set[int] = field(default_factory=set)
    roots: set[int] = field(default_factory=set)
    arguments: list[tuple[int, tuple[tuple[int, int], ...]]] = field(default_factory=list)


class Flow:
    """Data flow of a kernel's values, by slot and by index of block."""

    def __init__(self) -> None:
        self._blocks: dict[int, _Block] = {}
        self._sources: dict[int, Sequence[int]] = {}
        self._found: dict[frozenset[int], tuple[int, ...]] = {}

    def computes(self, block: int, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """An op of ``block`` that does nothing else."""
        self._block(block).defined.update(outputs)
        self._sources.update(dict.fromkeys(outputs, inputs))

    def acts(self, block: int, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """An op of ``block`` that may do more than compute ``outputs``."""
        self.computes(block, inputs, outputs)
        self._block(block).roots.update(inputs)

    def goes(
        self, block: int, condition: Sequence[int], target: int, given: Iterable[tuple[int, int]]
    ) -> None:
        """``block`` may go to ``target`` by ``condition``; ``given``: slots of its arguments, and of their values."""
        pairs = tuple(given)
        self._block(block).roots.update(condition)
        self._block(block).arguments.append((target, pairs))
        self._block(target).defined.update(argument for argument, _ in pairs)

    def deciding(self, blocks: frozenset[int]) -> tuple[int, ...]:
        """The slots computed in ``blocks`` by which threads that stay in these decide and act."""
        found = self._found.get(blocks)
        if found is None:
            found = self._found[blocks] = self._deciding(blocks)
        return found

    def _deciding(self, blocks: frozenset[int]) -> tuple[int, ...]:
        within = [self._block(number) for number in blocks]
        sources: dict[int, list[int]] = {}
        for block in within:
            for target, pairs in block.arguments:
                for argument, value in pairs if target in blocks else ():
                    sources.setdefault(argument, []).append(value)
        defined = set[int]().union(*(block.defined for block in within))
        waiting = [slot for block in within for slot in block.roots]
        seen: set[int] = set()
        while waiting:
            slot = waiting.pop()
            if slot in defined and slot not in seen:
                seen.add(slot)
                waiting += (*self._sources.get(slot, ()), *sources.get(slot, ()))
        return tuple(sorted(seen))

    def _block(self, number: int) -> _Block:
        return self._blocks.setdefault(number, _Block())


class Repeating(Protocol):
    """The threads of a CTA."""

    @property
    def place(self) -> Array:
        """Block of each thread."""
        ...

    @property
    def values(self) -> Sequence[Any]:
        """By slot the value of each thread, shape (threads, ...), or a tuple of such; None before it is computed."""
        ...


class Repetition:
    """Detection of repeated states for a CTA of warps of ``lanes`` threads, in the blocks ``visited``."""

    def __init__(self, flow: Flow, lanes: int) -> None:
        self._flow, self._lanes = flow, lanes
        self.visited: set[int] = set()
        self._blocks: frozenset[int] = frozenset()
        self._seen: list[set[int]] = []
        self._looks, self._changes = 0, -1

    def look(self, cta: Repeating, changes: int) -> bool:
        """True if each warp of ``cta`` was in its present state before, since memory has changed ``changes``
        times.
        """
        self._looks += 1
        if changes != self._changes or self._looks > _MOST:
            self.visited.clear()
            self._seen = []
            self._changes, self._looks = changes, 0
        if self.visited != self._blocks or not self._seen:
            self._blocks, self._seen = frozenset(self.visited), []
        slots = self._flow.deciding(self._blocks)
        parts = [np.ascontiguousarray(part) for slot in slots for part in _parts(cta.values[slot])]
        warps = range(0, len(cta.place), self._lanes)
        self._seen = self._seen or [set() for _ in warps]
        known = True
        for seen, first in zip(self._seen, warps, strict=True):
            state = zlib.crc32(cta.place[first : first + self._lanes].tobytes())
            for part in parts:
                state = zlib.crc32(part[first : first + self._lanes].tobytes(), state)
            known = known and state in seen
            seen.add(state)
        return known


def _parts(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)
