"""Expected figures: a sketch's, the goal, and the reason that a row falls short of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from integration.bench_intel_static.figures import Figures

__all__ = ["CAUSES", "GATHERED", "GOALS", "Goal", "Row", "rows", "table"]


@dataclass(frozen=True)
class Goal:
    """At most ``most`` of ``figure`` (an attribute of :class:`Figures`); ``sketch``: what a sketch by hand has, -1 where there is none."""

    case: str
    figure: str
    most: int
    sketch: int = -1
    device: str = "pvc"


@dataclass(frozen=True)
class Row:
    """A goal beside what is recorded; ``cause``: why it is not met, as measured."""

    goal: Goal
    ours: int
    cause: str

    @property
    def is_met(self) -> bool:
        """True if the record is as good as the goal."""
        return self.ours <= self.goal.most


_F16 = "matmul fp16"
_LARGE = (f"{_F16} 128x128x32 w8", f"{_F16} 256x256x32 w32")

#: kernels whose operands are no plain blocks
GATHERED = (
    "experts_matmul 64x128x32 w8",
    "int4_matmul 64x128x64 w8",
    "paged_decode 16x64x128 w4",
    "split_k_matmul 64x128x32 w8",
    "convolution 64x128x32 w8",
    "chunk_scan 128x64x64 w8",
)

GOALS: tuple[Goal, ...] = (
    Goal(f"{_F16} 128x128x32 w32", "operations", 60, 58),
    Goal(f"{_F16} 128x128x32 w32", "instructions", 41, 41),
    *(Goal(case, figure, most, most) for case in _LARGE for figure, most in (("instructions", 68), ("loads", 3))),
    *(Goal(f"matmul {kind} 128x128x32 w{n}", "moves", 0) for kind in ("fp16", "i8", "fp8e5", "fp8e4nv") for n in (8, 32)),
    Goal(f"{_F16} A^T 128x128x32 w32", "moves", 0),
    *(Goal(f"{_F16} {order} 128x128x32 w32", "local", 0, 0) for order in ("A^T", "B^T", "A^T B^T")),
    Goal("attention D64 128x64 w16", "instructions", 560, 610),
    *(Goal(case, "per_dpas", 10) for case in GATHERED),
)  # fmt: skip

_PAIRS = (
    "a transposed load gives pairs of rows in 32 bits, DPAS takes a row in each register: a move for each"
)
#: blocks whose sums are 32x64 for each warp
_SIZES = ("128x128x32 w8", "256x256x32 w32")
_FULL = "sums are 32x64 of 32 bits for each warp: 8 KB, all of a thread's 256 registers; 128x128x32 with 32 warps: 0"
_MATMULS = [
    f"matmul {kind}{order} {size}"
    for kind, orders in (
        *((kind, ("", " A^T", " B^T")) for kind in ("fp16", "bf16", "fp32", "i8")),
        *((kind, ("", " B^T")) for kind in ("fp8e5", "fp8e4nv")),
    )
    for order in orders
    for size in _SIZES
]
#: 16 warps; what takes registers of 32 bytes throughout a loop, beside addresses of 64 bits in each lane
_ROWS = {
    "attention D64 128x64 w16": "sums, scores and queries of 8 rows take 160 of 256 registers, addresses and masks of elements the rest; with 32 warps: 0",
    "gradients_of_keys D64 64x64 w16": "two sums, two scores, keys and values take 160 of 256 registers, addresses and masks of elements the rest; 32x32: 0",
    "gradients_of_queries D64 64x64 w16": "the sum, two scores, queries and gradients take 128 of 256 registers, addresses and masks of elements the rest; 64x32 with 32 warps: 0",
}
_HALVES = "times 2^8: IGC multiplies packed f16 alone, so each half of a word of B leaves it and comes back"

#: why dots of what is no plain block take more than 10 instructions on pvc, as counted in their listings
_COUNTED = {
    "int4_matmul 64x128x64 w8": "785 for 32: 305 unpack B, 64 numbers of a lane (56 shifts, 57 masks, 64 each convert, subtract and scale); 138 moves pack halves, 124 wait for registers of messages (78 mov to null, 46 sync); 30 access local memory",
    "paged_decode 16x64x128 w4": "1879 for 32: 522 moves, 391 integer add, shl and xor, most for addresses (142, 153, 96), 385 wait for registers of messages (258 mov to null, 127 sync), 120 access local memory, 71 spill; operands of 16 rows are used once",
    "convolution 64x128x32 w8": "1623 for 144: 484 wait for messages whose registers are written again (348 mov to null, 136 sync.nop), 145 branch around masked loads (73 cmp, 36 goto, 36 join), 90 are 18 barriers",
    "chunk_scan 128x64x64 w8": "1422 for 32: 835 compute the exponentials of A, 64 of a lane by two exp2 each (320 mul, 128 each mad, math and sel, 67 cmp, 64 rndz); 128 convert to f32 and back, 100 pack halves, 111 wait for messages",
}
_SPILLED = "keys and values are gathered by 4 warps, 128 elements of each in a thread beside sums and weights"

#: by case, device and figure: why it falls short
CAUSES: Mapping[tuple[str, str, str], str] = {
    (f"{_F16} A^T 128x128x32 w32", "pvc", "moves"): _PAIRS,
    **{(case, "pvc", "per_dpas"): cause for case, cause in _COUNTED.items()},
    ("paged_decode 16x64x128 w4", "pvc", "spills"): _SPILLED,
    **{(case, "dg2", "spills"): _FULL for case in _MATMULS},
    **{(case, "dg2", "spills"): cause for case, cause in _ROWS.items()},
    **{(f"matmul fp8e4nv 128x128x32 w{n}", "pvc", "moves"): _HALVES for n in (8, 32)},
}


def rows(figures: Mapping[str, Mapping[str, Figures]]) -> Iterator[Row]:
    """All goals, and every kernel that spills: none should."""
    for goal in GOALS:
        ours = getattr(figures[goal.case][goal.device], goal.figure)
        yield Row(goal, ours, CAUSES.get((goal.case, goal.device, goal.figure), ""))
    for case, own in figures.items():
        for device, found in own.items():
            cause = CAUSES.get((case, device, "spills"), "")
            if found.spills > 0 or cause:
                yield Row(Goal(case, "spills", 0, device=device), found.spills, cause)


def table(figures: Mapping[str, Mapping[str, Figures]]) -> str:
    """In Markdown."""
    lines = [
        "| kernel | device | figure | ours | sketch | goal | why not |",
        "| --- | --- | --- | ---: | ---: | ---: | --- |",
    ]
    for row in rows(figures):
        goal = row.goal
        sketch = "" if goal.sketch < 0 else goal.sketch
        cells = (goal.case, goal.device, goal.figure, row.ours, sketch, goal.most, row.cause)
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)
