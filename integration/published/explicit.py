"""fla-core's kernels in Gluon: Sinkhorn's normalisation, cross-entropy, a causal convolution.

Their layouts say 32 lanes, so that any target of that many runs them: the GPU where tensors are on one, else a simulator of
AMD's gfx1100, which is not the GPU that they were written for.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext

import torch.nn.functional as F

import tri
from integration.published.cases import Bench, Check, case

_NAME = "fla-core"


def _target(bench: Bench) -> AbstractContextManager[object]:
    return nullcontext() if bench.device == "cuda" else tri.target("sim:amd:gfx1100")


@case(_NAME, "gluon_sinkhorn")
def sinkhorn(bench: Bench) -> Iterable[Check]:
    """Rows and columns of 4 x 4 matrices normalised five times, kept in shared memory for the gradients."""
    forward = bench.load(_NAME, "fla.ops.utils.sinkhorn.gluon").sinkhorn_fwd_gluon
    x, grad = bench.randn(6, 4, 4), bench.randn(6, 4, 4)
    with _target(bench):
        out, backward = forward(x, 5)
        dx = backward(x, grad, 5)
    wanted = x.cpu().double().requires_grad_()
    logits = wanted
    for _ in range(5):
        logits = logits - logits.logsumexp(1, keepdim=True)
        logits = logits - logits.logsumexp(2, keepdim=True)
    logits.exp().backward(grad.cpu().double())
    assert wanted.grad is not None
    yield Check("out", out, logits.exp().detach())
    yield Check("dx", dx, wanted.grad)


@case(_NAME, "gluon_cross_entropy")
def cross_entropy(bench: Bench) -> Iterable[Check]:
    """Smoothed labels, one of them ignored."""
    forward = bench.load(_NAME, "fla.modules.fused_cross_entropy.gluon").cross_entropy_fwd_gluon
    logits, labels = bench.randn(5, 300), bench.randint(300, 5)
    labels[2] = -100
    with _target(bench):
        loss = forward(logits, labels, 0.1)[0]
    wanted = F.cross_entropy(logits.cpu().double(), labels.cpu(), label_smoothing=0.1, reduction="none")
    yield Check("loss", loss, wanted)


@case(_NAME, "gluon_causal_conv1d")
def causal_conv1d(bench: Bench) -> Iterable[Check]:
    """Four taps of 64 features, bias and SiLU, forward and backward."""
    module = bench.load(_NAME, "fla.modules.causal_conv1d.backends.gluon")
    x, weight, bias, grad = (
        bench.randn(2, 100, 64),
        bench.randn(64, 4),
        bench.randn(64),
        bench.randn(2, 100, 64),
    )
    with _target(bench):
        out = module.causal_conv1d_fwd_gluon(x, weight, bias, activation="silu")[0]
        made = module.causal_conv1d_bwd_gluon(x, grad, None, weight, bias, activation="silu")[:3]
    inputs = [t.cpu().double().requires_grad_() for t in (x, weight, bias)]
    rows = F.pad(inputs[0].transpose(1, 2), (3, 0))
    wanted = F.silu(F.conv1d(rows, inputs[1][:, None], inputs[2], groups=64)).transpose(1, 2)
    wanted.backward(grad.cpu().double())
    yield Check("out", out, wanted.detach())
    for name, got, tensor in zip(("dx", "dweight", "dbias"), made, inputs, strict=True):
        assert tensor.grad is not None
        yield Check(name, got, tensor.grad)
