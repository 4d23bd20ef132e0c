"""flag-gems: sorting, dropout, softmax, attention and grouped GEMM, of the whole package."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from integration.published.cases import Bench, Check, case, gradients

_NAME = "flag-gems"


def _load(bench: Bench, name: str) -> Any:
    return bench.load(_NAME, f"flag_gems.ops.{name}")


@case(_NAME, "radix_sort", "sort")
def radix_sort(bench: Bench) -> Iterable[Check]:
    """Floats and integers, up and down, with the places they came from; programs wait for each other."""
    module = _load(bench, "sort")
    floats, integers = bench.randn(3, 5000), bench.randint(1 << 20, 2, 3000, dtype=torch.int32)
    for x, descending in ((floats, False), (integers, True)):
        values, places = module.sort_stable(x, stable=True, dim=-1, descending=descending)
        want = torch.sort(x.cpu(), dim=-1, descending=descending, stable=True)
        yield Check("values", values, want.values, 0.0)
        yield Check("places", places, want.indices, 0.0)


@case(_NAME, "bitonic_argsort", "sort")
def bitonic_argsort(bench: Bench) -> Iterable[Check]:
    """The k largest of long rows: stages of selection, then a bitonic sort with places."""
    x = bench.randn(4, 3000)
    values, places = _load(bench, "topk").topk(x, 10)
    want = torch.topk(x.cpu(), 10)
    yield Check("values", values, want.values, 0.0)
    yield Check("places", places, want.indices, 0.0)


def _philox(seed: int, counter: np.ndarray, offset: int) -> np.ndarray:
    """Four words for each counter: Philox 4x32 with ten rounds, by its definition."""
    word = np.uint64(0xFFFFFFFF)
    c = [(np.uint64(offset & 0xFFFFFFFF) + counter) & word, np.full_like(counter, offset >> 32)]
    c += [np.zeros_like(counter), np.zeros_like(counter)]
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        high_a, high_b = a >> np.uint64(32), b >> np.uint64(32)
        c = [high_b ^ c[1] ^ np.uint64(k0), b & word, high_a ^ c[3] ^ np.uint64(k1), a & word]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(c)


def _kept(n: int, block: int, p: float, seed: int, offset: int) -> torch.Tensor:
    """Mask of elements that the kernel must keep: each program makes four blocks from one block of counters."""
    programs = -(-n // (4 * block))
    words = _philox(seed, np.arange(programs * block, dtype=np.uint64), offset)
    signed = words.astype(np.uint32).view(np.int32).astype(np.int64)
    uniform = np.where(signed < 0, -signed - 1, signed).astype(np.float32) * np.float32(4.6566127342e-10)
    kept = (uniform > np.float32(p)).reshape(4, programs, block).transpose(1, 0, 2).reshape(-1)
    return torch.from_numpy(kept[:n].copy())


@case(_NAME, "dropout", "dropout with philox")
def dropout(bench: Bench) -> Iterable[Check]:
    """The mask bit for bit, values, gradient."""
    module = _load(bench, "dropout")
    seed, offset, p = 0x123456789ABCD, (5 << 32) + 0xFFFFFFF0, 0.3
    module.philox_backend_seed_offset = lambda increment: (seed, offset)
    x = bench.randn(7, 1111)
    out, mask = module.dropout(x, p)
    block = module.dropout_forward_kernel.values["BLOCK"]({"N": x.numel()})
    kept = _kept(x.numel(), block, p, seed, offset).view(x.shape)
    yield Check("mask", mask, kept, 0.0)
    yield Check("out", out, x.cpu().double() * kept / (1 - p))
    back = module.dropout_backward(x, mask, 1 / (1 - p))
    yield Check("dx", back, x.cpu().double() * kept / (1 - p))


@case(_NAME, "softmax", "softmax")
def softmax(bench: Bench) -> Iterable[Check]:
    """Over the last dimension and over another, forward and backward."""
    module = _load(bench, "softmax")
    for dim, shape in ((-1, (30, 200)), (1, (4, 50, 20)), (-1, (2, 40000))):
        x, dy = bench.randn(*shape), bench.randn(*shape)
        exact = x.cpu().double().requires_grad_()
        want = exact.softmax(dim)
        want.backward(dy.cpu().double())
        got = module.softmax(x, dim)
        yield Check("out", got, want)
        assert exact.grad is not None
        yield Check("dx", module.softmax_backward(dy, got, dim, x.dtype), exact.grad, 2e-5)


@case(_NAME, "attention", "fused attention")
def attention(bench: Bench) -> Iterable[Check]:
    """Full attention forward; causal attention forward and backward (the package's backward is causal always)."""
    function = _load(bench, "attention").ScaleDotProductAttention
    q, k, v = (bench.randn(1, 2, 100, 64, dtype=torch.float16) for _ in range(3))
    full = function.apply(q, k, v, None, 0.0, False, None, False)
    want = F.scaled_dot_product_attention(*(t.cpu().double() for t in (q, k, v)))
    yield Check("full", full, want, 5e-3)
    yield from gradients(
        "q k v",
        [bench.randn(1, 2, 128, 64, dtype=torch.float16, grad=True) for _ in range(3)],
        lambda q, k, v: function.apply(q, k, v, None, 0.0, True, None, False),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        5e-3,
    )


@case(_NAME, "grouped_gemm", "grouped GEMM")
def grouped_gemm(bench: Bench) -> Iterable[Check]:
    """Three matmuls of different sizes in one launch, through block pointers and through descriptors."""
    module = _load(bench, "group_gemm")
    sizes = ((70, 96, 64), (33, 96, 64), (128, 96, 64))
    a = [bench.randn(m, k, dtype=torch.bfloat16) for m, _, k in sizes]
    b = [bench.randn(k, n, dtype=torch.bfloat16) for _, n, k in sizes]
    want = [x.cpu().double() @ y.cpu().double() for x, y in zip(a, b, strict=True)]
    for use_descriptors in (False, True):
        yield from _grouped(module, bench, a, b, want, use_descriptors)


def _grouped(
    module: Any,
    bench: Bench,
    a: list[torch.Tensor],
    b: list[torch.Tensor],
    want: list[torch.Tensor],
    use_descriptors: bool,
) -> Iterable[Check]:
    c = [
        torch.zeros(x.shape[0], y.shape[1], dtype=x.dtype, device=x.device) for x, y in zip(a, b, strict=True)
    ]
    out = [torch.empty_like(x) for x in c]

    def addresses(tensors: list[torch.Tensor]) -> torch.Tensor:
        return torch.tensor([t.data_ptr() for t in tensors], device=bench.device)

    shapes = [v for x, y in zip(a, b, strict=True) for v in (x.shape[0], y.shape[1], x.shape[1])]
    strides = [v for x, y in zip(a, b, strict=True) for v in (x.stride(0), y.stride(0), y.shape[1])]
    kernel = module.grouped_gemm_tma_kernel if use_descriptors else module.grouped_gemm_kernel
    kernel[(5,)](
        sum(x.shape[0] for x in a),
        b[0].shape[1],
        a[0].shape[1],
        *(addresses(t) for t in (a, b, c, out)),
        torch.tensor(shapes, dtype=torch.int32, device=bench.device),
        torch.tensor(strides, dtype=torch.int32, device=bench.device),
        len(a),
        alpha=1.0,
        beta=0.0,
    )
    for i, (got, exact) in enumerate(zip(out, want, strict=True)):
        yield Check(f"{'tma' if use_descriptors else 'out'}{i}", got, exact, 1e-2)
