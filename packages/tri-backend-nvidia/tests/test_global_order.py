"""Copies of blocks and accesses by pointers of one array, in one program: what stands between them in TTGIR, and what is read."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tri
import tri.language as tl

B, N = 32, 64


@tri.jit
def block_then_pointers(x, o, B: tl.constexpr, N: tl.constexpr):
    d = tl.make_tensor_descriptor(x, [B, N], [N, 1], [B, N])
    i, j = tl.arange(0, B)[:, None], tl.arange(0, N)[None]
    d.store([0, 0], (i * N + j).to(tl.float32))
    tl.store(o + i * N + j, tl.load(x + (B - 1 - i) * N + j))


@tri.jit
def pointers_then_block(x, o, B: tl.constexpr, N: tl.constexpr):
    d = tl.make_tensor_descriptor(x, [B, N], [N, 1], [B, N])
    i, j = tl.arange(0, B)[:, None], tl.arange(0, N)[None]
    tl.store(x + (B - 1 - i) * N + j, (i * N + j).to(tl.float32))
    tl.store(o + i * N + j, d.load([0, 0]))


@tri.jit
def block_then_block(x, o, B: tl.constexpr, N: tl.constexpr):
    d = tl.make_tensor_descriptor(x, [B, N], [N, 1], [B, N])
    i, j = tl.arange(0, B)[:, None], tl.arange(0, N)[None]
    d.store([0, 0], ((B - 1 - i) * N + j).to(tl.float32))
    tl.store(o + i * N + j, d.load([0, 0]))


@tri.jit
def other_arrays(x, o, n, B: tl.constexpr, N: tl.constexpr):
    """Through descriptors whose sizes are read in the kernel, too."""
    rows = tl.load(n)
    d = tl.make_tensor_descriptor(x, [rows, N], [N, 1], [B, N])
    i, j = tl.arange(0, B)[:, None], tl.arange(0, N)[None]
    for k in range(4):
        tl.store(o + (k * B + i) * N + j, d.load([k * B, 0]))


def ordering(kernel: tri.JITFunction, arch: str) -> list[str]:
    """What orders global memory, and its accesses, in order of the text."""
    names = [p for p in kernel.arg_names if not p.isupper()]
    signature = {p: "*i32" if p == "n" else "*fp32" for p in names} | {"B": "constexpr", "N": "constexpr"}
    source = tri.ASTSource(kernel, signature, {"B": B, "N": N})
    text = str(tri.compile(source, target=f"nvidia:{arch}").asm["ttgir"])
    words = re.compile(
        r"fence_async_shared \{global\}|async_store_wait \{complete|barrier (?:local\|)?global"
        r"|async_copy_local_to_descriptor|async_copy_descriptor_to_local|tt\.load|tt\.store"
    )
    return [re.sub(r"local\|", "", found) for found in words.findall(text)]


@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a"])
def test_what_stands_between(arch: str) -> None:
    fence, wait, barrier = "fence_async_shared {global}", "async_store_wait {complete", "barrier global"
    out, into = "async_copy_local_to_descriptor", "async_copy_descriptor_to_local"
    assert ordering(block_then_pointers, arch) == [out, fence, wait, barrier, "tt.load", "tt.store"]
    assert ordering(pointers_then_block, arch) == ["tt.store", fence, barrier, into, "tt.store"]
    assert ordering(block_then_block, arch) == [out, fence, wait, barrier, into, "tt.store"]


def test_nothing_between_other_arrays() -> None:
    """But for what makes the descriptor."""
    found = ordering(other_arrays, "sm_90a")
    last = len(found) - found[::-1].index("fence_async_shared {global}")
    assert found[last:] == ["async_copy_descriptor_to_local", "tt.store"]
    assert found.count("fence_async_shared {global}") == 1


@pytest.mark.parametrize("kernel", [block_then_pointers, pointers_then_block, block_then_block])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
def test_what_is_read(kernel: tri.JITFunction, arch: str) -> None:
    x, o = np.full((B, N), np.nan, np.float32), np.full((B, N), np.nan, np.float32)
    with tri.target(f"sim:nvidia:{arch}"), tri.simulation(report=False, races=True):
        kernel[(1,)](x, o, B, N)
    np.testing.assert_array_equal(o, np.arange(B * N, dtype=np.float32).reshape(B, N)[::-1])
