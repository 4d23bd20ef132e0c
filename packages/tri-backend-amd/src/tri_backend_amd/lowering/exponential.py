"""Powers of f32 by ``v_exp_f32`` alone (1 ulp), which gives zero where a result would be denormal (below 2**-126).

LLVM's ``exp2`` scales arguments and results around the instruction to keep denormals.  Its ``exp`` splits the argument, and selects where it may be out of range.  Here ``exp(x) = 2**h * (1 + t)``: h is ``x log2(e)``, rounded, and
t what the rounding left, ``x - h ln 2``, small enough that 1 + t is its exponential: 2 ulp, in operations that are packed in pairs
where the processor does that.
"""

from __future__ import annotations

import math

import numpy as np

from tri_backend_amd.dialect import Exp2Op
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder

__all__ = ["FUNCTIONS", "exp", "exp2"]

_LOG2E = float(np.float32(math.log2(math.e)))
_LN2_HIGH = float(np.float32(math.log(2)))
_LN2_LOW = math.log(2) - _LN2_HIGH
#: below any ``1 + t``
_LEAST = 0.5


def exp2(b: Builder, x: ir.Value) -> ir.Value:
    """2 to the x, an f32."""
    return Exp2Op.build([x], [b.f32])[0]


def exp(b: Builder, x: ir.Value) -> ir.Value:
    """e to the x, an f32."""
    power = b.fmul(x, b.float_(_LOG2E))
    back = b.fneg(power)
    left = b.fma(back, b.float_(_LN2_LOW), b.fma(back, b.float_(_LN2_HIGH), x))
    factor = b.fadd(left, b.float_(1.0))
    # where the power is infinite, what is left is NaN, and the maximum a number
    factor = b.op("llvm.intr.maxnum", (factor, b.float_(_LEAST)), b.f32)
    return b.fmul(exp2(b, power), factor)


#: by name
FUNCTIONS = {"exp": exp, "exp2": exp2}
