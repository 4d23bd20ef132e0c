"""sageattention: attention in eight-bit integers."""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.nn.functional as F

from integration.published.cases import Bench, Check, case

_NAME = "sageattention"


@case(_NAME, "attention_int8", "fused attention")
def attention_int8(bench: Bench) -> Iterable[Check]:
    """Queries and keys quantized by block, dots of int8, causal and not.

    The full one counts the padding of keys, so their number is a multiple of its blocks.
    """
    quantize = bench.load(_NAME, "sageattention.quant_per_block").per_block_int8
    q, k, v = (bench.randn(1, 2, 256, 64, dtype=torch.float16) for _ in range(3))
    q_int8, q_scale, k_int8, k_scale = quantize(q, k)
    for name, causal in (("attn_qk_int8_per_block", False), ("attn_qk_int8_per_block_causal", True)):
        forward = bench.load(_NAME, f"sageattention.{name}").forward
        out = forward(q_int8, k_int8, v, q_scale, k_scale)
        exact = [t.cpu().double() for t in (q, k, v)]
        want = F.scaled_dot_product_attention(exact[0], exact[1], exact[2], is_causal=causal)
        yield Check("causal" if causal else "full", out, want, 2e-2)
