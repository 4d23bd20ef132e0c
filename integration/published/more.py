"""Larger kernels: mixture of experts, losses of linear layers, chunked recurrences."""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.nn.functional as F

from integration.published.cases import Bench, Check, case, gradients


@case("liger-kernel", "fused_moe", "grouped GEMM", "sort")
def fused_moe(bench: Bench) -> Iterable[Check]:
    """Routing by a sort and a segmented scan, matmuls per expert, SwiGLU; forward and backward."""
    function = bench.load("liger-kernel", "liger_kernel.ops.fused_moe").LigerFusedMoEFunction
    tokens, experts, chosen, hidden, inner = 80, 4, 2, 64, 96
    route = torch.stack([torch.randperm(experts)[:chosen] for _ in range(tokens)])
    route = route.to(torch.int32).to(bench.device)
    inputs = [
        bench.randn(tokens, hidden, grad=True),
        (bench.randn(experts, 2 * inner, hidden) / 8).requires_grad_(),
        (bench.randn(experts, hidden, inner) / 8).requires_grad_(),
        bench.randn(tokens, chosen).softmax(-1).requires_grad_(),
    ]

    def oracle(x: torch.Tensor, up: torch.Tensor, down: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        gate, value = torch.einsum("th,tkih->tki", x, up[route.cpu().long()]).chunk(2, -1)
        made = torch.einsum("tki,tkhi->tkh", F.silu(gate) * value, down[route.cpu().long()])
        return (made * weights[..., None]).sum(1)

    return gradients(
        "x up down w", inputs, lambda x, up, down, w: function.apply(x, up, down, route, w), oracle, 5e-3
    )


@case("liger-kernel", "fused_linear_cross_entropy", "cross-entropy")
def fused_linear_cross_entropy(bench: Bench) -> Iterable[Check]:
    """The loss of a linear layer, chunk by chunk."""
    module = bench.load("liger-kernel", "liger_kernel.ops.fused_linear_cross_entropy")
    function = module.LigerFusedLinearCrossEntropyFunction
    target = bench.randint(200, 40)
    return gradients(
        "x w",
        [bench.randn(40, 64, grad=True), bench.randn(200, 64, grad=True)],
        lambda x, w: function.apply(x, w, target)[0],
        lambda x, w: F.cross_entropy(x @ w.T, target.cpu()),
        1e-4 if bench.device == "cpu" else 5e-3,
    )


@case("liger-kernel", "jsd")
def jsd(bench: Bench) -> Iterable[Check]:
    """The Jensen-Shannon divergence of two distributions."""
    function = bench.load("liger-kernel", "liger_kernel.ops.jsd").LigerJSDFunction
    other = bench.randn(20, 300).log_softmax(-1)

    def oracle(x: torch.Tensor) -> torch.Tensor:
        p, q = other.cpu().double(), x
        middle = ((p.exp() + q.exp()) / 2).log()
        both = F.kl_div(middle, p, log_target=True, reduction="none") + F.kl_div(
            middle, q, log_target=True, reduction="none"
        )
        return both.sum() / 2 / p.shape[0]

    return gradients(
        "x",
        [bench.randn(20, 300).log_softmax(-1).requires_grad_()],
        lambda x: function.apply(x, other, None, 0.5),
        oracle,
        2e-5,
    )


@case("liger-kernel", "fused_add_rms_norm", "rmsnorm")
def fused_add_rms_norm(bench: Bench) -> Iterable[Check]:
    """The norm of a sum."""
    function = bench.load("liger-kernel", "liger_kernel.ops.fused_add_rms_norm").LigerFusedAddRMSNormFunction
    inputs = [bench.randn(30, 200, grad=True), bench.randn(30, 200, grad=True), bench.randn(200, grad=True)]
    return gradients(
        "x r w",
        inputs,
        lambda x, r, w: function.apply(x, r, w, 1e-6)[0],
        lambda x, r, w: F.rms_norm(x + r, (200,), w, 1e-6),
        2e-5,
    )


@case("liger-kernel", "sparsemax", "sort")
def sparsemax(bench: Bench) -> Iterable[Check]:
    """The projection onto the simplex, from a sort."""
    function = bench.load("liger-kernel", "liger_kernel.ops.sparsemax").LigerSparsemaxFunction

    def oracle(x: torch.Tensor) -> torch.Tensor:
        ordered = x.sort(-1, descending=True).values
        counts = torch.arange(1, x.shape[-1] + 1)
        sums = ordered.cumsum(-1)
        support = (1 + counts * ordered > sums).sum(-1, keepdim=True)
        return (x - (sums.gather(-1, support - 1) - 1) / support).clamp(min=0)

    return gradients("x", [bench.randn(30, 100, grad=True)], lambda x: function.apply(x, -1), oracle, 2e-5)


def _delta_rule(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    state = torch.zeros(*k.shape[:1], *k.shape[2:], v.shape[-1], dtype=q.dtype)
    made = []
    for t in range(q.shape[1]):
        key, value, rate = k[:, t], v[:, t], beta[:, t, :, None]
        left = (value - torch.einsum("bhk,bhkv->bhv", key, state)) * rate
        state = state + key[..., None] * left[..., None, :]
        made.append(torch.einsum("bhk,bhkv->bhv", q[:, t] * q.shape[-1] ** -0.5, state))
    return torch.stack(made, 1)


@case("fla-core", "chunk_delta_rule")
def chunk_delta_rule(bench: Bench) -> Iterable[Check]:
    """A linear recurrence in chunks: triangular inverses, states, outputs; forward and backward."""
    function = bench.load("fla-core", "fla.ops.delta_rule.chunk").chunk_delta_rule
    q, v = (bench.randn(1, 130, 2, 32, dtype=torch.float16, grad=True) for _ in range(2))
    k = F.normalize(bench.randn(1, 130, 2, 32), dim=-1).half().requires_grad_()
    beta = bench.randn(1, 130, 2).sigmoid().half().requires_grad_()
    return gradients("q k v b", [q, k, v, beta], lambda *x: function(*x)[0], _delta_rule, 1e-2)
