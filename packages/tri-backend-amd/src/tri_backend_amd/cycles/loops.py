"""Innermost loops of a kernel's assembly, and the estimate of each for whoever asks core for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tri_backend_amd.cycles.alternation import ahead_of
from tri_backend_amd.cycles.assembly import alternates, steps_of
from tri_backend_amd.cycles.chips import CHIPS, Chip
from tri_backend_amd.cycles.model import estimate
from tri_backend_amd.cycles.steps import Kind
from tri_core.api import KernelMetadata, LoopEstimate, LoopEstimates, Target

__all__ = ["ASSUMPTIONS", "innermost", "loop_estimates"]

_CODE = re.compile(r"[\w.$]+:$|(?:s|v|ds|global|buffer|flat|scratch)_")
_JUMP = re.compile(r"s_c?branch\w*\s+(\S+)")
_STAGE = "amdgcn"

#: what :mod:`.model` takes as given, for who reads a figure
ASSUMPTIONS = (
    "one work group on a compute unit, whose four SIMDs do the same at the same time",
    "wavefronts come to a loop at the same time, or one of two a barrier late where a branch jumps over a barrier before it",
    "operands are there when an instruction issues, but for what a wait names",
    "accesses of LDS have no bank conflicts",
    "loads take 1000 cycles from issue to data, and a compute unit has 44 KiB of them under way",
    "rates are those of tri_backend_amd.cycles.chips, each from a published table; the clock under a power cap is left out",
)
_WORDS = {
    Kind.MATRIX: "matrix instructions",
    Kind.VECTOR: "vector instructions",
    Kind.PACKED: "packed instructions of f32",
    Kind.TRANSCENDENTAL: "transcendental instructions",
    Kind.SCALAR: "scalar instructions",
    Kind.READ: "LDS reads",
    Kind.WRITE: "LDS writes",
    Kind.LOAD: "global accesses",
    Kind.WAIT: "waits",
    Kind.BARRIER: "barriers",
}


def innermost(lines: Sequence[str]) -> Sequence[tuple[int, int]]:
    """Loops of ``lines`` (labels, and instructions without comments) that contain no other: indices of the label and of the jump back to it."""
    labels = {line[:-1]: i for i, line in enumerate(lines) if line.endswith(":")}
    jumps = ((labels.get(found[1], i), i) for i, line in enumerate(lines) if (found := _JUMP.match(line)))
    back = [(first, last) for first, last in jumps if first < last]
    return [one for one in back if not any(b != one and one[0] <= b[0] and b[1] <= one[1] for b in back)]


def loop_estimates(target: Target, metadata: KernelMetadata, asm: Mapping[str, str | bytes]) -> LoopEstimates:
    """The estimates of a compiled kernel's innermost loops; none where no assembly was made (simulated targets), and of chips without rates."""
    text, chip = asm.get(_STAGE, b""), CHIPS.get(target.key.arch)
    if chip is None or not isinstance(text, str):
        return LoopEstimates()
    waves = max((metadata.total_num_warps or metadata.num_warps) // chip.simds, 1)
    return LoopEstimates(loops=tuple(_estimates(text, target.key.arch, chip, waves)), assumptions=ASSUMPTIONS)


def _estimates(text: str, processor: str, chip: Chip, waves: int) -> Iterator[LoopEstimate]:
    stripped = [re.split(r"[;#]|//", line)[0].strip() for line in text.splitlines()]
    code = [(number, line) for number, line in enumerate(stripped, 1) if _CODE.match(line)]
    lines = [line for _, line in code]
    for first, last in innermost(lines):
        body = [line for _, line in code[first : last + 1] if not line.endswith(":")]
        steps = steps_of(body, processor)
        ahead = ahead_of(steps) if waves > 1 and alternates(lines, lines[first][:-1]) else 0
        found = estimate(steps, chip, waves, ahead)
        yield LoopEstimate(
            name=code[first][1][:-1],
            stage=_STAGE,
            line=code[first][0],
            instructions=len(body),
            cycles=found.cycles,
            busy={"matrix unit": found.efficiency} if found.matrix else {},
            spent={_WORDS[kind]: cycles for kind, cycles in found.spent.items()},
        )
