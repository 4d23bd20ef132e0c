"""The barrier between a store and a load of global memory by other threads of the program, in the code of each GPU: the loads see the stores."""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import re

import pytest

import tri
import tri.language as tl


@tri.jit
def backwards(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, i)
    tl.store(o + i, tl.load(x + N - 1 - i))


def code(target: str, stage: str) -> str:
    source = tri.ASTSource(backwards, {"x": "*i32", "o": "*i32", "N": "constexpr"}, {"N": 1024})
    return str(tri.compile(source, target=target).asm[stage])


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
def test_nvidia(arch: str) -> None:
    """A barrier of the CTA orders its threads' accesses of all memory."""
    assert re.search(r"st\.global.*bar\.sync\s+0;.*ld\.global", code(f"nvidia:{arch}", "ptx"), re.S)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_amd(arch: str) -> None:
    """Fences of the work-group around it; where its waves have caches of their own, stores are waited for and the cache is dropped."""
    text = code(f"amd:{arch}", "llir")
    fenced = r"fence syncscope\(\"workgroup\"\) release\n.*s\.barrier.*\n.*fence syncscope\(\"workgroup\"\) acquire"
    assert re.search(fenced, text)
    machine = code(f"amd:{arch}", "amdgcn")
    if arch == "gfx1100":
        assert re.search(r"s_waitcnt_vscnt null, 0x0\n\s+s_barrier\n\s+buffer_gl0_inv", machine)
    if arch == "gfx1201":
        assert re.search(r"s_wait_storecnt 0x0\n(?:.*\n){0,3}\s+s_barrier_signal", machine)


@pytest.mark.parametrize("arch", ["pvc", "bmg", "opencl-cpu"])
def test_intel(arch: str) -> None:
    """Of the work-group (2), with acquire and release (8) of its memory (0x100) and of global memory (0x200)."""
    assert f"ControlBarrierjjj(i32 2, i32 2, i32 {8 | 0x100 | 0x200})" in code(f"intel:{arch}", "llir")
