"""Reciprocal square roots of f32 by ``v_rsq_f32`` (1 ulp), around which denormal arguments, zeros to it, are scaled by a power of four."""

from __future__ import annotations

from tri_backend_amd.dialect import ReciprocalRootOp
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder

__all__ = ["rsqrt"]

_LEAST = 2.0**-126
_SCALE = 2.0**24
_ROOT = 2.0**12


def rsqrt(b: Builder, x: ir.Value) -> ir.Value:
    """1 over the square root of x, an f32."""
    one = b.float_(1.0)
    is_small = b.fcmp("olt", x, b.float_(_LEAST))
    scaled = b.fmul(x, b.select(is_small, b.float_(_SCALE), one))
    root = ReciprocalRootOp.build([scaled], [b.f32])[0]
    return b.fmul(root, b.select(is_small, b.float_(_ROOT), one))
