"""The checker of a kernel's accesses: what is in bounds, and the messages for what is not.

Compiled code calls it for an address outside of the range that it has for a parameter.  Where the array is known, that
is an error.  Memory that only a pointer tells of has to be memory of this process, whose maps widen the range.
"""

from __future__ import annotations

import ctypes
import linecache
import struct
from collections.abc import Sequence
from typing import Any

from tri_backend_cpu.launch_abi import FAILED, REFUSED
from tri_backend_cpu.runtime.kernel import CpuKernel
from tri_backend_cpu.runtime.mappings import mapped_range
from tri_core import forks
from tri_core.api import Argument, ArrayArgument, InvalidAccess, OutOfBounds, SourceLocation
from tri_core.notices import TriWarning, warn

__all__ = ["AccessChecker", "BoundedPointer", "OverlapWarning", "place_of"]

_KIND = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    *(ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32, ctypes.c_int32, ctypes.c_int32),
    *(ctypes.c_int64, ctypes.c_void_p),
)
_MASK64 = 2**64 - 1
#: no address is within
_NOTHING = (2**63 - 1, 0)


class OverlapWarning(TriWarning):
    """Arrays of a launch overlap, and the kernel's accesses through them have no order."""


class BoundedPointer(int):
    """The address of an array's first element, that knows the array: elements lie in [``low``, ``high``)."""

    array: ArrayArgument
    low: int
    high: int

    @classmethod
    def to(cls, array: ArrayArgument) -> BoundedPointer:
        """The pointer to ``array``."""
        made = cls(array.pointer)
        made.array = array
        made.low = array.pointer - _bytes_before(array)
        made.high = array.pointer + array.nbytes
        return made


def _bytes_before(array: ArrayArgument) -> int:
    """Bytes before the first element that negative strides reach."""
    interface = getattr(array.owner, "__array_interface__", None)
    strides = interface.get("strides") if isinstance(interface, dict) else None
    if interface is None or strides is None or array.nbytes == 0:
        return 0
    return sum((n - 1) * -step for n, step in zip(interface["shape"], strides, strict=True) if step < 0)


def place_of(frames: Sequence[Sequence[Any]]) -> SourceLocation | None:
    """A place in the user's source from the records of :func:`tri_backend_cpu.lower.records.frames_of`."""
    places = [
        SourceLocation(file, line, column, linecache.getline(file, line).rstrip("\n") or None)
        for file, line, column in frames
    ]
    if not places:
        return None
    first, *callers = places
    return SourceLocation(first.file, first.line, first.column, first.source_line, tuple(callers))


class AccessChecker:
    """Checks the launches of one kernel; its C function lives as long as this object."""

    def __init__(self, kernel: CpuKernel, arguments_end: int) -> None:
        """``arguments_end``: where in a task the arguments end."""
        self._name = kernel.name
        self._parameters = kernel.parameters
        self._sites = kernel.facts.accesses
        self._apart = kernel.apart
        self._reported: set[tuple[int, int]] = set()
        self._function = _KIND(self._check)
        self._address = ctypes.cast(self._function, ctypes.c_void_p).value or 0
        self._lock = forks.Lock()
        self._arguments: dict[int, Sequence[Argument]] = {}
        self._failures: dict[int, InvalidAccess] = {}
        self.offset = -(-arguments_end // 8) * 8
        self._layout = struct.Struct(f"=Q{4 * (len(kernel.parameters) + 1)}q")

    @property
    def size(self) -> int:
        """Bytes that a task needs behind :attr:`offset`."""
        return self._layout.size

    def begin(self, memory: ctypes.Array[ctypes.c_char], task: int, args: Sequence[Argument]) -> None:
        """Before a launch: write ranges of ``args`` into ``memory``, that of the task at address ``task``."""
        self._arguments[task] = args
        for first, second, in_place in self._apart:
            self._tell_overlap(first, second, args, in_place=in_place)
        ranges = [edge for argument in args for edge in _ranges(argument)]
        self._layout.pack_into(memory, self.offset, self._address, *ranges, *_NOTHING, *_NOTHING)

    def _tell_overlap(self, first: int, second: int, args: Sequence[Argument], *, in_place: bool) -> None:
        """Warn, once, of two arrays that overlap where the order of accesses through them is undefined."""
        one, other = args[first], args[second]
        if not isinstance(one, BoundedPointer) or not isinstance(other, BoundedPointer):
            return
        common = min(one.high, other.high) - max(one.low, other.low)
        if common <= 0 or (in_place and one == other) or (first, second) in self._reported:
            return
        self._reported.add((first, second))
        names = " and ".join(repr(self._parameters[i].name) for i in (first, second))
        warn(
            f"arguments {names} of {self._name} overlap by {common} bytes, and it stores through one of them what it may "
            "load or store through the other: their order is undefined on targets where threads share a program; pass "
            "arrays that don't overlap, or put tl.debug_barrier() between the accesses",
            OverlapWarning,
        )

    def end(self, task: int) -> InvalidAccess | None:
        """After a launch: what its first forbidden access was."""
        del self._arguments[task]
        return self._failures.pop(task, None)

    def _check(self, task: int, site: int, x: int, y: int, z: int, address: int, row: int) -> int:
        """Callback of compiled code: 1 if ``address`` may be accessed, and the range at ``row`` is widened."""
        record = self._sites[site]
        with self._lock:
            argument = self._argument(task, record["parameter"])
            if not isinstance(argument, BoundedPointer):
                found = mapped_range(address, record["size"], writes=record["writes"])
                if found is not None:
                    ctypes.memmove(row, struct.pack("=2q", *found), 16)
                    return 1
            if task not in self._failures:
                self._failures[task] = self._error(record, argument, address, (x, y, z))
                failed = ctypes.c_int32.from_address(task + FAILED)
                failed.value = failed.value or REFUSED
        return 0

    def _argument(self, task: int, parameter: int | None) -> Argument | None:
        return None if parameter is None else self._arguments[task][parameter]

    def _error(
        self, record: dict[str, Any], argument: Argument | None, address: int, program: tuple[int, int, int]
    ) -> InvalidAccess:
        facts: dict[str, Any] = {
            "location": place_of(record["place"]),
            "kernel": self._name,
            "kernels": (self._name,),
            "program": program,
            "thread": None,
            "address": address,
        }
        where = f"in program {program} of {self._name}"
        verb, size = record["verb"], record["size"]
        if not isinstance(argument, BoundedPointer):
            return InvalidAccess(
                f"{verb} at address {address & _MASK64:#x}, where this process has no memory "
                f"{'to write' if record['writes'] else 'to read'}, {where}",
                remedy="look how the kernel comes by the pointer; its array may be gone, or the offset wrong",
                **facts,
            )
        name = self._parameters[record["parameter"]].name
        if argument.low <= address <= argument.high - size:
            return InvalidAccess(
                f"{verb} to {name!r}, an array that is read-only, {where}",
                remedy="pass a writable array, or a copy",
                **facts,
            )
        offset = address - argument
        element = f"element {offset // size}" if offset % size == 0 else f"byte {offset}"
        extent = argument.high - argument.low
        return OutOfBounds(
            f"{verb} reaches {element} of {name!r}, which has {extent // size} ({argument.array.dtype}"
            f"{_from(argument, size)}), {where}",
            remedy="give a mask that is false there, e.g. mask=offsets < n",
            parameter=name,
            offset=offset,
            extent=extent,
            **facts,
        )


def _from(argument: BoundedPointer, size: int) -> str:
    """Start of the elements, in words, if not at the pointer."""
    before = argument - argument.low
    return f", from element {-before // size} on" if before else ""


def _ranges(argument: Argument) -> tuple[int, ...]:
    """The addresses that may be read and written through ``argument`` without asking."""
    if not isinstance(argument, BoundedPointer):
        return (*_NOTHING, *_NOTHING)
    whole = (argument.low, argument.high)
    return (*whole, *(whole if argument.array.writable else _NOTHING))
