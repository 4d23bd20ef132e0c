"""Mathematics of zeros, infinities, NaN and the ends of a type."""

from __future__ import annotations

import tri
import tri.language as tl
from tri_conformance.kernels.blocks import put


@tri.jit
def mathematics(outs, x, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    put(outs[0], tl.exp(v), N)
    put(outs[1], tl.exp2(v), N)
    put(outs[2], tl.log(v), N)
    put(outs[3], tl.log2(v), N)
    put(outs[4], tl.sqrt(v), N)
    put(outs[5], tl.rsqrt(v), N)
    put(outs[6], tl.erf(v), N)
    put(outs[7], tl.floor(v), N)
    put(outs[8], tl.ceil(v), N)
    put(outs[9], tl.abs(v), N)
    put(outs[10], tl.sigmoid(v), N)
    put(outs[11], tl.sin(v), N)
    put(outs[12], tl.cos(v), N)
    put(outs[13], tl.fma(v, v, v), N)
    put(outs[14], tl.clamp(v, -1.0, 2.0), N)
    put(outs[15], tl.maximum(v, 0.25, propagate_nan=tl.PropagateNan.ALL), N)
    put(outs[16], tl.minimum(v, 0.25, propagate_nan=tl.PropagateNan.ALL), N)
    put(outs[17], tl.minimum(v, 0.25), N)
    put(outs[18], tl.fdiv(1.0, v), N)
    put(outs[19], v / 3, N)
