"""Masks that are the same for a vector are computed once for it, and only those."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl


@tri.jit
def bounded(out, x, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    i, j = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    place = i[:, None] * COLUMNS + j[None, :]
    mask = (j[None, :] < n) & (i[:, None] < n)
    tl.store(out + place, tl.where(mask, tl.load(x + place), -1.0))


@functools.cache
def compiled(target: str, divisibility: int) -> Any:
    types = {"out": "*fp32", "x": "*fp32", "n": "i32", "ROWS": "constexpr", "COLUMNS": "constexpr"}
    facts: dict[Any, Any] = {(i,): [["tt.divisibility", 16]] for i in range(2)}
    facts[2,] = [["tt.divisibility", divisibility]]
    source = tri.ASTSource(bounded, types, {"ROWS": 8, "COLUMNS": 64}, facts)
    return tri.compile(source, target=target, options={"num_warps": 1})


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("divisibility", [1, 2, 4, 16])
def test_what_is_masked(arch: str, divisibility: int) -> None:
    x = np.arange(512, dtype=np.float32).reshape(8, 64)
    for n in range(0, 64, divisibility):
        out = np.zeros_like(x)
        compiled(f"sim:amd:{arch}", divisibility)[(1, 1, 1)](out, x, n)
        wanted = np.full_like(x, -1)
        wanted[:n, :n] = x[:n, :n]
        np.testing.assert_array_equal(out, wanted)


def test_fewer_comparisons_are_made() -> None:
    counts = [str(compiled("amd:gfx942", d).asm["amdgcn"]).count("v_cmp") for d in (1, 16)]
    assert counts[1] < counts[0]
