"""cut-cross-entropy: the loss of a linear layer without its logits, with locks between programs."""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.nn.functional as F

from integration.published.cases import Bench, Check, case, gradients

_NAME = "cut-cross-entropy"


@case(_NAME, "linear_cross_entropy", "cross-entropy")
def linear_cross_entropy(bench: Bench) -> Iterable[Check]:
    """Loss and gradients of features and classifier."""
    function = bench.load(_NAME, "cut_cross_entropy.cce").cce_linear_cross_entropy
    target = bench.randint(300, 50)
    inputs = [
        bench.randn(50, 64, dtype=torch.float16, grad=True),
        bench.randn(300, 64, dtype=torch.float16, grad=True),
    ]
    return gradients(
        "e c",
        inputs,
        lambda e, c: function(e, c, target),
        lambda e, c: F.cross_entropy(e @ c.T, target.cpu()),
        1e-2,
    )
