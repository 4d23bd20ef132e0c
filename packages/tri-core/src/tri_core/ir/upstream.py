"""Traits of ops of MLIR's own dialects; see :mod:`tri_core.ir.traits`."""

from __future__ import annotations

__all__ = [
    "CASTS",
    "EFFECTLESS_DIALECTS",
    "EFFECTLESS_OPS",
    "ELEMENTWISE_OPS",
    "INSTRUCTIONS",
    "PURE_DIALECTS",
    "UNIFORM_OPS",
    "AssumeOp",
]


class AssumeOp:
    """``llvm.intr.assume``: its operand is true.  The bindings' class of it comes with all of the dialect, which takes long."""

    OPERATION_NAME = "llvm.intr.assume"


#: dialects whose ops are all pure, cheap and without regions.  A division by zero is undefined there, and no trap.
PURE_DIALECTS = ("arith.", "math.")
#: ops of these that have no operands
UNIFORM_OPS = frozenset({"arith.constant"})
#: dialects whose ops do what their regions do, and no more
EFFECTLESS_DIALECTS = ("scf.", "cf.", "ub.")
#: other ops of which that is true
EFFECTLESS_OPS = frozenset({AssumeOp.OPERATION_NAME})

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

#: those of one operand whose result has another type
CASTS = frozenset(
    f"arith.{name}"
    for name in [
        "bitcast",
        "extf",
        "extsi",
        "extui",
        "fptosi",
        "fptoui",
        "index_cast",
        "index_castui",
        "sitofp",
        "truncf",
        "trunci",
        "uitofp",
    ]
)

_ONE_INSTRUCTION = (
    "arith.addf arith.addi arith.andi arith.cmpf arith.cmpi arith.extf arith.extsi arith.extui arith.maximumf "
    "arith.maxnumf arith.maxsi arith.maxui arith.minimumf arith.minnumf arith.minsi arith.minui arith.mulf arith.muli "
    "arith.negf arith.ori arith.select arith.shli arith.shrsi arith.shrui arith.sitofp arith.subf arith.subi "
    "arith.truncf arith.trunci arith.uitofp arith.xori math.absf math.absi math.fma"
)
_SHORT_SEQUENCE = "arith.divf math.exp math.exp2 math.log math.log2 math.rsqrt math.sqrt"

#: about how many instructions an element takes, by op; of others nothing is known
INSTRUCTIONS = {
    "arith.constant": 0,
    **dict.fromkeys(_ONE_INSTRUCTION.split(), 1),
    **dict.fromkeys(_SHORT_SEQUENCE.split(), 8),
}
