"""Profile of this backend for the conformance kit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tri_core import plugin_records
from tri_core.api import ConformanceProfile, Target
from tri_core.conformance import read_profile

__all__ = ["profile"]

#: the complement of a 32-bit register
_COMPLEMENT = "not.b32 $0, $1;"
#: of exp of f32 between -20 and 20, where the kit tries it: rounding the product, up to 29, to f32 costs up to 11.1 ulp of
#: the result, log2(e) as an f32 4.5, and `ex2.approx` its own two
_EXP_ULP = 18
_EXP_REASON = (
    "x * log2(e) is rounded once before ex2.approx, as in Triton; tl.extra.libdevice.exp has no such error"
)
#: each of two instructions cuts what it adds 13 bits below the largest product, where an f32 has 23
_SUMS_ULP = 2.0**12
_SUMS_REASON = (
    "wgmma, which one of the kit's dots of 8-bit floats has the warps and the size for, adds their products with 13 bits of "
    "fraction, as in Triton; max_num_imprecise_acc says after how many the sum goes on in f32"
)

_ASSEMBLY = "language/inline_asm_elementwise/*"


def profile(target: Target) -> ConformanceProfile:
    """``conformance.toml`` and, for a core that asks for them (0.3), a line of assembly and how accurate exp is."""
    found = read_profile(Path(__file__).with_name("conformance.toml"), target)
    bound = getattr(plugin_records, "Accuracy", None)
    if bound is not None:
        exp = bound(test="language/exp/fp32-*", ulp=_EXP_ULP, reason=_EXP_REASON)
        sums = bound(test="language/dot-fp8/fp8e5-32x64x64-w8", ulp=_SUMS_ULP, reason=_SUMS_REASON)
        found = replace(found, accuracy=(exp, sums) if target.has("wgmma") else (exp,))
    if target.key.level:  # which runs assembly
        found = replace(found, gaps=tuple(g for g in found.gaps if g.test != _ASSEMBLY))
    kind = getattr(plugin_records, "Assembly", None)
    if kind is None or (target.key.simulated and not target.key.level):
        return found
    return replace(found, assembly=kind(text=_COMPLEMENT, constraints="=r,r"))
