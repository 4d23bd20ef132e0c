"""Goals of the counts (*busy* and *waves* at least, others at most), and complaints where one is missed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = ["GOALS", "LEAST", "RATIOS", "Causes", "Goals", "complaints", "goals_of"]

#: columns of which a goal is the least; of others it is the most
LEAST = frozenset({"busy", "waves"})
#: column -> goal of each kernel beside the matmuls, in percent of what Triton's takes
RATIOS: Mapping[str, int] = {"cycles": 105, "total": 115, "waves": 100, "scratch": 100}
#: case -> column -> what is aimed at
Goals = Mapping[str, Mapping[str, int]]
#: (case, column) -> the cause
Causes = Mapping[tuple[str, str], str]

GOALS: Goals = {
    "gfx942 matmul fp16 128x128x64": {"loop": 110, "total": 1100},
    "gfx942 matmul fp16 256x256x64": {"loop": 157, "spills": 0, "busy": 85},
    "gfx942 matmul i8 128x128x64": {"loop": 90},
    "gfx942 matmul fp8e4b8 128x128x64": {"loop": 90},
    "gfx942 attention_by_pointers D128": {"loop": 390, "vgprs": 256},
    "gfx90a matmul fp16 128x128x64": {"loop": 108},
    "gfx90a matmul fp16 256x256x64": {"loop": 157},
    "gfx950 matmul fp16 128x128x64": {"loop": 95},
    "gfx950 matmul fp16 256x256x64": {"loop": 120, "spills": 0, "busy": 93},
    "gfx950 matmul fp8e4nv 128x128x64": {"loop": 61},
    "gfx950 attention_by_pointers D128": {"loop": 330},
    "gfx950 scaled_matmul e2m1 64x64x128": {"matrix": 2},
    "gfx942 int4_matmul 64x128x64": {"cycles": 3193},
    "gfx950 int4_matmul 64x128x64": {"cycles": 2737},
    "gfx942 paged_decode 16x64x128": {"cycles": 4317},
    "gfx950 paged_decode 16x64x128": {"cycles": 2493},
    "gfx942 chunk_scan 128x64x64": {"cycles": 6193},
    "gfx950 chunk_scan 128x64x64": {"cycles": 4917},
    "gfx942 block_scaled_matmul 128x128x128": {"cycles": 2556},
    "gfx942 softmax": {"total": 458},
    "gfx942 layernorm": {"total": 290},
    "gfx942 elementwise 64x64": {"total": 140},
    "gfx1100 matmul fp16 128x128x64": {"loop": 300, "spills": 0},
    "gfx1201 matmul fp16 128x128x64": {"loop": 250, "spills": 0},
    "gfx1100 softmax": {"total": 1074},
    "gfx1100 layernorm": {"total": 362},
    "gfx1100 elementwise 64x64": {"total": 212},
}


def goals_of(theirs: Mapping[str, Mapping[str, int]], kinds: Iterable[str]) -> Goals:
    """:data:`GOALS`, of the kernels ``kinds`` :data:`RATIOS` of the counts of another compiler, those that it has, and of all its time of compiling."""
    found = dict(GOALS)
    for name in kinds:
        counts = theirs.get(name, {})
        found[name] = {
            column: counts[column] * percent // 100 for column, percent in RATIOS.items() if column in counts
        }
    for name, counts in theirs.items():
        if "compile" in counts:
            found[name] = {**found.get(name, {}), "compile": counts["compile"]}
    return found


def complaints(found: Mapping[str, Mapping[str, int]], goals: Goals, causes: Causes) -> list[str]:
    """Errors in the table: rows that fall short of a goal without a cause, causes of what is reached or no
    goal, goals of no case.
    """
    said = [f"{case}: no such case" for case in goals if case not in found]
    short = {
        (case, column)
        for case, wanted in goals.items()
        for column, goal in wanted.items()
        if column in found.get(case, {}) and _falls_short(column, found[case][column], goal)
    }
    said += [
        f"{case}, {column}: short of the goal, and no cause is given"
        for case, column in sorted(short - set(causes))
    ]
    said += [
        f"{case}, {column}: a cause is given of what is not short of a goal"
        for case, column in sorted(set(causes) - short)
    ]
    return said


def _falls_short(column: str, count: int, goal: int) -> bool:
    return count < goal if column in LEAST else count > goal
