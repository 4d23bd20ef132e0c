"""Registers with regard to wavefronts: a loop without matrix instructions that is above a step of occupancy is compiled again below it.

LLVM's scheduler spends registers on loads that are issued early, as long as it thinks the occupancy that it aims at is not to be had, and
nothing afterwards says whether fewer would have done.  The second version is kept where nothing spills and its wavefronts, which are more,
take fewer cycles each (:mod:`tri_backend_amd.cycles`, for chips whose rates are known).  Code that runs once is not compiled again.
Neither are loops of matrix instructions: their registers hold what is issued ahead, which was decided with the whole tile in view.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tri_backend_amd.cycles import CHIPS, Kind, estimate, innermost, steps_of
from tri_backend_amd.hsaco.packing import LARGE, generate, spilt
from tri_core.api import CodegenReply, CodegenRequest, CodegenService
from tri_core.lazy_dataclasses import dataclass
from tri_core.occupancy import most_registers, occupancy
from tri_core.target import ComputeUnit

__all__ = ["WorkGroups"]

#: registers in parts of those at a step from which on that step is tried, and cycles in parts of the first version's that the second may take
_ABOVE, _FEWER = 1.6, 0.95
_SIZE = '"amdgpu-flat-work-group-size"='
_LINE = re.compile(r"[\w.$]+:$|(?:s|v|ds|global|buffer|flat|scratch)_")
_REGISTERS, _SHARED = (
    re.compile(rf"\.{name}: *(\d+)") for name in ("vgpr_count", "group_segment_fixed_size")
)


@dataclass(frozen=True)
class WorkGroups:
    """Work groups of ``warps`` wavefronts on a compute ``unit``; ``service`` compiles."""

    service: CodegenService
    unit: ComputeUnit | None
    warps: int

    def generate(self, request: CodegenRequest) -> CodegenReply:
        """The reply to ``request``, or to the same for more wavefronts."""
        first = generate(self.service, request)
        text = first.texts["asm"]
        before = self._waves(text)
        more = self._worth_trying(text, before)
        if more <= before or request.cpu not in CHIPS or len(request.llvm_ir) > LARGE or spilt(text):
            return first
        cycles = _cycles(text, request.cpu, before)
        if cycles is None:
            return first
        ir = request.llvm_ir.replace(_SIZE, f'"amdgpu-waves-per-eu"="{more},{more}" {_SIZE}')
        second = generate(self.service, replace(request, llvm_ir=ir))
        text = second.texts["asm"]
        taken = _cycles(text, request.cpu, self._waves(text))
        fewer = taken is not None and taken <= cycles * _FEWER
        return second if fewer and not spilt(text) else first

    def _waves(self, text: str) -> int:
        """Wavefronts that a SIMD has room for, of the kernel in ``text``; 0 where that is not known."""
        if self.unit is None:
            return 0
        return self._room(_largest(_REGISTERS, text), text)

    def _room(self, registers: int, text: str) -> int:
        assert self.unit is not None
        shared = _largest(_SHARED, text)
        held = occupancy(self.unit, warps=self.warps, registers=registers, shared=shared)
        return held.warps // self.unit.partitions

    def _worth_trying(self, text: str, before: int) -> int:
        """The most wavefronts whose registers are not far below those of ``text``, if what else limits them allows so many."""
        if self.unit is None:
            return 0
        registers, allowed = _largest(_REGISTERS, text), self._room(1, text)
        steps = range(before + 1, allowed + 1)
        near = [n for n in steps if registers <= most_registers(self.unit, n * self.unit.partitions) * _ABOVE]
        return max(near, default=0)


def _largest(pattern: re.Pattern[str], text: str) -> int:
    return max(map(int, pattern.findall(text)), default=0)


def _cycles(text: str, processor: str, waves: int) -> float | None:
    """Estimated cycles of a wavefront, ``waves`` of them on a SIMD, in the innermost loops of ``text``.

    None where that is not to be judged: without loops, or with matrix instructions.
    """
    parts = [steps_of(part, processor) for part in _parts(text)]
    if not parts or any(step.kind is Kind.MATRIX for steps in parts for step in steps):
        return None
    chip = CHIPS[processor]
    return sum(estimate(steps, chip, max(waves, 1)).cycles for steps in parts if steps) / max(waves, 1)


def _parts(text: str) -> Iterator[list[str]]:
    stripped = (re.split(r"[;#]|//", line)[0].strip() for line in text.split(".Lfunc_end")[0].splitlines())
    lines = [line for line in stripped if _LINE.match(line)]
    for first, last in innermost(lines):
        yield [line for line in lines[first : last + 1] if not line.endswith(":")]
