"""Loops of dots whose wavefronts alternate: products, the order of the machine code, cycles by the estimate, and what stays as it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mfma_kernels
import strided_kernels
import tri
import tri.language as tl
from mfma_kernels import compiled_matmul, matmul
from tri_backend_amd.cycles import CHIPS, ahead_of, alternates, estimate, steps_of
from tri_backend_amd.cycles.alternation import SLICES, LoopCounts, loads_before, read_before
from tri_core.errors import TriError
from tri_core.remarks import remarks

BLOCK = (256, 256, 64)
SHALLOW = (256, 256, 32)
#: slices, matrix instructions of a dot cluster, and the part of the time that the matrix unit works by the estimate, at least
CHIPS_OF = [
    ("gfx90a", "f16", BLOCK, 4, 16, 0.95),
    ("gfx942", "f16", BLOCK, 4, 16, 0.95),
    ("gfx950", "f16", BLOCK, 4, 8, 0.90),
    ("gfx942", "i8", BLOCK, 4, 8, 0.80),
    ("gfx942", "f16", SHALLOW, 2, 16, 0.85),
    ("gfx90a", "bf16", SHALLOW, 2, 16, 0.95),
]


def made(chip: str, kind: str = "f16", block: tuple[int, int, int] = BLOCK, warps: int = 8) -> Any:
    return compiled_matmul(chip, kind, block, num_warps=warps, num_stages=2)


def steady(assembly: str) -> tuple[list[str], list[str], str]:
    """All labels and instructions, those of the loop with priorities, and its label."""
    lines = [re.split(r"[;#]|//", line)[0].strip() for line in assembly.split(".Lfunc_end")[0].splitlines()]
    lines = [line for line in lines if line and (line[0] != "." or line.endswith(":"))]
    end = next(
        i
        for i, line in enumerate(lines)
        if line.startswith("s_cbranch") and "s_setprio" in " ".join(lines[:i])
    )
    label = lines[end].split()[-1]
    return lines, lines[lines.index(f"{label}:") + 1 : end + 1], label


# --- machine code -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("chip", "kind", "block", "slices", "count", "least"), CHIPS_OF)
def test_the_matrix_unit_works_nearly_all_the_time(
    chip: str, kind: str, block: tuple[int, int, int], slices: int, count: int, least: float
) -> None:
    assembly = str(made(chip, kind, block).asm["amdgcn"])
    lines, loop, label = steady(assembly)
    assert alternates(lines, label)
    steps = steps_of(loop, chip)
    assert estimate(steps, CHIPS[chip], 2, ahead_of(steps)).efficiency >= least
    assert "scratch_" not in assembly.split(".section")[0]


def test_the_shown_estimate_has_them_a_barrier_apart() -> None:
    found = made("gfx942").loop_estimates.loops
    assert max(loop.busy["matrix unit"] for loop in found if loop.busy) >= 0.95


@pytest.mark.parametrize(("chip", "kind", "block", "slices", "count", "least"), CHIPS_OF)
def test_dot_clusters_are_matrix_instructions_between_barriers(
    chip: str, kind: str, block: tuple[int, int, int], slices: int, count: int, least: float
) -> None:
    _, loop, _ = steady(str(made(chip, kind, block).asm["amdgcn"]))
    parts = " ".join(line.split()[0] for line in loop).split("s_barrier")
    dots, memory = parts[1::2], parts[0::2]
    assert len(parts) == 2 * slices + 1
    assert all(re.fullmatch(rf" (v_mfma\S+ ){{{count}}}", part) for part in dots)
    assert not any("v_mfma" in part for part in memory)
    assert [part.count("s_setprio") for part in memory] == [1, *[2] * (slices - 1), 1]
    # loads stay under way up to the stores of the last cluster
    waits = [place for place, line in enumerate(loop) if "vmcnt" in line]
    stores = [place for place, line in enumerate(loop) if line.startswith("ds_write")]
    assert loop[waits[-1]] == "s_waitcnt vmcnt(0)"
    assert len(waits) == 1 or kind == "i8"
    assert "v_mfma" not in " ".join(loop[waits[0] : stores[-1]])


# --- products -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chip", "kind", "shape"),
    [
        ("gfx942", "f16", (256, 256, 320)),
        ("gfx942", "bf16", (192, 240, 208)),
        ("gfx950", "f16", (256, 200, 136)),
        ("gfx90a", "f16", (256, 256, 128)),
        ("gfx942", "i8", (256, 256, 320)),
        ("gfx942", "i8", (200, 136, 208)),
        ("gfx942", "f8E4M3FNUZ", (192, 240, 208)),
        ("gfx942", "i8", (64, 48, 16)),
        # no iteration of the loop with clusters; then not one of any loop
        ("gfx942", "f16", (64, 48, 64)),
        ("gfx950", "f16", (64, 48, 16)),
    ],
)
def test_products_are_right(chip: str, kind: str, shape: tuple[int, int, int]) -> None:
    total = "i32" if kind == "i8" else "f32"
    error, text = mfma_kernels.run(chip, (kind, kind), total, shape, BLOCK, warps=8)
    assert text.count("amdg.cond_barrier") == 2
    assert error < 1e-6


@pytest.mark.parametrize(
    ("chip", "kind", "shape"),
    [
        ("gfx942", "f16", (256, 256, 160)),
        ("gfx942", "bf16", (200, 136, 104)),
        ("gfx90a", "f16", (192, 240, 72)),
        ("gfx942", "f16", (64, 48, 32)),
        ("gfx942", "f16", (64, 48, 16)),
    ],
)
def test_products_over_two_slices_are_right(chip: str, kind: str, shape: tuple[int, int, int]) -> None:
    error, text = mfma_kernels.run(chip, (kind, kind), "f32", shape, SHALLOW, warps=8)
    assert text.count("amdg.cond_barrier") == 2
    assert error < 1e-6


@pytest.mark.parametrize(
    ("kind", "block", "shape", "stages"),
    [
        ("f16", SHALLOW, (256, 256, 5 * 32 + 16), 3),
        ("bf16", SHALLOW, (272, 240, 4 * 32), 3),
        ("i8", BLOCK, (200, 256, 3 * 64 + 16), 3),
        ("f16", SHALLOW, (64, 48, 64), 4),
        ("f16", SHALLOW, (64, 48, 32), 3),
        ("f16", SHALLOW, (64, 48, 16), 3),
        ("f16", SHALLOW, (64, 48, 0), 3),
    ],
)
def test_products_of_what_is_copied_are_right(
    kind: str, block: tuple[int, int, int], shape: tuple[int, int, int], stages: int
) -> None:
    error, text = strided_kernels.run(
        "gfx950", kind, (False, True), shape, block, num_warps=8, num_stages=stages
    )
    assert "ttg.async_copy_global_to_local" in text
    assert text.count("amdg.cond_barrier") == 2
    assert error <= (0 if kind == "i8" else 3e-6)


def test_copies_begin_beside_the_last_dot_and_are_waited_for_there() -> None:
    kernel = strided_kernels.compiled("gfx950", "f16", SHALLOW, num_warps=8, num_stages=3)
    _, loop, _ = steady(str(kernel.asm["amdgcn"]))
    first, dots, last = "\n".join(loop).split("s_barrier")[:3]
    assert ("ds_read" in first, "v_mfma" in dots) == (True, True)
    assert last.count(" lds") == 4
    assert "vmcnt(4)" in last[last.rindex(" lds") :]
    assert not re.search("ds_read|ds_write", last)
    assert "vmcnt" not in first


def launched(path: Path, depth: int = 256) -> float:
    """The largest error of a product by the TTGIR at ``path``."""
    rng = np.random.default_rng(depth)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((256, depth), (depth, 256)))
    c = np.full((256, 256), np.nan, np.float32)
    sizes = dict(zip(("BM", "BN", "BK"), BLOCK, strict=True))
    with tri.target("sim:amd:gfx942"):
        matmul[(1, 1)](
            a,
            b,
            c,
            256,
            256,
            depth,
            **sizes,
            TOTAL=tl.float32,
            PRECISION="ieee",
            num_warps=8,
            ir_override=str(path),
        )
    return float(np.abs(c - a.astype(np.float64) @ b.astype(np.float64)).max())


def written(folder: Path, text: str) -> Path:
    path = folder / "k.ttgir"
    path.write_text(text)
    return path


def ttgir() -> str:
    _, text = mfma_kernels.run("gfx942", ("f16", "f16"), "f32", (256, 256, 256), BLOCK, warps=8)
    return text


def test_the_text_is_read_as_it_is_written(tmp_path: Path) -> None:
    assert launched(written(tmp_path, ttgir())) < 1e-3


@pytest.mark.parametrize("number", [2, 3], ids=["reads-then-stores", "stores-then-reads"])
def test_one_barrier_fewer_between_accesses_is_a_race(tmp_path: Path, number: int) -> None:
    """The group ahead is a barrier ahead: between accesses of one buffer there have to be two."""
    lines = ttgir().splitlines()
    begin = next(i for i, line in enumerate(lines) if "amdg.cond_barrier" in line)
    barriers = [i for i in range(begin, len(lines)) if "ttg.barrier local" in lines[i]]
    # what stands around a dot cluster: both, since the groups have to come to as many
    for place in reversed(barriers[2 * number : 2 * number + 2]):
        del lines[place]
    with pytest.raises(TriError, match=r"race|written|reads"):
        launched(written(tmp_path, "\n".join(lines)))


# --- what stays ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chip", "kind", "block", "warps", "why"),
    [
        ("gfx942", "f16", (128, 128, 64), 4, "the block has 4 wavefronts, not 2 for each of 4 SIMDs"),
        ("gfx942", "f16", (256, 256, 16), 8, "is not 2 slices of instructions"),
        ("gfx942", "f16", (128, 128, 32), 8, "cycles by the estimate"),
        ("gfx950", "f16", SHALLOW, 8, "cycles by the estimate"),
        ("gfx950", "f16", (64, 256, 64), 8, "cycles by the estimate"),
    ],
)
def test_it_says_why_wavefronts_do_not_alternate(
    chip: str, kind: str, block: tuple[int, int, int], warps: int, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRI_ALWAYS_COMPILE", "1")
    with remarks() as said:
        text = str(made(chip, kind, block, warps).asm["ttgir"])
    assert "amdg.cond_barrier" not in text
    assert any(why in remark.text for remark in said if remark.pass_name == "amdg-block-ping-pong")


# --- the prediction -----------------------------------------------------------------------------------------


@given(
    matrix=st.integers(1, 16),
    passes=st.sampled_from([4, 8, 16]),
    source=st.sampled_from([8, 16]),
    reads=st.integers(1, 8),
    writes=st.integers(1, 8),
    loads=st.integers(2, 8),
    chip=st.sampled_from(sorted(CHIPS)),
)
def test_either_order_takes_what_the_matrix_unit_takes(
    matrix: int, passes: int, source: int, reads: int, writes: int, loads: int, chip: str
) -> None:
    counts = LoopCounts(4 * matrix, passes, source, 4 * reads, writes, loads)
    busy = 2 * 4 * counts.passes * counts.matrix
    assert counts.together(CHIPS[chip]) >= busy
    assert all(counts.alternating(CHIPS[chip], slices) >= busy for slices in SLICES)


@pytest.mark.parametrize("slices", SLICES)
def test_all_is_read_and_loaded_before_the_last_slice(slices: int) -> None:
    read = [number for each in range(slices) for number in read_before(each, slices)]
    loaded = [load for each in range(slices) for load in loads_before("abc", each, slices)]
    assert (read, "".join(loaded)) == ([*range(slices)], "abc")
    assert not read_before(slices - 1, slices)
    assert not loads_before("abc", slices - 1, slices)


def test_a_loop_that_reads_more_than_it_multiplies_gains_nothing() -> None:
    few = LoopCounts(matrix=4, passes=4, source=16, reads=32, writes=8, loads=8)
    assert few.alternating(CHIPS["gfx950"], 4) > few.together(CHIPS["gfx950"])


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["s_cbranch_scc1 .A", "s_barrier", ".A:", ".L:", "s_cbranch_scc0 .L"], True),
        (["s_barrier", "s_cbranch_scc1 .A", ".A:", ".L:", "s_cbranch_scc0 .L"], False),
        ([".L:", "s_cbranch_scc0 .L", "s_cbranch_scc1 .A", "s_barrier", ".A:"], False),
        (["s_cbranch_scc1 .A", "s_barrier", ".A:"], False),
    ],
)
def test_a_barrier_that_is_jumped_over_before_a_loop_shifts_it(lines: list[str], expected: bool) -> None:
    assert alternates(lines, ".L") == expected
