"""Loads of a loop's next iteration stay under way until its dots are done, also where registers are moved for the store."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tri
from mfma_kernels import compiled_matmul, machine_code, run
from tri_core.compiler import IRSource

BYTES = """
#own = #ttg.blocked<{sizePerThread = SIZE, threadsPerWarp = [8, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.amd_mfma<{version = 3, warpsPerCTA = [4, 1], instrShape = [16, 16, 16], isTransposed = true}>
#left = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 4}>
#right = #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 4}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [ORDER]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32} {
  tt.func public @k(%p: !tt.ptr<i8>, %q: !tt.ptr<f32>) {
    %buffer = ttg.local_alloc : () -> !ttg.memdesc<64x64xi8, #shared, #ttg.shared_memory, mutable>
    %places = tt.splat %p : !tt.ptr<i8> -> tensor<64x64x!tt.ptr<i8>, #own>
    %loaded = tt.load %places : tensor<64x64x!tt.ptr<i8>, #own>
    %x = arith.constant dense<1.0> : tensor<64x64xf16, #left>
    %y = arith.constant dense<1.0> : tensor<64x64xf16, #right>
    %c = arith.constant dense<0.0> : tensor<64x64xf32, #mma>
    %d = tt.dot %x, %y, %c : tensor<64x64xf16, #left> * tensor<64x64xf16, #right> -> tensor<64x64xf32, #mma>
    ttg.local_store %loaded, %buffer : tensor<64x64xi8, #own> -> !ttg.memdesc<64x64xi8, #shared, #ttg.shared_memory, mutable>
    %out = tt.splat %q : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>, #mma>
    tt.store %out, %d : tensor<64x64x!tt.ptr<f32>, #mma>
    tt.return
  }
}
"""


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
        ("gfx942", "i8", (256, 256, 64), 8),
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
    # wavefronts that alternate have one behind each cluster
    assert len(barriers) in (2, 8)
    assert barriers[len(barriers) // 2] < first_use
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


@pytest.mark.parametrize(("shape", "count"), [((2, 1), 1), ((1, 2), 0)], ids=["along-columns", "along-rows"])
def test_bytes_that_are_loaded_one_by_one_are_put_together_late(
    tmp_path: Path, shape: tuple[int, int], count: int
) -> None:
    """Two registers are neighbours in LDS; an access of memory gives both, or one."""
    path = tmp_path / "k.ttgir"
    order = "0, 1" if shape == (2, 1) else "1, 0"
    path.write_text(BYTES.replace("SIZE", f"[{shape[0]}, {shape[1]}]").replace("ORDER", order))
    text = str(tri.compile(IRSource.from_file(str(path)), target="amd:gfx942").asm["llir"])
    assert text.count("call void @llvm.amdgcn.sched.barrier(i32 8)") == count


def test_products_are_right() -> None:
    error, _ = run("gfx942", ("f16", "f16"), "f32", (96, 80, 160), (64, 64, 32), warps=4)
    assert error < 1e-6
