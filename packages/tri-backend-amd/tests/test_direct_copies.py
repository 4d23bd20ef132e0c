"""Operands that are copied straight to LDS: when, in what code, and right in the simulator."""

from __future__ import annotations

import re

import pytest

from strided_kernels import compiled, run
from tri_backend_amd.direct_copies import BITS, DirectCopies, straight
from tri_core.errors import PluginError
from tri_core.target_selection import resolve
from tri_gpu_dialect.encodings import SwizzledShared
from tri_gpu_dialect.layouts import LANE, OFFSET, REGISTER, WARP, LinearLayout, layout_for

_COPY = "ttg.async_copy_global_to_local"
ROWS, COLUMNS = False, True


def loops(assembly: str) -> list[str]:
    """The blocks of ``assembly`` that jump to their own beginning and multiply."""
    found = re.findall(r"^(\.LBB\d+_\d+):(.*?)\n(?=\.LBB|\.Lfunc)", assembly, re.MULTILINE | re.DOTALL)
    return [text for label, text in found if re.search(rf"s_cbranch\w+ {label}\b", text) and "v_mfma" in text]


@pytest.mark.parametrize("a", [ROWS, COLUMNS])
@pytest.mark.parametrize("b", [ROWS, COLUMNS])
@pytest.mark.parametrize(
    ("kind", "block", "warps", "stages", "serves"),
    [
        ("f16", (64, 64, 64), 4, 3, True),
        ("f16", (64, 32, 64), 1, 4, False),
        ("bf16", (64, 64, 32), 2, 3, True),
        ("f8E4M3FN", (64, 64, 64), 4, 3, True),
        ("i8", (64, 64, 128), 4, 4, True),
    ],
)
def test_results_are_right_however_operands_lie(
    kind: str, block: tuple[int, int, int], warps: int, stages: int, serves: bool, a: bool, b: bool
) -> None:
    m, n, k = block
    shape = (m + 16, n - 16, 5 * k + 16)
    error, ttgir = run("gfx950", kind, (a, b), shape, block, num_warps=warps, num_stages=stages)
    assert error <= (0 if kind == "i8" else 3e-6)
    # both have their neighbours along k
    assert (_COPY in ttgir) == (serves and a == ROWS and b == COLUMNS)


@pytest.mark.parametrize("k", [0, 16, 64, 128, 144, 192, 256])
def test_loops_of_few_iterations(k: int) -> None:
    error, ttgir = run("gfx950", "f16", (ROWS, COLUMNS), (64, 64, k), (64, 64, 64), num_stages=3)
    assert error <= 3e-6
    assert _COPY in ttgir


@pytest.mark.parametrize(
    ("kind", "block", "stages", "copies"), [("f16", (64, 64, 64), 3, 4), ("i8", (64, 64, 128), 4, 4)]
)
def test_nothing_passes_registers_and_waits_count(
    kind: str, block: tuple[int, int, int], stages: int, copies: int
) -> None:
    """All stages but the one that is read stay under way."""
    (loop,) = [
        text
        for text in loops(str(compiled("gfx950", kind, block, num_stages=stages).asm["amdgcn"]))
        if " lds" in text
    ]
    assert len(re.findall(r"buffer_load_dwordx4 .* lds", loop)) == copies
    assert "ds_write" not in loop
    assert loop.count("s_barrier") == 1
    assert re.findall(r"vmcnt\((\d+)\)", loop) == [str(copies * (stages - 2))]


def test_two_stages_go_through_registers() -> None:
    """They take fewer instructions."""
    assert _COPY not in compiled("gfx950", "f16", (64, 64, 64), num_stages=2).asm["ttgir"]


def test_stages_that_leave_fewer_ctas_go_through_registers() -> None:
    """Of three stages, 96 KiB, a compute unit holds one CTA, two iterations under way; through registers three, one each."""
    assert _COPY not in compiled("gfx950", "f16", (128, 128, 64), num_stages=3).asm["ttgir"]
    assert _COPY in compiled("gfx950", "f8E4M3FN", (128, 128, 64), num_stages=3).asm["ttgir"]


def test_stages_that_do_not_fit_go_through_registers() -> None:
    """Three of 64 KiB are more than 160 KiB."""
    kernel = compiled("gfx950", "f16", (256, 256, 64), num_stages=3, num_warps=8)
    assert _COPY not in kernel.asm["ttgir"]


def test_what_registers_lack_room_for_is_copied() -> None:
    """16 wavefronts have 128 registers each: too few for a loop through registers, which was not pipelined at all."""
    kernel = compiled("gfx950", "f16", (256, 256, 64), num_stages=3, num_warps=16)
    assert _COPY in kernel.asm["ttgir"]


def test_arrays_of_any_size_go_through_registers() -> None:
    """A buffer does not reach all of them."""
    assert _COPY in compiled("gfx950", "f16", (64, 64, 64), num_stages=3).asm["ttgir"]
    assert _COPY not in compiled("gfx950", "f16", (64, 64, 64), small=False, num_stages=3).asm["ttgir"]


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942"])
def test_older_chips_have_none(chip: str) -> None:
    assert _COPY not in compiled(chip, "f16", (64, 64, 64), num_stages=3).asm["ttgir"]
    with pytest.raises(PluginError, match="cdna4"):
        DirectCopies().check(resolve(f"amd:{chip}"))


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("warps", [1, 4])
def test_lanes_write_side_by_side(bits: int, warps: int) -> None:
    count = BITS // bits
    memory = SwizzledShared(count, 2, 4, (1, 0))
    threads = LinearLayout.identity1d(64, LANE, "x") * LinearLayout.identity1d(warps, WARP, "x")
    layout = straight(memory, threads, (64, 16 * count), bits)
    assert layout is not None
    offset_of = layout_for(memory, (64, 16 * count)).invert()
    for warp in range(warps):
        for lane in range(64):
            for register in range(count):
                where = layout.apply({REGISTER: register, LANE: lane, WARP: warp})
                assert offset_of.apply(where)[OFFSET] == (warp * 64 + lane) * count + register


def test_a_tensor_smaller_than_the_threads_vectors_has_no_such_layout() -> None:
    threads = LinearLayout.identity1d(64, LANE, "x") * LinearLayout.identity1d(4, WARP, "x")
    assert straight(SwizzledShared(8, 2, 4, (1, 0)), threads, (16, 64), 16) is None
