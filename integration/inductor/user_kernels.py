"""Kernels of users' own in graphs, launched plainly, tuned, and from an operator of ``torch.library.triton_op``.

They have no annotations but constants: PyTorch writes a kernel's text into a file of its own, without what annotations name.
"""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call,no-untyped-def,misc"

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

__all__ = ["added", "added_by_operator", "added_tuned", "doubled_in_place"]


@triton.jit
def add(a, b, o, n, BLOCK: tl.constexpr):
    """``o = a + b``."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(a + i, mask=i < n) + tl.load(b + i, mask=i < n), mask=i < n)


@triton.jit
def double(a, n, BLOCK: tl.constexpr):
    """``a = 2 * a``."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(a + i, 2 * tl.load(a + i, mask=i < n), mask=i < n)


tuned = triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 256})], key=["n"])(add)


def _blocks(n: int) -> Any:
    return lambda meta: (triton.cdiv(n, meta["BLOCK"]),)


def added(a: Any, b: Any) -> Any:
    """``a + b``."""
    o, n = torch.empty_like(a), a.numel()
    add[_blocks(n)](a, b, o, n, BLOCK=128)
    return o


def added_tuned(a: Any, b: Any) -> Any:
    """``a + b`` by the fastest of two configurations."""
    o, n = torch.empty_like(a), a.numel()
    tuned[_blocks(n)](a, b, o, n)
    return o


def doubled_in_place(a: Any) -> Any:
    """``a``, which is twice what it was."""
    double[_blocks(a.numel())](a, a.numel(), BLOCK=64)
    return a


@torch.library.triton_op("tri_inductor::added", mutates_args={})
def added_by_operator(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """``a + b`` as an operator, which PyTorch's compiler looks into."""
    o, n = torch.empty_like(a), a.numel()
    torch.library.wrap_triton(add)[_blocks(n)](a, b, o, n, BLOCK=128)
    return o
