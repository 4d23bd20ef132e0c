"""Loads that have to go to memory each time stay in the loop that waits, and stores that others wait for are made, on every target."""

from __future__ import annotations

import re

import pytest

import tri
import tri.language as tl

#: the stage to look at, what a load is called that no compiler may keep, and a store that none may leave out
WAITS = {
    "nvidia:sm_80": ("ptx", r"ld\.volatile\.global", r"st\.volatile\.global"),
    "nvidia:sm_90a": ("ptx", r"ld\.volatile\.global", r"st\.volatile\.global"),
    "nvidia:sm_100a": ("ptx", r"ld\.volatile\.global", r"st\.volatile\.global"),
    # stores of gfx90a and gfx1030 go through the caches of their own; all are waited for
    "amd:gfx90a": (
        "amdgcn",
        r"(global|flat)_load\w* .*glc",
        r"(global|flat)_store.*\n\ts_waitcnt vmcnt\(0\)",
    ),
    "amd:gfx942": (
        "amdgcn",
        r"(global|flat)_load\w* .*sc0 sc1",
        r"(global|flat)_store.*sc0 sc1\n\ts_waitcnt vmcnt\(0\)",
    ),
    "amd:gfx950": (
        "amdgcn",
        r"(global|flat)_load\w* .*sc0 sc1",
        r"(global|flat)_store.*sc0 sc1\n\ts_waitcnt vmcnt\(0\)",
    ),
    "amd:gfx1030": (
        "amdgcn",
        r"(global|flat)_load\w* .*glc dlc",
        r"(global|flat)_store.*\n\ts_waitcnt_vscnt",
    ),
    "amd:gfx1100": (
        "amdgcn",
        r"(global|flat)_load\w* .*glc dlc",
        r"(global|flat)_store.*dlc\n\ts_waitcnt_vscnt",
    ),
    "amd:gfx1201": (
        "amdgcn",
        r"(global|flat)_load\w* .*SCOPE_SYS",
        r"(global|flat)_store.*SCOPE_SYS\n\ts_wait_storecnt",
    ),
    "amd:gfx1250": (
        "amdgcn",
        r"(global|flat)_load\w* .*SCOPE_SYS",
        r"(global|flat)_store.*SCOPE_SYS\n\ts_wait_storecnt",
    ),
    "intel:pvc": ("llir", r"load volatile", r"store volatile"),
    "cpu": (
        "llir",
        r'fence syncscope\("singlethread"\) acq_rel\n(?:\s+\S+ = getelementptr.*\n)*\s+\S+ = load i32',
        r'fence syncscope\("singlethread"\) acq_rel\n(?:\s+\S+ = getelementptr.*\n)*\s+store i32',
    ),
}
MARKS = {"cv": (".cv", False), "volatile": ("", True), "both": (".cv", True)}


@tri.jit
def waiting(flag, out, CACHE: tl.constexpr, VOLATILE: tl.constexpr):
    while tl.load(flag, cache_modifier=CACHE, volatile=VOLATILE) == 0:
        pass
    tl.store(out, tl.load(flag, cache_modifier=CACHE, volatile=VOLATILE))


@tri.jit
def twice(flag, out, CACHE: tl.constexpr, VOLATILE: tl.constexpr):
    first = tl.load(flag, cache_modifier=CACHE, volatile=VOLATILE)
    second = tl.load(flag, cache_modifier=CACHE, volatile=VOLATILE)
    for _ in range(first):
        second += tl.load(flag, cache_modifier=CACHE, volatile=VOLATILE)
    tl.store(out, first + second)


@tri.jit
def telling(flag):
    tl.store(flag, 1, cache_modifier=".wt")
    tl.store(flag, 2, cache_modifier=".wt")


@pytest.mark.parametrize(("cache", "volatile"), MARKS.values(), ids=MARKS)
@pytest.mark.parametrize("target", WAITS)
@pytest.mark.parametrize(("kernel", "loads"), [(waiting, 2), (twice, 3)], ids=["waiting", "twice"])
def test_each_load_stays(
    kernel: tri.JITFunction, loads: int, target: str, cache: str, volatile: bool
) -> None:
    with tri.target(target):
        made = kernel.warmup(tl.int32, tl.int32, CACHE=cache, VOLATILE=volatile, grid=(1,))
    stage, pattern, _ = WAITS[target]
    assert len(re.findall(pattern, made.asm[stage])) >= loads, made.asm[stage]


@pytest.mark.parametrize("target", WAITS)
def test_each_store_that_writes_through_stays(target: str) -> None:
    with tri.target(target):
        made = telling.warmup(tl.int32, grid=(1,))
    stage, _, pattern = WAITS[target]
    assert len(re.findall(pattern, made.asm[stage])) == 2, made.asm[stage]


@pytest.mark.parametrize(("cache", "volatile"), MARKS.values(), ids=MARKS)
@pytest.mark.parametrize(("kernel", "loads"), [(waiting, 2), (twice, 3)], ids=["waiting", "twice"])
def test_ttir_keeps_them(kernel: tri.JITFunction, loads: int, cache: str, volatile: bool) -> None:
    with tri.target("cpu"):
        made = kernel.warmup(tl.int32, tl.int32, CACHE=cache, VOLATILE=volatile, grid=(1,))
    assert len(re.findall(r"tt\.load", made.asm["ttir"])) == loads
