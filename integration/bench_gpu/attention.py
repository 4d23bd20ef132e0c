"""Attention, forward and backward."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention

from integration.bench_gpu.case import Case, Config, descriptor_of

__all__ = ["CASES"]

_FORWARD: Sequence[Config] = [
    {"BLOCK_M": m, "BLOCK_N": n, "num_warps": w, "num_stages": s}
    for m, n, w, s in (
        (128, 128, 8, 2),
        (128, 128, 8, 3),
        (256, 64, 16, 3),
        (128, 64, 8, 3),
        (64, 128, 4, 3),
        (64, 64, 4, 3),
    )
]
#: BLOCK_N keys stay while BLOCK_M queries pass; for the gradients of queries it is the other way round
_BACKWARD: Sequence[Config] = [
    {"BLOCK_M": m, "BLOCK_N": n, "num_warps": w, "num_stages": s}
    for m, n, w, s in (
        (64, 128, 8, 2),
        (64, 128, 8, 3),
        (64, 128, 8, 4),
        (64, 64, 4, 2),
        (64, 64, 4, 3),
        (128, 128, 8, 2),
    )
]


def _tensors(batch: int, heads: int, length: int, width: int, count: int) -> list[torch.Tensor]:
    shape = (batch, heads, length, width)
    return [torch.randn(shape, device="cuda", dtype=torch.float16) for _ in range(count)]


def _attended(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    """One head after the other, in float64."""
    heads = []
    mask = torch.ones(q.shape[2], q.shape[2], device="cuda", dtype=torch.bool).tril() if causal else None
    for one, other, values in zip(q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1), strict=True):
        scores = one.double() @ other.double().t() / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        heads.append(torch.softmax(scores, 1) @ values.double())
    return torch.stack(heads).view(q.shape)


def _flat(x: torch.Tensor) -> torch.Tensor:
    return x.reshape(-1, x.shape[-1])


def _forward(
    m: Any, c: Config, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, lse: torch.Tensor, causal: bool
) -> None:  # fmt: skip
    make, (batch, heads, length, width) = descriptor_of(m).from_tensor, q.shape
    rows, columns = [c["BLOCK_M"], width], [c["BLOCK_N"], width]
    given = [make(_flat(x), block) for x, block in ((q, rows), (k, columns), (v, columns), (out, rows))]
    grid = (length // c["BLOCK_M"], batch * heads)
    m.attention[grid](*given, lse, 1 / math.sqrt(width), length, WIDTH=width, CAUSAL=causal, **c)


def forward(width: int, causal: bool, *, goal: float = 1.0) -> Case:
    """B4 H16 S4096, f16."""
    q, k, v, out = _tensors(4, 16, 4096, width, 4)
    lse = torch.empty(4 * 16 * 4096, device="cuda")
    work = 4.0 * 4 * 16 * 4096 * 4096 * width
    return Case(
        name=f"attention D{width}{' causal' if causal else ''}",
        module="attention",
        run=lambda m, c: _forward(m, c, q, k, v, out, lse, causal),
        configs=_FORWARD,
        outputs=[out],
        oracle=lambda: [_attended(q, k, v, causal)],
        library=lambda: scaled_dot_product_attention(q, k, v, is_causal=causal),
        goal=goal,
        specialized=True,
        persistent=True,
        chained=True,
        flops=work / 2 if causal else work,
    )


def _exact_gradients(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, grad: torch.Tensor
) -> list[torch.Tensor]:
    """Causal; one head after the other, in float64."""
    mask = torch.ones(q.shape[2], q.shape[2], device="cuda", dtype=torch.bool).tril()
    scale, found = 1 / math.sqrt(q.shape[-1]), []
    for parts in zip(*(x.flatten(0, 1) for x in (q, k, v, grad)), strict=True):
        one, other, values, change = (p.double() for p in parts)
        weights = torch.softmax((one @ other.t() * scale).masked_fill(~mask, -math.inf), 1)
        inner = change @ values.t()
        transposed = weights * (inner - (weights * inner).sum(1, keepdim=True))
        found.append((transposed @ other * scale, transposed.t() @ one * scale, weights.t() @ change))
    return [torch.stack(x).view(q.shape) for x in zip(*found, strict=True)]


def _own(c: Config, tile: str) -> Config:
    """The configuration ``c`` in which ``tile``, the block that stays with a program, is the list's BLOCK_N."""
    other = "BLOCK_N" if tile == "BLOCK_M" else "BLOCK_M"
    return {**c, tile: c["BLOCK_N"], other: c["BLOCK_M"]}


def backward(width: int) -> Case:
    """B4 H16 S4096, causal, f16: three kernels after the forward pass."""
    q, k, v, grad, out, dq, dk, dv = _tensors(4, 16, 4096, width, 8)
    batch, heads, length, _ = q.shape
    lse, delta = (torch.empty(batch * heads * length, device="cuda") for _ in range(2))
    scale = 1 / math.sqrt(width)

    def prepare(m: Any, c: Config) -> None:
        del c
        config = {"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4, "num_stages": 2}
        _forward(m, config, q, k, v, out, lse, True)

    def run(m: Any, c: Config) -> None:
        make = descriptor_of(m).from_tensor
        m.products_of_outputs[(batch * heads * length // 64,)](out, grad, delta, WIDTH=width, BLOCK=64)
        for kernel, tile, results in (
            (m.gradients_of_keys, "BLOCK_N", (dk, dv)),
            (m.gradients_of_queries, "BLOCK_M", (dq,)),
        ):
            c = _own(c, tile)
            queries, keys = [c["BLOCK_M"], width], [c["BLOCK_N"], width]
            blocks = [(q, queries), (k, keys), (v, keys), (grad, queries)]
            blocks += [(x, [c[tile], width]) for x in results]
            given = [make(_flat(x), block) for x, block in blocks]
            grid = (length // c[tile], batch * heads)
            kernel[grid](*given, lse, delta, scale, length, WIDTH=width, CAUSAL=True, **c)

    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    made = scaled_dot_product_attention(leaves[0], leaves[1], leaves[2], is_causal=True)
    library = functools.partial(torch.autograd.grad, made, leaves, grad, retain_graph=True)
    return Case(
        name=f"attention backward D{width} causal",
        module="attention",
        run=run,
        prepare=prepare,
        configs=_BACKWARD,
        outputs=[dq, dk, dv],
        oracle=lambda: _exact_gradients(q, k, v, grad),
        library=library,
        goal=1.3,
        against="triton",
        specialized=True,
        persistent=True,
        chained=True,
        flops=5 * 2.0 * batch * heads * length * length * width / 2,
    )


CASES: dict[str, Callable[[], Case]] = {
    "attention_128": lambda: forward(128, False),
    "attention_128_causal": lambda: forward(128, True),
    "attention_64_causal": lambda: forward(64, True),
    "attention_backward_128": lambda: backward(128),
}
