"""fla-core (flash linear attention): rotary embedding, cross-entropy, norms, attention."""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.nn.functional as F

from integration.published.cases import Bench, Check, case, gradients

_NAME = "fla-core"


@case(_NAME, "rotary", "rotary embedding")
def rotary(bench: Bench) -> Iterable[Check]:
    """Halves, and interleaved pairs."""
    function = bench.load(_NAME, "fla.modules.rotary.ops").rotary_embedding
    angles = bench.randn(20, 16)
    cos, sin = angles.cos(), angles.sin()
    c, s = cos.cpu().double()[:, None], sin.cpu().double()[:, None]

    def halves(x: torch.Tensor) -> torch.Tensor:
        a, b = x.chunk(2, -1)
        return torch.cat((a * c - b * s, b * c + a * s), -1)

    def pairs(x: torch.Tensor) -> torch.Tensor:
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack((a * c - b * s, b * c + a * s), -1).flatten(-2)

    for interleaved, oracle in ((False, halves), (True, pairs)):
        yield from gradients(
            "x",
            [bench.randn(2, 20, 3, 32, grad=True)],
            lambda x, way=interleaved: function(x, cos, sin, interleaved=way),
            oracle,
        )


@case(_NAME, "cross_entropy", "cross-entropy")
def cross_entropy(bench: Bench) -> Iterable[Check]:
    """The loss of each row, with ignored targets and a scale of the logits."""
    function = bench.load(_NAME, "fla.modules.fused_cross_entropy.ops").cross_entropy_loss
    target = bench.randint(500, 30)
    target[::5] = -100
    return gradients(
        "x",
        [bench.randn(30, 500, grad=True)],
        lambda x: function(x, target, logit_scale=0.7)[0],
        lambda x: F.cross_entropy(x * 0.7, target.cpu(), reduction="none"),
    )


@case(_NAME, "layer_norm", "layernorm", "rmsnorm")
def layer_norm(bench: Bench) -> Iterable[Check]:
    """Layer norm and RMS norm with a residual, through the kernels for short rows."""
    module = bench.load(_NAME, "fla.modules.norm.layernorm")
    inputs = [bench.randn(6, 10, 96, grad=True), bench.randn(96, grad=True), bench.randn(96, grad=True)]
    yield from gradients(
        "x w b",
        inputs,
        lambda x, w, b: module.layer_norm(x, w, b, eps=1e-5),
        lambda x, w, b: F.layer_norm(x, (96,), w, b, 1e-5),
        2e-5,
    )
    inputs = [
        bench.randn(6, 10, 96, grad=True),
        bench.randn(96, grad=True),
        bench.randn(6, 10, 96, grad=True),
    ]
    yield from gradients(
        "x w r",
        inputs,
        lambda x, w, r: module.rms_norm(x, w, None, residual=r, eps=1e-5),
        lambda x, w, r: F.rms_norm(x + r, (96,), w, 1e-5),
        2e-5,
    )


@case(_NAME, "swiglu", "swiglu")
def swiglu(bench: Bench) -> Iterable[Check]:
    """The gate, with its gradient."""
    function = bench.load(_NAME, "fla.modules.activations.ops").swiglu
    inputs = [bench.randn(20, 200, grad=True) for _ in range(2)]
    return gradients("a b", inputs, function, lambda a, b: F.silu(a) * b)


def _causal(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Attention of (batch, time, heads, features) with shared keys and values of heads."""
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(1, 2)


@case(_NAME, "attention", "fused attention")
def attention(bench: Bench) -> Iterable[Check]:
    """Causal attention with four heads on two, forward and backward, in block pointers."""
    function = bench.load(_NAME, "fla.ops.attn.parallel").parallel_attn
    shapes = ((1, 150, 4, 32), (1, 150, 2, 32), (1, 150, 2, 32))
    inputs = [bench.randn(*shape, dtype=torch.float16, grad=True) for shape in shapes]
    return gradients("q k v", inputs, function, _causal, 5e-3)
