"""What ops of MLIR's own dialects are; see :mod:`tri_core.ir.traits`."""

from __future__ import annotations

__all__ = ["ELEMENTWISE_OPS", "PURE_DIALECTS", "UNIFORM_OPS"]

#: dialects whose ops are all pure, cheap and without regions.  A division by zero is undefined there, and no trap.
PURE_DIALECTS = ("arith.", "math.")
#: ops of these that have no operands
UNIFORM_OPS = frozenset({"arith.constant"})

_ARITH = (
    "addf addi andi bitcast ceildivsi ceildivui cmpf cmpi divf divsi divui extf extsi extui floordivsi fptosi "
    "fptoui maximumf maxnumf maxsi maxui minimumf minnumf minsi minui mulf muli negf ori remf remsi remui select "
    "shli shrsi shrui sitofp subf subi truncf trunci uitofp xori"
)
_MATH = (
    "absf absi acos asin atan atan2 cbrt ceil copysign cos cosh ctlz ctpop cttz erf erfc exp exp2 expm1 floor fma "
    "fpowi ipowi log log10 log1p log2 powf round roundeven rsqrt sin sinh sqrt tan tanh trunc"
)

#: those that compute with elements
ELEMENTWISE_OPS = tuple(
    f"{dialect}.{name}" for dialect, names in (("arith", _ARITH), ("math", _MATH)) for name in names.split()
)
