"""Triton 3.9's TTGIR of a matmul of ours (128 x 128 x 64, 4 warps), by chip: read, verified, compiled, and right in the simulator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tri
from tri_core.compiler import IRSource
from tri_core.mlir import registry, session
from tri_core.plugins import manager
from tri_core.text import parse_module

FOLDER = Path(__file__).parent / "triton_ttgir"
#: chip, its matrix instruction, and how many of them the loop and the last step behind it have
MFMA = [
    ("gfx90a", "v_mfma_f32_32x32x8f16", 64),
    ("gfx942", "v_mfma_f32_32x32x8_f16", 64),
    ("gfx950", "v_mfma_f32_32x32x16_f16", 32),
]


@tri.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm):
    """Stands for the text that is compiled instead."""


def path(arch: str) -> str:
    return str(FOLDER / f"matmul_{arch}.ttgir")


@pytest.mark.parametrize(("arch", "instruction", "count"), MFMA)
def test_it_compiles_to_matrix_instructions(arch: str, instruction: str, count: int) -> None:
    text = str(tri.compile(IRSource.from_file(path(arch)), target=f"amd:{arch}").asm["amdgcn"])
    assert text.count(f"\t{instruction}") == count
    assert "scratch_" not in text.split(".section")[0]


def test_gfx950_has_no_writes_to_lds_in_the_loop() -> None:
    text = str(tri.compile(IRSource.from_file(path("gfx950")), target="amd:gfx950").asm["amdgcn"])
    assert sum("buffer_load_dwordx4" in line and " lds" in line for line in text.splitlines()) == 16
    # those that there are belong to the result's layout
    assert "ds_write" not in text[: text.rindex("v_mfma")]


@pytest.mark.parametrize("arch", [*(row[0] for row in MFMA), "gfx1100", "gfx1201"])
def test_it_is_right(arch: str) -> None:
    rng = np.random.default_rng(0)
    m, n, k = 128, 128, 144
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    c = np.zeros((m, n), np.float16)
    with tri.target(f"sim:amd:{arch}"):
        matmul[(1, 1)](a, b, c, 112, 96, k, k, n, n, ir_override=path(arch))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    expected[112:], expected[:, 96:] = 0, 0
    np.testing.assert_allclose(c, expected, rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
def test_wmma_is_read_verified_and_compiled(arch: str) -> None:
    manager().register_ir(registry)
    with session():
        parse_module(Path(path(arch)).read_text(), path(arch))
    text = str(tri.compile(IRSource.from_file(path(arch)), target=f"amd:{arch}").asm["amdgcn"])
    assert "v_wmma_f32_16x16x16_f16" in text


def test_a_step_on_gfx950_waits_once_for_the_copies_of_the_one_before() -> None:
    """The copies of the next step stay under way through its reads of LDS and its matrix instructions."""
    text = str(tri.compile(IRSource.from_file(path("gfx950")), target="amd:gfx950").asm["amdgcn"])
    lines = text.splitlines()
    copies = [i for i, line in enumerate(lines) if "buffer_load_dwordx4" in line and " lds" in line]
    first, last = copies[8], next(i for i in range(copies[-1], len(lines)) if "s_cbranch" in lines[i])
    assert not [line for line in lines[first:last] if "vmcnt" in line or "s_barrier" in line]
    assert sum("v_mfma" in line for line in lines[first:last]) == 16
