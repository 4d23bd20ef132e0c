"""The exchanges between lanes, by what their instructions are documented to do."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from tri_backend_amd.dialect.machine import dpp_source
from tri_backend_amd.lowering.lanes import dpp_control


@pytest.mark.parametrize("rdna", [False, True])
@pytest.mark.parametrize("mask", range(1, 16))
def test_a_dpp_move_is_the_xor_of_its_mask(mask: int, rdna: bool) -> None:
    control = dpp_control(mask, rdna)
    if control is None:
        assert not rdna
        assert mask in (4, 5, 6, 9, 10, 11, 12, 13, 14)
        return
    lanes = np.arange(64)
    np.testing.assert_array_equal(dpp_source(control, lanes), lanes ^ mask)


@pytest.mark.parametrize("rdna", [False, True])
@pytest.mark.parametrize("mask", [16, 24, 32, 63])
def test_dpp_stays_in_its_row(mask: int, rdna: bool) -> None:
    assert dpp_control(mask, rdna) is None


@tri.jit
def totals(out, x, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    i, j = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    values = tl.load(x + i[:, None] * COLUMNS + j[None, :])
    tl.store(out + i, tl.sum(values, axis=1) + tl.max(values, axis=1))


@functools.cache
def compiled_totals(target: str, rows: int, columns: int) -> Any:
    types = {"out": "*fp32", "x": "*fp32", "ROWS": "constexpr", "COLUMNS": "constexpr"}
    source = tri.ASTSource(totals, types, {"ROWS": rows, "COLUMNS": columns})
    return tri.compile(source, target=target, options={"num_warps": 2})


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx1100"])
@pytest.mark.parametrize("columns", [1, 2, 4, 8, 16, 32, 64, 128, 1024])
def test_sums_of_lanes(arch: str, columns: int) -> None:
    rows = 2048 // columns
    x = np.random.default_rng(columns).integers(-99, 99, (rows, columns)).astype(np.float32)
    out = np.zeros(rows, np.float32)
    compiled_totals(f"sim:amd:{arch}", rows, columns)[(1, 1, 1)](out, x)
    np.testing.assert_array_equal(out, x.sum(1) + x.max(1))


def test_wavefronts_of_cdna_are_summed_without_memory() -> None:
    text = str(compiled_totals("amd:gfx942", 2, 64).asm["amdgcn"])
    assert "row_bcast:31" in text
    assert "ds_swizzle" not in text
    assert "ds_bpermute" not in text
