"""Loads of a loop's next iteration stay under way until its dots are done, also where registers are moved for the store."""

from __future__ import annotations

import re

import pytest

from mfma_kernels import compiled_matmul, machine_code, run


def steady_loop(assembly: str) -> list[str]:
    """The instructions of the block that jumps back to its own beginning and has matrix instructions and loads, and no masks."""
    lines = [re.split(r"[;#]|//", line)[0].strip() for line in assembly.splitlines()]
    found: list[list[str]] = []
    for end, line in enumerate(lines):
        jump = re.match(r"s_cbranch\w*\s+(\.\w+)", line)
        if jump is None or f"{jump[1]}:" not in lines[:end]:
            continue
        body = [each for each in lines[lines.index(f"{jump[1]}:") + 1 : end] if each[:1] not in ("", ".")]
        if sum("mfma" in each for each in body) and sum(each.startswith("buffer_load") for each in body):
            found.append(body)
    return min(found, key=len)


@pytest.mark.parametrize(
    ("arch", "kind", "block", "warps"),
    [
        ("gfx942", "f16", (128, 128, 64), 4),
        ("gfx942", "f16", (256, 256, 64), 8),
        ("gfx942", "bf16", (128, 128, 64), 4),
        ("gfx90a", "f16", (128, 128, 64), 4),
        ("gfx950", "f16", (128, 128, 64), 4),
    ],
)
def test_nothing_waits_for_loads_in_front_of_the_dots(
    arch: str, kind: str, block: tuple[int, int, int], warps: int
) -> None:
    body = steady_loop(machine_code(arch, kind, block, num_warps=warps, num_stages=2))
    waits = [place for place, line in enumerate(body) if "vmcnt" in line]
    barriers = [place for place, line in enumerate(body) if line == "s_barrier"]
    dots = [place for place, line in enumerate(body) if line.startswith("v_mfma")]
    first_use = waits[0]
    assert body.index(next(line for line in body if line.startswith("buffer_load"))) < first_use
    assert len(barriers) == 2
    assert barriers[1] < first_use
    assert sum(place < first_use for place in dots) >= len(dots) / 2


@pytest.mark.parametrize(
    ("arch", "kind", "stages", "count"),
    [("gfx942", "f16", 2, 1), ("gfx942", "i8", 2, 1), ("gfx950", "f16", 2, 0), ("gfx942", "f16", 1, 0)],
)
def test_the_order_is_asked_for_where_registers_are_moved(
    arch: str, kind: str, stages: int, count: int
) -> None:
    """gfx950 stores registers as they were loaded, and LLVM orders the stores by itself; a loop of one stage has none behind its dots."""
    made = compiled_matmul(arch, kind, (128, 128, 64), num_stages=stages)
    assert str(made.asm["llir"]).count("call void @llvm.amdgcn.sched.barrier(i32 8)") == count


def test_products_are_right() -> None:
    error, _ = run("gfx942", ("f16", "f16"), "f32", (96, 80, 160), (64, 64, 32), warps=4)
    assert error < 1e-6
