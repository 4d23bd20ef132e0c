"""Operands whose neighbours are across k are transposed in registers: in the IR, in the code, in results."""

from __future__ import annotations

import re

import numpy as np
import pytest

from mfma_kernels import machine_code, run

CHIPS = ("gfx908", "gfx90a", "gfx942", "gfx950")


@pytest.mark.parametrize("chip", CHIPS)
def test_lds_is_accessed_in_vectors(chip: str) -> None:
    text = machine_code(chip, "f16", (128, 128, 64))
    accesses = re.findall(r"\bds_(?:read|write)\w*", text)
    assert accesses
    assert {a for a in accesses if re.search(r"(?<!_tr)_(u16|b16|b8|u8|b32)", a)} <= {"ds_read_b32"}


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("kind", ["f16", "bf16", "i8", "f32"])
@pytest.mark.parametrize("block", [(64, 64, 64), (128, 32, 32), (32, 128, 16)])
def test_results_are_right(chip: str, kind: str, block: tuple[int, int, int]) -> None:
    m, n, k = block
    total = "i32" if kind == "i8" else "f32"
    error, ttgir = run(chip, (kind, kind), total, (m + 5, n + 9, 2 * k - 3), block, warps=4)
    assert error <= (0 if kind == "i8" else 3e-6)
    assert "amd_mfma" in ttgir


def test_a_thread_has_neighbours_along_k() -> None:
    _, ttgir = run("gfx942", ("f16", "f16"), "f32", (64, 64, 64), (64, 64, 64), warps=2)
    sizes = [tuple(map(int, s.split(", "))) for s in re.findall(r"sizePerThread = \[([\d, ]+)\]", ttgir)]
    assert any(len(size) == 2 and size[0] >= 4 and size[1] >= 4 for size in sizes)
    assert np.prod(max(sizes)) <= 64
