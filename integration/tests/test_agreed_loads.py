"""Loops and branches with barriers in them that a word decides which another program changes: no warp parts from the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl

_ONES = 128


@tri.jit
def sums_until_told(flag: Any, x: Any, out: Any) -> None:
    o = tl.arange(0, 128)
    total: Any = 0
    if tl.program_id(0) == 0:
        while tl.load(flag, volatile=True) == 0:
            total += tl.sum(tl.load(x + o), 0)
    else:
        tl.atomic_xchg(flag, 1)
    tl.store(out + tl.program_id(0), total)


@tri.jit
def sums_where_not_told(flag: Any, x: Any, out: Any) -> None:
    o = tl.arange(0, 128)
    total: Any = 0
    if tl.program_id(0) == 0:
        for _ in range(20):
            if tl.load(flag, cache_modifier=".cv") == 0:
                total += tl.sum(tl.load(x + o), 0)
    else:
        total = tl.sum(tl.load(x + o), 0)
        tl.atomic_xchg(flag, 1)
    tl.store(out + tl.program_id(0), total)


@tri.jit
def sums_until_two_are_set(flag: Any, x: Any, out: Any) -> None:
    o = tl.arange(0, 128)
    total: Any = 0
    if tl.program_id(0) == 0:
        seen: Any = 0
        while seen < 3:
            if total >= 0:
                seen = tl.load(flag, volatile=True) + tl.load(flag + 1, volatile=True) * 2
            total += tl.sum(tl.load(x + o), 0)
    else:
        tl.atomic_xchg(flag, 1)
        tl.atomic_xchg(flag + 1, 1)
    tl.store(out + tl.program_id(0), total)


@pytest.mark.parametrize(
    "target", ["sim:nvidia:sm_80", "sim:nvidia:sm_90a", "sim:amd:gfx942", "sim:intel:pvc"]
)
@pytest.mark.parametrize(
    "kernel",
    [sums_until_told, sums_where_not_told, sums_until_two_are_set],
    ids=lambda k: k.fn.__name__,
)
def test_warps_stay_together(kernel: Any, target: str) -> None:
    for seed in range(8):
        out = np.zeros(2, np.int32)
        with tri.target(target), tri.simulation(report=False, memory="weak", schedule=seed):
            kernel[(2,)](np.zeros(2, np.int32), np.ones(_ONES, np.int32), out, num_warps=4)
        assert not (out % _ONES).any(), seed
