"""Loads that have to go to memory each time stay in the loop that waits, on every target."""

from __future__ import annotations

import re

import pytest

import tri
import tri.language as tl

#: what a load is called, and what marks it as one that no compiler may keep
WAITS = {
    "nvidia:sm_90a": ("ptx", r"ld\.(volatile\.global|global\.(volatile|cv))"),
    "amd:gfx942": ("amdgcn", r"(global|flat)_load\w* .*sc0 sc1"),
    "intel:pvc": ("llir", r"load volatile"),
}


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


@pytest.mark.parametrize(("cache", "volatile"), [(".cv", False), ("", True)], ids=["cv", "volatile"])
@pytest.mark.parametrize("target", WAITS)
@pytest.mark.parametrize(("kernel", "loads"), [(waiting, 2), (twice, 3)], ids=["waiting", "twice"])
def test_each_load_stays(
    kernel: tri.JITFunction, loads: int, target: str, cache: str, volatile: bool
) -> None:
    with tri.target(target):
        made = kernel.warmup(tl.int32, tl.int32, CACHE=cache, VOLATILE=volatile, grid=(1,))
    stage, pattern = WAITS[target]
    assert len(re.findall(pattern, made.asm[stage])) >= loads, made.asm[stage]


@pytest.mark.parametrize(("cache", "volatile"), [(".cv", False), ("", True)], ids=["cv", "volatile"])
@pytest.mark.parametrize(("kernel", "loads"), [(waiting, 2), (twice, 3)], ids=["waiting", "twice"])
def test_ttir_keeps_them(kernel: tri.JITFunction, loads: int, cache: str, volatile: bool) -> None:
    with tri.target("cpu"):
        made = kernel.warmup(tl.int32, tl.int32, CACHE=cache, VOLATILE=volatile, grid=(1,))
    assert len(re.findall(r"tt\.load", made.asm["ttir"])) == loads
