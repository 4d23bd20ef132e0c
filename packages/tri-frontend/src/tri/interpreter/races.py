"""Data races of the programs of an interpreted launch: who touched which element, and what orders it.

Programs run one after the other here; that another order would give another result is what is looked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tri.interpreter.allocations import Allocation, Part
from tri.interpreter.arrays import Data
from tri.interpreter.errors import KernelDataRace
from tri.interpreter.location import here, instruction
from tri.interpreter.program import RunningProgram
from tri_core.errors import RaceAccess, SourceLocation
from tri_runtime.races import Conflict, Order, Semantics, Shadow, unchanged

if TYPE_CHECKING:
    from types import CodeType

__all__ = ["Races", "overwritten", "semantics_of"]

#: by the numbers of tt.MemSemantic and tt.MemSyncScope
_ORDERS = {1: "relaxed", 2: "acquire", 3: "release", 4: "acq_rel"}
_SCOPES = {1: "gpu", 2: "cta", 3: "sys"}

_DONE = {"load": "loaded", "store": "stored", "atomic": "updated by an atomic"}
_REMEDY = (
    "update the element with an atomic (tl.atomic_add, tl.atomic_max, ...), have one program own it, "
    "or order the programs with an atomic that releases after the one access and one that acquires before the other"
)


def semantics_of(attributes: Mapping[str, Any]) -> Semantics:
    """Of an atomic op with ``sem`` and ``scope``; without them it is relaxed."""
    return Semantics.named(_ORDERS[attributes.get("sem", 1)], _SCOPES[attributes.get("scope", 1)])


class Races:
    """The accesses of a launch of several programs; arrays that overlap have one :class:`Shadow`."""

    def __init__(self, machine: RunningProgram, allocations: Sequence[Allocation]) -> None:
        self._machine = machine
        self._order = Order()
        self._sites: dict[tuple[CodeType, int], int] = {}
        self._places: list[SourceLocation | None] = []
        self._shadows = _shadows(allocations, self._order)
        #: whether what is done now is part of an atomic, which is recorded as a whole
        self.in_atomic = False

    def enter(self, program: tuple[int, int, int]) -> None:
        """``program`` runs from now on."""
        self._order.enter(program)

    def read(self, part: Part, size: int) -> None:
        """A plain load of ``size`` bytes per lane; KernelDataRace."""
        if self.in_atomic or not part.target.writable:
            return  # what nobody can write needs no watching
        shadow, pieces = self._pieces(part, size)
        found = shadow.read(pieces, self._access("load"))
        if found is not None:
            raise self._error(part, size, shadow, pieces, found, "load")

    def write(self, part: Part, old: Data, new: Data) -> None:
        """A plain store of ``new`` where ``old`` was; KernelDataRace."""
        if self.in_atomic:
            return
        size = new.dtype.itemsize
        shadow, pieces = self._pieces(part, size)
        same = unchanged(old, new, pieces.size // max(old.size, 1))
        found = shadow.write(pieces, self._access("store"), same)
        if found is not None:
            raise self._error(part, size, shadow, pieces, found, "store")

    @contextmanager
    def atomic(self, parts: Sequence[Part], size: int, semantics: Semantics) -> Iterator[None]:
        """Context of one atomic of ``size`` bytes on ``parts``; KernelDataRace at its end."""
        known = [(part, *self._pieces(part, size)) for part in parts]
        kind = np.dtype(f"i{size}")
        old = [part.target.read(part.offsets, kind) for part in parts]
        if semantics.acquires:
            for _, shadow, pieces in known:
                shadow.acquire(pieces)
        self.in_atomic = True
        try:
            yield
        finally:
            self.in_atomic = False
        for (part, shadow, pieces), before in zip(known, old, strict=True):
            after = part.target.read(part.offsets, kind)
            same = unchanged(before, after, pieces.size // max(before.size, 1))
            found = shadow.update(pieces, self._access("atomic"), same)
            if found is not None:
                raise self._error(part, size, shadow, pieces, found, "atomic")
        if semantics.releases:
            for _, shadow, pieces in known:
                shadow.release(pieces)

    @contextmanager
    def volatile(self, parts: Sequence[Part], size: int) -> Iterator[None]:
        """The loads inside wait for others: they acquire, and race with nobody."""
        for part in parts:
            shadow, pieces = self._pieces(part, size)
            shadow.acquire(pieces)
        self.in_atomic = True
        try:
            yield
        finally:
            self.in_atomic = False

    def _pieces(self, part: Part, size: int) -> tuple[Shadow, Data]:
        shadow, above = self._shadows[id(part.target)]
        offsets = part.offsets.ravel()
        return shadow, shadow.pieces(offsets + above if above else offsets, size)

    def _access(self, kind: str) -> int:
        """The number of what the running line does, a ``kind``."""
        key = instruction()
        site = self._sites.get(key)
        if site is None:
            site = self._sites[key] = len(self._places)
            self._places.append(here())
        return self._order.access(kind, site)

    def _error(
        self, part: Part, size: int, shadow: Shadow, pieces: Data, conflict: Conflict, kind: str
    ) -> KernelDataRace:
        order, target = self._order, part.target
        number = conflict.other
        place = self._places[order.site_of(number)]
        other = RaceAccess(order.kind_of(number), place, order.program_of(number))
        _, above = self._shadows[id(target)]
        element = (int(pieces[conflict.index]) * shadow.step - above) // size
        own = RaceAccess(kind, here(), self._machine.program)
        at = "" if place is None else f" at {_short(place)}"
        return self._machine.kernel_error(
            f"data race on element {element} of {target.name!r}, which has {target.extent(size)}: this {kind} and what "
            f"program {other.program} {_DONE[other.kind]}{at} are not ordered",
            KernelDataRace,
            remedy=_REMEDY,
            array=target.name,
            element=element,
            accesses=(other, own),
        )


def _short(place: SourceLocation) -> str:
    return f"{place.file}:{place.line}:{place.column + 1}"


def _shadows(allocations: Sequence[Allocation], order: Order) -> dict[int, tuple[Shadow, int]]:
    """By id of an allocation its shadow, and how many bytes of that are below it."""
    found: dict[int, tuple[Shadow, int]] = {}
    group: list[Allocation] = []
    end = 0

    def close() -> None:
        if group:
            shadow = Shadow(end - group[0].base, order)
            found.update({id(a): (shadow, a.base - group[0].base) for a in group})

    for allocation in sorted(allocations, key=lambda a: a.base):
        if group and allocation.base >= end:
            close()
            group.clear()
        end = max(end, allocation.base + allocation.nbytes) if group else allocation.base + allocation.nbytes
        group.append(allocation)
    close()
    return found


def overwritten(machine: RunningProgram, part: Part, values: Data) -> None:
    """KernelDataRace when lanes of one store put different ``values`` at one address."""
    left = part.target.read(part.offsets, values.dtype)
    differs = ~unchanged(left, np.asarray(values), 1) if values.size else np.zeros(0, np.bool_)
    if not differs.any():
        return
    offsets = part.offsets.ravel()
    lost = int(differs.argmax())
    won = int(np.flatnonzero(offsets == offsets[lost])[-1])
    lanes = np.argwhere(np.ones(part.offsets.shape, np.bool_) if part.lanes is None else part.lanes)
    size, target = values.dtype.itemsize, part.target
    element, access = int(offsets[lost]) // size, RaceAccess("store", here(), machine.program)
    raise machine.kernel_error(
        f"data race on element {element} of {target.name!r}, which has {target.extent(size)}: lanes "
        f"{lanes[lost].tolist()} and {lanes[won].tolist()} of one store put different values there",
        KernelDataRace,
        remedy="give lanes addresses of their own, mask all lanes but one, or use an atomic (tl.atomic_add, ...)",
        array=target.name,
        element=element,
        accesses=(access, access),
    )
