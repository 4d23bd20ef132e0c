"""Two orders of a loop of dots by its counts: all that a wavefront does in one, and two groups of wavefronts that alternate.

A SIMD has two wavefronts.  In ping-pong scheduling one of them is in a *dot cluster*, matrix instructions alone, while the other is in a
*memory cluster*; a barrier ends each, and the second group is one barrier behind.  Triton's AMD backend does the same for loops with direct
copies and through registers (``BlockPingpong``), and ROCm/gfx950-gluon-tutorials measures it on gfx942 (``kernels/gemm/gfx942/inter_wave``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tri_backend_amd.cycles.chips import Chip
from tri_backend_amd.cycles.model import estimate
from tri_backend_amd.cycles.steps import Kind, Step
from tri_core.lazy_dataclasses import dataclass

__all__ = ["SLICES", "LoopCounts", "ahead_of", "loads_before", "read_before"]

T = TypeVar("T")

#: slices along k that a loop whose wavefronts alternate may have, the ones of the fewest registers first
SLICES = (4, 2)
#: in how many pieces LLVM reads operands ahead of the dots
_PARTS = 4
#: memory clusters that loads are spread over
_LOADING = 2
_BARRIER, _NEXT = Step(Kind.BARRIER), Step(Kind.SCALAR)
_ARRIVED = Step(Kind.WAIT, accesses=0)


@dataclass(frozen=True)
class LoopCounts:
    """Work of a wavefront in an iteration: ``matrix`` instructions, each of ``passes`` with an operand of
    ``source`` bytes a lane; accesses of 128 bits: ``reads`` and ``writes`` of LDS, ``loads`` from memory.

    ``ahead``: how many of ``loads`` may be under way where it waits for those that are read next, which are then copies to LDS.
    """

    matrix: int
    passes: int
    source: int
    reads: int
    writes: int
    loads: int
    ahead: int = 0

    def alternating(self, chip: Chip, slices: int) -> float:
        """Cycles of an iteration by two wavefronts of a SIMD that alternate, over so many ``slices``."""
        steps: list[Step] = []
        for slice_ in range(slices):
            steps += [*self._memory(slice_, slices), _ARRIVED, _NEXT, _BARRIER]
            steps += [*self._dots(slices), _BARRIER, _NEXT]
        return estimate(steps, chip, 2, ahead_of(steps)).cycles

    def together(self, chip: Chip) -> float:
        """Cycles where both do the same at the same time: a quarter of the operands is read while the quarter before is multiplied.

        So LLVM orders a loop, whatever its depth along k.  Of eleven loops, f16 and i8, this is within 7 % of the estimate of the machine code
        for nine; two small ones, of 16 and 8 matrix instructions, take 20 and 9 % more.
        """
        read, dots = self._reads(self.reads // _PARTS), self._dots(_PARTS)
        behind = [step for _ in range(_PARTS - 1) for step in (*read, *dots, _ARRIVED)]
        steps = [*self._loads(self.loads), *read, _ARRIVED, *behind, *dots]
        if self.ahead:
            steps = [self._loaded, _BARRIER, *steps]
        else:
            steps = [*steps[: self.loads], _BARRIER, *steps[self.loads :]]
            steps += [_BARRIER, self._loaded, *self._writes(), _ARRIVED]
        return estimate(steps, chip, 2).cycles

    def _memory(self, slice_: int, slices: int) -> list[Step]:
        """The memory cluster before the dots of ``slice_``; copies begin in the last one."""
        if slice_ == slices - 1:
            return [*(self._loads(self.loads) if self.ahead else ()), self._loaded, *self._writes()]
        read = self.reads // slices
        reads = sum(
            read if number < slices - 1 else self.reads - read * number
            for number in read_before(slice_, slices)
        )
        begun = () if self.ahead else loads_before(range(self.loads), slice_, slices)
        return [*self._reads(reads), *self._loads(len(begun))]

    @property
    def _loaded(self) -> Step:
        return Step(Kind.WAIT, loads=self.ahead)

    def _dots(self, slices: int) -> list[Step]:
        return [Step(Kind.MATRIX, passes=self.passes, source=self.source)] * (self.matrix // slices)

    def _reads(self, count: int) -> list[Step]:
        return [Step(Kind.READ)] * count

    def _writes(self) -> list[Step]:
        return [Step(Kind.WRITE)] * self.writes

    def _loads(self, count: int) -> list[Step]:
        return [Step(Kind.LOAD)] * count


def read_before(slice_: int, slices: int) -> Sequence[int]:
    """The slices that the memory cluster before the dots of ``slice_`` reads: its own, the last but one the last as well, the last none."""
    if slice_ == slices - 1:
        return ()
    return (slice_, slice_ + 1) if slice_ == slices - 2 else (slice_,)


def loads_before(loads: Sequence[T], slice_: int, slices: int) -> Sequence[T]:
    """Those of ``loads`` that the memory cluster before the dots of ``slice_`` begins: half each in the first two, all in the first of two."""
    half = len(loads) // 2 if slices > _LOADING else len(loads)
    return (loads[:half], loads[half:])[slice_] if slice_ < _LOADING else ()


def ahead_of(steps: Sequence[Step]) -> int:
    """By how many of ``steps`` one wavefront is ahead of another that is one barrier behind; 0 where there is none."""
    places = [place for place, step in enumerate(steps) if step.kind is Kind.BARRIER]
    return places[0] + 1 if places else 0
