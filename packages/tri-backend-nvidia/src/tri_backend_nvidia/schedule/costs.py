"""Clocks of a tile under each schedule, and which schedule is chosen.

The terms and where their numbers come from are in ``docs/design/hopper.md``, "Chosen by cost".
"""

from __future__ import annotations

from tri_backend_nvidia.schedule.work import Work
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Clocks", "Machine", "Resources", "Schedule", "choose", "clocks"]


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A multiprocessor, per clock: multiply-additions of 16 bits, elements of special functions and of others, bytes copied.

    ``shared`` bytes of a CTA, ``memory`` of the multiprocessor; ``begin`` and ``end``: clocks that a CTA's start and the epilogue of
    its tile, of 64 KiB or less, expose.  ``between``: what the wait for each further piece of a tile takes, ``iteration``: what the barrier of an iteration takes
    where warps copy beside other work, ``partitions``: what it takes to start warps that copy.
    """

    multiply_adds: int = 2048
    special: int = 16
    simple: int = 128
    copied: int = 64
    shared: int = 227 << 10
    memory: int = 228 << 10
    registers: int = 65536
    begin: int = 1650
    end: int = 1700
    between: int = 720
    iteration: int = 10
    partitions: int = 400
    #: iterations where only a launch knows
    iterations: int = 64


@dataclass(frozen=True, kw_only=True)
class Resources:
    """Resources of a kernel: warps that compute, stages; and registers per thread if it is warp-specialised."""

    warps: int
    stages: int
    registers: int


@dataclass(frozen=True)
class Schedule:
    """``specialize``: blocks are copied by warps of their own; ``persistent``: few CTAs go through all tiles; ``reason``, for people."""

    specialize: bool
    persistent: bool
    reason: str


@dataclass(frozen=True)
class Clocks:
    """Estimates per tile; None: cannot be, or nobody has measured such kernels."""

    plain: float
    specialized: float | None = None
    persistent: float | None = None


#: bits of an operand made of another dot's result
_HALF = 16
#: registers of a thread for addresses, counts and what a dot needs beside its accumulators
ADDRESS_REGISTERS = 26
#: bytes for barriers and gaps; of a piece of a tile in its epilogue, and of the smallest
_SPARE, _PIECE = 1024, 32 << 10
#: warps that compute, with which specialised kernels were measured, and rows and columns of their largest dot
_WARPS, _LEAST = (4, 8), (128, 128)
#: registers that a thread may lack: gradients of keys lack as many, and are faster all the same
_SPILLED = 4
#: operands' bits and warps of the kernels whose persistence was measured; dots of an iteration, with two stages and with more
_BITS, _MOST_WARPS = (8, 16, 32), 8
_FEW, _MANY = 2, 4
#: pieces of a tile that ``Machine.end`` is for
_ORDINARY = 2
#: the part of the shorter of dots and other arithmetic that is not hidden, with one dot in flight and with two
_ALONE, _BESIDE = 0.46, 0.21


def choose(work: Work, has: Resources, machine: Machine, *, persistent: bool = True) -> Schedule:
    """The schedule of fewest clocks, the simpler one where they are equal; ``persistent``: whether that may be chosen."""
    why = _unmeasured(work, has)
    if why is not None:
        return Schedule(False, False, f"not warp-specialized, since the model does not cover it: {why}")
    found = clocks(work, has, machine)
    best, specialize, go_on = found.plain, False, False
    if found.specialized is not None and found.specialized < best:
        best, specialize = found.specialized, True
    if persistent and found.persistent is not None and found.persistent < best:
        best, specialize, go_on = found.persistent, True, True
    return Schedule(specialize, go_on, _said(found, work, specialize, go_on))


def _unmeasured(work: Work, has: Resources) -> str | None:
    """The reason why the model cannot judge warp specialization; None where it can."""
    largest = work.largest
    if has.warps not in _WARPS:
        return f"the kernel has {has.warps} warps (4 and 8 are modelled)"
    if largest.m < _LEAST[0] or largest.n < _LEAST[1]:
        return f"its largest dot is {largest.m}x{largest.n} (128x128 is the smallest that is modelled)"
    if work.describes and not (work.tiles_inside and has.warps == _MOST_WARPS):
        return "the kernel makes descriptors (modelled for persistent kernels of 8 warps)"
    need = _registers(work, has)
    if need > has.registers + _SPILLED:
        return f"a thread needs {need} registers, and {has.registers} are left beside a producer's warps"
    return None


def _registers(work: Work, has: Resources) -> int:
    """Registers of a thread: what is carried, other dots' results, the largest operand made of them, and the rest."""
    elements = work.accumulators + work.between + work.forwarded * _HALF / 32
    return int(elements / (32 * has.warps)) + ADDRESS_REGISTERS


def clocks(work: Work, has: Resources, machine: Machine) -> Clocks:
    """Clocks per tile."""
    iterations = machine.iterations if work.iterations is None else work.iterations
    matrix = sum(d.multiply_adds * d.bits / (16 * machine.multiply_adds) for d in work.dots)
    other = work.special / machine.special + work.simple / machine.simple
    fetch = work.copied / machine.copied
    alone = max(_together(matrix, other, _ALONE), fetch)
    beside = max(_together(matrix, other, _BESIDE if work.chained else _ALONE), fetch)
    end = machine.end + machine.between * max(-(-work.tile // _PIECE) - _ORDINARY, 0)
    start = machine.begin + end
    plain = iterations * (alone + machine.iteration) + start / _residents(work, has, machine)
    room = machine.shared - _SPARE - work.held
    if room < 2 * work.copied:
        return Clocks(plain)
    specialized = iterations * beside + start + machine.partitions
    pieces = _pieces(work, has, room)
    if pieces is None or not _persistence_is_known(work, has) or not _is_ahead(work, has, room, pieces):
        return Clocks(plain, specialized)
    return Clocks(plain, specialized, iterations * beside + machine.end + (pieces - 1) * machine.between)


def _persistence_is_known(work: Work, has: Resources) -> bool:
    """True if kernels like this one were measured with a loop over programs."""
    narrow = all(dot.bits in _BITS for dot in work.dots)
    few = len(work.dots) <= (_FEW if has.stages <= _FEW else _MANY)
    return narrow and has.warps == _MOST_WARPS and few and not work.tiles_inside


def _is_ahead(work: Work, has: Resources, room: int, pieces: int) -> bool:
    """True if a block of the next program fits beside the rings and the current tile, so that it is
    prefetched.
    """
    return room - has.stages * work.copied - work.tile // pieces >= work.next


def _together(matrix: float, other: float, exposed: float) -> float:
    return max(matrix, other) + exposed * min(matrix, other)


def _residents(work: Work, has: Resources, machine: Machine) -> int:
    """CTAs of a multiprocessor without warps that copy: of 8 warps with large tiles one, else as shared memory and registers allow."""
    threads = 32 * has.warps
    registers = min(_registers(work, has) * 5 // 4, 255)
    memory = work.held + (has.stages + 1) * work.copied + _SPARE
    return max(min(machine.registers // (threads * registers), machine.memory // memory, 2), 1)


def _pieces(work: Work, has: Resources, room: int) -> int | None:
    """In how many pieces a tile leaves beside the rings; None where these would lose stages to it."""
    left = room - has.stages * work.copied
    pieces, piece = 1, work.tile
    while piece > left and piece > _PIECE:
        pieces, piece = 2 * pieces, piece // 2
    return pieces if piece <= max(left, room - 2 * work.copied) else None


def _said(found: Clocks, work: Work, specialize: bool, persistent: bool) -> str:
    """The choice and its reason, for people."""
    name = "warp-specialized" if specialize else "not warp-specialized"
    name += ", persistent" if persistent else ""
    iterations = "64 iterations" if work.iterations is None else f"{work.iterations} iterations"
    rows = [
        ("not warp-specialized", found.plain),
        ("warp-specialized", found.specialized),
        ("persistent", found.persistent),
    ]
    numbers = ", ".join(f"{value:.0f} {label}" for label, value in rows if value is not None)
    unknown = (
        ""
        if found.specialized is None or found.persistent
        else "; the model has no estimate of a persistent kernel of this form"
    )
    return f"{name}: estimated cycles per tile of {iterations}: {numbers}{unknown}"
