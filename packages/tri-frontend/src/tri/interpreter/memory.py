"""Memory as the arguments of a launch: every access is checked against the array it goes through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from tri.interpreter.allocations import Allocation, Part
from tri.interpreter.arrays import Array, Data, numpy_type
from tri.interpreter.errors import InvalidAccess, OffsetOverflow, OutOfBounds
from tri.interpreter.observing import Observer
from tri.interpreter.program import RunningProgram
from tri.interpreter.races import Races, overwritten
from tri.interpreter.turns import Turns
from tri.language import types as t
from tri_runtime.races import Semantics

__all__ = ["Memory", "poison"]

#: what a masked lane without ``other`` holds, by bytes of an integer: a pattern that is easy to recognise
_POISON = {1: -0x5B, 2: -0x5A5B, 4: -0x5A5A5B, 8: -0x5A5A5B}


def poison(dtype: np.dtype[Any]) -> Data:
    """One element that no kernel should use: NaN, or a recognisable negative number, or True."""
    if dtype.kind == "i":
        return np.asarray(_POISON[dtype.itemsize], dtype)
    return np.asarray(True if dtype.kind == "b" else np.nan).astype(dtype)


class Memory:
    """All that a launch can reach."""

    def __init__(self, machine: RunningProgram, observer: Observer | None = None) -> None:
        self.machine = machine
        self._observer = observer
        self.allocations: list[Allocation] = []
        #: whether stores are checked for lanes that overwrite each other, and what programs do to each other
        self.checks_stores = False
        self.races: Races | None = None
        #: programs that wait for each other, while a launch runs
        self.turns: Turns | None = None

    def watch(self, programs: int) -> None:
        """Look for data races of ``programs`` programs from now on, in all that was added."""
        self.checks_stores = True
        if programs > 1:
            self.races = Races(self.machine, self.allocations)

    def add(self, allocation: Allocation) -> int:
        """The number by which pointers name ``allocation``."""
        self.allocations.append(allocation)
        return len(self.allocations) - 1

    # --- accesses -------------------------------------------------------------------------------------

    def load(
        self, pointers: Array, type_: t.dtype, mask: Data | None, other: Data | None, verb: str = "load"
    ) -> Array:
        """The elements of ``type_`` at ``pointers`` where ``mask``; elsewhere ``other``, or poison."""
        dtype = numpy_type(type_)
        shape = pointers.data.shape
        parts = list(self.parts(pointers, mask, dtype.itemsize, verb))
        if self.races is not None:
            for part in parts:
                self.races.read(part, dtype.itemsize)
        if len(parts) == 1 and parts[0].lanes is None:
            return Array(np.asarray(parts[0].target.read(parts[0].offsets, dtype)))
        values = np.empty(shape, dtype)
        values[...] = poison(dtype) if other is None else other
        for part in parts:
            if part.lanes is None:
                values[...] = part.target.read(part.offsets, dtype)
            else:
                values[part.lanes] = part.target.read(part.offsets, dtype)
        return Array(values)

    def store(
        self,
        pointers: Array,
        values: Data,
        mask: Data | None,
        verb: str = "store",
        *,
        adds: bool = False,
        commutes: bool = False,
    ) -> None:
        """Put ``values`` at ``pointers`` where ``mask``, for an atomic that ``adds`` floats or ``commutes`` too."""
        for part in self.parts(pointers, mask, values.dtype.itemsize, verb):
            self.check_writable(part, verb)
            given = np.asarray(values if part.lanes is None else values[part.lanes])
            if self.races is not None:
                self.races.write(part, part.target.read(part.offsets, given.dtype), given)
            if self.turns is not None and (verb == "store" or self._differs(part, given)):
                self.turns.changes += 1
            if self._observer is not None:
                self._observer.stored(self.machine.program, part, given, adds=adds, commutes=commutes)
            part.target.write(part.offsets, given)
            if self.checks_stores and given.ndim and not (self.races and self.races.in_atomic):
                overwritten(self.machine, part, given)

    def _differs(self, part: Part, given: Data) -> bool:
        """True if an atomic's store changes any byte."""
        return part.target.read(part.offsets, given.dtype).tobytes() != given.tobytes()

    def ask(self, pointers: Array, size: int, verb: str) -> None:
        """The running program asks for what others may store: they may run first."""
        if self.turns is not None:
            self.turns.ask(lambda: self._first(pointers, size, verb))

    def ask_weakly(self, pointers: Array, size: int) -> None:
        """The running program loads what may be all that it waits for."""
        if self.turns is not None:
            self.turns.ask_weakly(int(pointers.data.flat[0]), lambda: self._first(pointers, size, "load"))

    def _first(self, pointers: Array, size: int, verb: str) -> str:
        """The first word at ``pointers``, and what it holds."""
        for part in self.parts(pointers, None, size, verb):
            offset = int(part.offsets.flat[0])
            word = part.target.read(part.offsets.ravel()[:1], np.dtype(f"i{size}"))[0]
            return f"element {offset // size} of {part.target.name!r}, which holds {int(word):#x} ({verb})"
        return verb

    def atomic(
        self, pointers: Array, mask: Data | None, size: int, semantics: Semantics, verb: str
    ) -> AbstractContextManager[None]:
        """Context of one atomic on ``size`` bytes at each of ``pointers`` where ``mask``."""
        if self.races is None:
            return nullcontext()
        return self.races.atomic(list(self.parts(pointers, mask, size, verb)), size, semantics)

    def volatile(self, pointers: Array, mask: Data | None, size: int) -> AbstractContextManager[None]:
        """The loads inside, of ``size`` bytes at each of ``pointers``, wait for others."""
        if self.races is None:
            return nullcontext()
        return self.races.volatile(list(self.parts(pointers, mask, size, "load")), size)

    def parts(self, pointers: Array, mask: Data | None, size: int, verb: str) -> Iterator[Part]:
        """The access taken apart by allocation; raises a KernelError where a lane may not go."""
        if mask is not None and not mask.any():
            return
        if mask is not None and mask.all():
            mask = None
        if pointers.exact is not None:
            self._check_overflow(pointers, mask, verb)
        if isinstance(pointers.owner, int) and pointers.owner >= 0:
            yield self._part(pointers, mask, self.allocations[pointers.owner], size, verb)
            return
        owners = self._owners(pointers, mask)
        for number in np.unique(owners if mask is None else owners[mask]):
            lanes = owners == number
            lanes = lanes if mask is None else lanes & mask
            if number < 0:
                raise self._nowhere(pointers, lanes, verb)
            yield self._part(pointers, lanes, self.allocations[number], size, verb)

    def _part(self, pointers: Array, lanes: Data | None, target: Allocation, size: int, verb: str) -> Part:
        offsets = (pointers.data if lanes is None else pointers.data[lanes]) - target.base
        outside = (offsets < 0) | (offsets > target.nbytes - size)
        if outside.any():
            raise self._out_of_bounds(np.asarray(outside), offsets, lanes, target, size, verb)
        return Part(target, lanes, np.asarray(offsets))

    def _owners(self, pointers: Array, mask: Data | None) -> Data:
        """For each pointer the number of its allocation; by its address where that is not known; or -1."""
        shape = pointers.data.shape
        owners = np.full(shape, -1, np.int64)
        if pointers.owner is not None:
            owners[...] = pointers.owner
        for number, target in enumerate(self.allocations):
            inside = (pointers.data >= target.base) & (pointers.data < target.base + target.nbytes)
            owners[(owners < 0) & inside] = number
        return owners

    def check_writable(self, part: Part, verb: str) -> None:
        """InvalidAccess when the array of ``part`` is read-only."""
        if not part.target.writable:
            raise self.machine.kernel_error(
                f"{verb} to {part.target.name!r}, an array that is read-only",
                InvalidAccess,
                remedy="pass a writable array, or a copy",
            )

    # --- reports --------------------------------------------------------------------------------------

    def _out_of_bounds(
        self, outside: Data, offsets: Data, lanes: Data | None, target: Allocation, size: int, verb: str
    ) -> OutOfBounds:
        offset = int(np.asarray(offsets)[outside].flat[0])
        places = np.argwhere(outside) if lanes is None else np.argwhere(lanes)[outside]
        element = f"element {offset // size}" if offset % size == 0 else f"byte {offset}"
        raise self.machine.kernel_error(
            f"{verb} reaches {element} of {target.name!r}, which has {target.extent(size)}{_lane(places)}",
            OutOfBounds,
            remedy="give a mask that is false there, e.g. mask=offsets < n",
            parameter=target.name,
            offset=offset,
            extent=target.nbytes,
        )

    def _check_overflow(self, pointers: Array, mask: Data | None, verb: str) -> None:
        wrapped = np.asarray(pointers.exact != pointers.data)
        if mask is not None:
            wrapped = wrapped & mask
        if not wrapped.any():
            return
        assert pointers.exact is not None  # wrapped says so
        owner = pointers.owner if isinstance(pointers.owner, int) else -1
        name = self.allocations[owner].name if owner >= 0 else "memory"
        base = self.allocations[owner].base if owner >= 0 else 0
        exact, got = (int(a[wrapped].flat[0]) - base for a in (pointers.exact, pointers.data))
        error = self.machine.kernel_error(
            f"an integer computation wrapped around, and {verb} uses its result to address {name!r}: "
            f"byte {exact} became {got}{_lane(np.argwhere(wrapped))}",
            OffsetOverflow,
            remedy="compute offsets in 64 bits: convert one operand with .to(tl.int64)",
            parameter=name,
            exact=exact,
            wrapped=got,
        )
        error.location = pointers.origin or error.location
        raise error

    def _nowhere(self, pointers: Array, lanes: Data, verb: str) -> InvalidAccess:
        address = int(pointers.data[lanes].flat[0])
        raise self.machine.kernel_error(
            f"{verb} at address {address:#x}, which belongs to no argument{_lane(np.argwhere(lanes))}",
            InvalidAccess,
            remedy="pass the array to the kernel; if its address is stored in memory, "
            "launch inside `with tri.interpret(array):`",
        )


def _lane(places: Data) -> str:
    """Position in its block of the first of ``places``."""
    first: Sequence[int] = [int(i) for i in places[0]] if len(places) else []
    return f" (lane {first})" if first else ""
