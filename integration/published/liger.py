"""liger-kernel: the layers of language models."""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.nn.functional as F

from integration.published.cases import Bench, Check, case, gradients

_NAME = "liger-kernel"


@case(_NAME, "softmax", "softmax")
def softmax(bench: Bench) -> Iterable[Check]:
    """Rows of 100, forward and backward."""
    function = bench.load(_NAME, "liger_kernel.ops.softmax").LigerSoftmaxFunction
    return gradients("x", [bench.randn(37, 100, grad=True)], function.apply, lambda x: x.softmax(-1))


@case(_NAME, "layer_norm", "layernorm")
def layer_norm(bench: Bench) -> Iterable[Check]:
    """Rows of 300, gradients of weight and bias summed over programs."""
    function = bench.load(_NAME, "liger_kernel.ops.layer_norm").LigerLayerNormFunction
    inputs = [bench.randn(50, 300, grad=True), bench.randn(300, grad=True), bench.randn(300, grad=True)]
    return gradients(
        "x w b",
        inputs,
        lambda x, w, b: function.apply(x, w, b, 1e-5),
        lambda x, w, b: F.layer_norm(x, (300,), w, b, 1e-5),
        2e-5,
    )


def _rms_norm(x: torch.Tensor, w: torch.Tensor, eps: float, offset: float = 0.0) -> torch.Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * (w + offset)


@case(_NAME, "rms_norm", "rmsnorm")
def rms_norm(bench: Bench) -> Iterable[Check]:
    """Both ways of the package: a row per program (casting as Gemma does), and blocks of rows."""
    function = bench.load(_NAME, "liger_kernel.ops.rms_norm").LigerRMSNormFunction
    for rows, row_mode in ((50, True), (90, False)):
        inputs = [bench.randn(rows, 200, grad=True), bench.randn(200, grad=True)]
        yield from gradients(
            "x w",
            inputs,
            lambda x, w, mode=row_mode: function.apply(x, w, 1e-6, 1.0, "gemma", False, mode),
            lambda x, w: _rms_norm(x, w, 1e-6, 1.0),
            2e-5,
        )


@case(_NAME, "cross_entropy", "cross-entropy")
def cross_entropy(bench: Bench) -> Iterable[Check]:
    """With ignored targets, label smoothing and class weights."""
    function = bench.load(_NAME, "liger_kernel.ops.cross_entropy").LigerCrossEntropyFunction
    target = bench.randint(1000, 40)
    target[::7] = -100
    weight = bench.randn(1000).abs() + 0.1
    for smoothing, scale in ((0.0, None), (0.1, weight)):
        yield from gradients(
            "x",
            [bench.randn(40, 1000, grad=True)],
            lambda x, s=smoothing, w=scale: function.apply(x, target, w, -100, 0.0, s, "mean")[0],
            lambda x, s=smoothing, w=scale: F.cross_entropy(
                x, target.cpu(), None if w is None else w.cpu().double(), label_smoothing=s
            ),
            2e-5,
        )


@case(_NAME, "swiglu", "swiglu")
def swiglu(bench: Bench) -> Iterable[Check]:
    """The gate in float32 and in float16."""
    function = bench.load(_NAME, "liger_kernel.ops.swiglu").LigerSiLUMulFunction
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.float16, 2e-3)):
        inputs = [bench.randn(30, 500, dtype=dtype, grad=True) for _ in range(2)]
        yield from gradients("a b", inputs, function.apply, lambda a, b: F.silu(a) * b, tolerance)


@case(_NAME, "geglu")
def geglu(bench: Bench) -> Iterable[Check]:
    """The tanh approximation of GELU."""
    function = bench.load(_NAME, "liger_kernel.ops.geglu").LigerGELUMulFunction
    inputs = [bench.randn(30, 500, grad=True) for _ in range(2)]
    return gradients("a b", inputs, function.apply, lambda a, b: F.gelu(a, approximate="tanh") * b, 2e-5)


def _rotate_half(x: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


@case(_NAME, "rope", "rotary embedding")
def rope(bench: Bench) -> Iterable[Check]:
    """Queries and keys with different numbers of heads."""
    function = bench.load(_NAME, "liger_kernel.ops.rope").LigerRopeFunction
    angles = bench.randn(1, 24, 32)
    cos, sin = torch.cat((angles, angles), -1).cos(), torch.cat((angles, angles), -1).sin()
    heads = {"q": 6, "k": 2}
    for which, count in heads.items():
        others = [bench.randn(2, n, 24, 64) for n in heads.values()]

        def kernel(x: torch.Tensor, which: str = which, others: list[torch.Tensor] = others) -> torch.Tensor:
            q, k = (x, others[1]) if which == "q" else (others[0], x)
            made: tuple[torch.Tensor, ...] = function.apply(q, k, cos, sin)
            return made[which == "k"]

        def oracle(x: torch.Tensor) -> torch.Tensor:
            c, s = cos.cpu().double()[:, None], sin.cpu().double()[:, None]
            return x * c + _rotate_half(x) * s

        yield from gradients(which, [bench.randn(2, count, 24, 64, grad=True)], kernel, oracle)


@case(_NAME, "kl_div")
def kl_div(bench: Bench) -> Iterable[Check]:
    """Batch mean of log probabilities against probabilities."""
    function = bench.load(_NAME, "liger_kernel.ops.kl_div").LigerKLDivLossFunction
    true = bench.randn(20, 300).softmax(-1)
    return gradients(
        "x",
        [bench.randn(20, 300).log_softmax(-1).requires_grad_()],
        lambda x: function.apply(x, true, "batchmean", False, 1e-10),
        lambda x: F.kl_div(x, true.cpu().double(), reduction="batchmean"),
    )


@case(_NAME, "group_norm")
def group_norm(bench: Bench) -> Iterable[Check]:
    """Six channels in three groups."""
    function = bench.load(_NAME, "liger_kernel.ops.group_norm").LigerGroupNormFunction
    inputs = [bench.randn(4, 6, 50, grad=True), bench.randn(6, grad=True), bench.randn(6, grad=True)]
    return gradients(
        "x w b",
        inputs,
        lambda x, w, b: function.apply(x, w, b, 6, 3, 1e-5),
        lambda x, w, b: F.group_norm(x, 3, w, b, 1e-5),
        2e-5,
    )
