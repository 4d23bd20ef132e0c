"""Two orders of a loop of dots by its counts: all that a wavefront does in one, and two groups of wavefronts that alternate.

A SIMD has two wavefronts.  In ping-pong scheduling one of them is in a *dot cluster*, matrix instructions alone, while the other is in a
*memory cluster*; a barrier ends each, and the second group is one barrier behind.  Triton's AMD backend does the same for loops with direct
copies and through registers (``BlockPingpong``), and ROCm/gfx950-gluon-tutorials measures it on gfx942 (``kernels/gemm/gfx942/inter_wave``).
"""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_amd.cycles.chips import Chip
from tri_backend_amd.cycles.model import estimate
from tri_backend_amd.cycles.steps import Kind, Step
from tri_core.lazy_dataclasses import dataclass

__all__ = ["SLICES", "LoopCounts", "ahead_of"]

#: slices along k of a loop whose wavefronts alternate: two dots before the reads of the last two, one while what was loaded is stored
SLICES = 4
_BARRIER, _NEXT = Step(Kind.BARRIER), Step(Kind.SCALAR)
_ARRIVED, _LOADED = Step(Kind.WAIT, accesses=0), Step(Kind.WAIT, loads=0)


@dataclass(frozen=True)
class LoopCounts:
    """What a wavefront does in an iteration: ``matrix`` instructions, each of ``passes`` with an operand of ``source`` bytes a lane; accesses of 128
    bits: ``reads`` and ``writes`` of LDS, ``loads`` from memory.
    """

    matrix: int
    passes: int
    source: int
    reads: int
    writes: int
    loads: int

    def alternating(self, chip: Chip) -> float:
        """Cycles of an iteration by two wavefronts of a SIMD that alternate."""
        steps: list[Step] = []
        for slice_ in range(SLICES):
            steps += [*self._memory(slice_), _ARRIVED, _NEXT, _BARRIER]
            steps += [*self._dots(), _BARRIER, _NEXT]
        return estimate(steps, chip, 2, ahead_of(steps)).cycles

    def together(self, chip: Chip) -> float:
        """Cycles where both do the same at the same time: each slice is read while the one before is multiplied."""
        read = self._reads(self.reads // SLICES)
        behind = [step for _ in range(SLICES - 1) for step in (*read, *self._dots(), _ARRIVED)]
        steps = [*self._loads(self.loads), _BARRIER, *read, _ARRIVED, *behind, *self._dots()]
        steps += [_BARRIER, _LOADED, *self._writes(), _ARRIVED]
        return estimate(steps, chip, 2).cycles

    def _memory(self, slice_: int) -> Sequence[Step]:
        """The memory cluster before the dots of ``slice_``."""
        half, part = self.loads // 2, self.reads // SLICES
        return (
            (*self._reads(part), *self._loads(half)),
            (*self._reads(part), *self._loads(self.loads - half)),
            self._reads(self.reads - 2 * part),
            (_LOADED, *self._writes()),
        )[slice_]

    def _dots(self) -> list[Step]:
        return [Step(Kind.MATRIX, passes=self.passes, source=self.source)] * (self.matrix // SLICES)

    def _reads(self, count: int) -> list[Step]:
        return [Step(Kind.READ)] * count

    def _writes(self) -> list[Step]:
        return [Step(Kind.WRITE)] * self.writes

    def _loads(self, count: int) -> list[Step]:
        return [Step(Kind.LOAD)] * count


def ahead_of(steps: Sequence[Step]) -> int:
    """By how many of ``steps`` one wavefront is ahead of another that is one barrier behind; 0 where there is none."""
    places = [place for place, step in enumerate(steps) if step.kind is Kind.BARRIER]
    return places[0] + 1 if places else 0
