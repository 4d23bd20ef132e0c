"""Loads whose values pass elementwise ops on the way to a dot are copied ahead, whichever ops these are."""

from __future__ import annotations

import re

import pytest

import tri
import tri.language as tl
from tri.language.extra import libdevice


@tri.jit
def as_loaded(v):
    return v


@tri.jit
def minimum_of_maximum(v):
    return tl.minimum(tl.maximum(v, 0.0), 6.0)


@tri.jit
def clamped(v):
    return tl.clamp(v, 0.0, 6.0)


@tri.jit
def rounded_root(v):
    return tl.sqrt_rn(v)


@tri.jit
def rounded_quotient(v):
    return tl.div_rn(v, 3.0)


@tri.jit
def absolute(v):
    return libdevice.abs(v)


@tri.jit
def matmul(a, b, c, K, change: tl.constexpr, N: tl.constexpr, B: tl.constexpr):
    i, k = tl.arange(0, N), tl.arange(0, B)
    acc = tl.zeros((N, N), tl.float32)
    for start in range(0, K, B):
        left = tl.load(a + i[:, None] * K + start + k[None, :])
        right = tl.load(b + (start + k)[:, None] * N + i[None, :])
        acc = tl.dot(change(left).to(tl.float16), right, acc)
    tl.store(c + i[:, None] * N + i[None, :], acc)


def asynchronous_copies(change: object) -> int:
    """``cp.async`` instructions of the kernel's PTX."""
    with tri.target("nvidia:sm_80"):
        made = matmul.warmup(
            tl.float32,
            tl.float16,
            tl.float32,
            128,
            change=change,
            N=64,
            B=32,
            num_stages=3,
            grid=(1,),
        )
    return len(re.findall(r"cp\.async\.c[ag]", str(made.asm["ptx"])))


@pytest.mark.parametrize(
    "change",
    [minimum_of_maximum, clamped, rounded_root, rounded_quotient, absolute],
    ids=lambda f: f.__name__,
)
def test_it_is_pipelined_as_without(change: object) -> None:
    assert asynchronous_copies(change) == asynchronous_copies(as_loaded) > 0
