"""conch-triton-kernels: kernels for serving language models."""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.nn.functional as F

from integration.published.cases import Bench, Check, case

_NAME = "conch-triton-kernels"


@case(_NAME, "rms_norm", "rmsnorm")
def rms_norm(bench: Bench) -> Iterable[Check]:
    """In bfloat16, rounded once."""
    launch = bench.load(_NAME, "conch.kernels.normalization.rms_norm").rms_norm_launcher
    x, w = bench.randn(20, 300, dtype=torch.bfloat16), bench.randn(300, dtype=torch.bfloat16)
    out = torch.empty_like(x)
    launch(out, x, w, 1e-6)
    yield Check("out", out, F.rms_norm(x.cpu().double(), (300,), w.cpu().double(), 1e-6), 8e-3)


@case(_NAME, "silu_and_mul", "swiglu")
def silu_and_mul(bench: Bench) -> Iterable[Check]:
    """The gate of both halves of a row."""
    launch = bench.load(_NAME, "conch.kernels.activation.silu_and_mul").silu_and_mul_launcher
    x = bench.randn(20, 600)
    out = torch.empty(20, 300, device=x.device)
    launch(out, x)
    a, b = x.cpu().double().chunk(2, -1)
    yield Check("out", out, F.silu(a) * b)
