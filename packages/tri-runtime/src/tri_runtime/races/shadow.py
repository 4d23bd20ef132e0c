"""Shadow memory: accesses of programs to each piece of an array since the launch began.

A piece is the largest power of two of bytes that every access so far is made of: an element, mostly.  Arrays of
numbers stand beside the pieces; they are zeroed memory, of which the system gives pages only where one is touched.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tri_core.lazy_dataclasses import dataclass
from tri_runtime.races.order import Order

__all__ = ["Conflict", "Shadow", "unchanged"]

Array = npt.NDArray[Any]
Indices = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

#: bytes of a piece at most
_LARGEST = 16
#: what a store that conflicts with none of them stands for from then on
_ENDED = tuple(f"{other}{name}" for name in ("reads", "updates", "atomics") for other in ("", "other "))


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two accesses that nothing orders: that to piece number ``index`` of those accessed now, and ``other``."""

    index: int
    other: int


def unchanged(old: Array, new: Array, pieces: int) -> Mask:
    """Mask per piece, flat: true if the bytes of ``old`` and ``new`` (of one dtype and shape) are equal."""
    if pieces == 1 and old.dtype.itemsize in (1, 2, 4, 8):
        kind = f"i{old.dtype.itemsize}"
        return np.asarray(old.ravel().view(kind) == new.ravel().view(kind))
    raw = [np.ascontiguousarray(a).view(np.uint8).reshape(-1) for a in (old, new)]
    width = old.dtype.itemsize // pieces
    return np.asarray((raw[0] == raw[1]).reshape(-1, width).all(axis=1))


class Shadow:
    """The accesses to ``nbytes`` bytes.  Methods take pieces (numbers) and return the first conflict, or None.

    Per piece: the last plain store that changed it; since then reads, atomics, and atomics that changed it, of each
    kind two where nothing orders them; the set of accesses that was released there.  A store of what is there already
    counts as a read that nobody's earlier store conflicts with.
    """

    def __init__(self, nbytes: int, order: Order) -> None:
        self.order = order
        self.step = 0
        self._nbytes, self._shift = nbytes, 0
        self._tables: dict[str, Array] = {}
        order.hold(self._sets)

    def pieces(self, offsets: Indices, nbytes: int) -> Indices:
        """The pieces of ``nbytes`` at each of ``offsets`` (bytes, one dimension), flat, in order."""
        below = self.step - 1
        if not self.step or (below and (nbytes | int(np.bitwise_or.reduce(offsets))) & below):
            self._refine(offsets, nbytes)
        first = offsets >> self._shift
        count = nbytes >> self._shift
        return first if count == 1 else (first[:, None] + np.arange(count)).ravel()

    def _refine(self, offsets: Indices, nbytes: int) -> None:
        bits = int(np.bitwise_or.reduce(offsets, initial=nbytes | (self.step or _LARGEST)))
        step = bits & -bits
        if self.step:
            count = -(-self._nbytes // step)
            self._tables = {n: np.repeat(t, self.step // step)[:count] for n, t in self._tables.items()}
        self.step, self._shift = step, step.bit_length() - 1

    def _table(self, name: str) -> Array:
        found = self._tables.get(name)
        if found is None:
            found = self._tables[name] = np.zeros(-(-self._nbytes // self.step), np.int32)
        return found

    # --- accesses ---------------------------------------------------------------------------------------------

    def read(self, pieces: Indices, access: int) -> Conflict | None:
        """A plain read."""
        found = self._conflict(pieces, "writes", "updates")
        if found is None:
            self._remember("reads", pieces, access)
        return found

    def write(self, pieces: Indices, access: int, same: Mask) -> Conflict | None:
        """A plain store; ``same`` where the value is there already."""
        if same.any():
            self._remember("reads", pieces[same], access)
            return self._on(np.flatnonzero(~same), pieces, access)
        return self._write(pieces, access)

    def _on(self, chosen: Indices, pieces: Indices, access: int) -> Conflict | None:
        found = self._write(pieces[chosen], access) if len(chosen) else None
        return found and Conflict(int(chosen[found.index]), found.other)

    def _write(self, pieces: Indices, access: int) -> Conflict | None:
        found = self._conflict(pieces, "writes", "reads", "atomics")
        if found is None:
            self._table("writes")[pieces] = access
            for name in _ENDED:
                if name in self._tables:
                    self._tables[name][pieces] = 0
        return found

    def update(
        self, pieces: Indices, access: int, same: Mask, *, counts_reads: bool = True
    ) -> Conflict | None:
        """An atomic; where it left the value as it was (``same``) it is an atomic read, none if not ``counts_reads``."""
        for chosen, names in (
            (np.flatnonzero(~same), ("writes", "reads")),
            (np.flatnonzero(same), ("writes",) if counts_reads else ()),
        ):
            if not len(chosen) or not names:
                continue
            some = pieces[chosen]
            found = self._conflict(some, *names)
            if found is not None:
                return Conflict(int(chosen[found.index]), found.other)
            self._remember("atomics", some, access)
            if len(names) > 1:
                self._remember("updates", some, access)
        return None

    def _conflict(self, pieces: Indices, *names: str) -> Conflict | None:
        for name in (full for short in names for full in (short, f"other {short}")):
            table = self._tables.get(name)
            if table is None:
                continue
            found = table[pieces]
            if not found.any():
                continue
            wrong = ~self.order.before(found)
            if wrong.any():
                index = int(wrong.argmax())
                return Conflict(index, int(found[index]))
        return None

    def _remember(self, name: str, pieces: Indices, access: int) -> None:
        """Of programs that nothing orders, the first and the last are remembered."""
        first = self._table(name)
        found = first[pieces]
        if found.any():
            before = self.order.before(found)
            if not before.all():
                self._table(f"other {name}")[pieces[~before]] = access
                pieces = pieces[before]
        first[pieces] = access

    # --- threads of a program -----------------------------------------------------------------------------------

    def last(self, name: str, pieces: Indices) -> Array | None:
        """Entries of table ``name`` for ``pieces``; None if it has none."""
        table = self._tables.get(name)
        return None if table is None else table[pieces]

    def note(self, name: str, pieces: Indices, values: Array) -> None:
        """Have table ``name`` say ``values`` of ``pieces``."""
        self._table(name)[pieces] = values

    # --- release and acquire ------------------------------------------------------------------------------------

    def acquire(self, pieces: Indices, *, relaxed: bool = False) -> None:
        """The present program relies on what was released at ``pieces``; ``relaxed``: behind an acquire fence."""
        found = self.last("sets", pieces)
        if found is not None:
            take = self.order.acquire_relaxed if relaxed else self.order.acquire
            for left in np.unique(found):
                take(int(left))

    def release(self, pieces: Indices, *, relaxed: bool = False, **how: Any) -> None:
        """The present program releases at ``pieces``; ``relaxed``: what a release fence covers; ``how``: of :meth:`Order.release`."""
        if relaxed and not self.order.present.fence:
            return
        leave = self.order.release_relaxed if relaxed else self.order.release
        sets = self._table("sets")
        found = sets[pieces]
        for left in np.unique(found):
            sets[pieces[found == left]] = leave(int(left), **how)

    def _sets(self) -> list[int]:
        table = self._tables.get("sets")
        return [] if table is None else [int(n) for n in np.unique(table)]
