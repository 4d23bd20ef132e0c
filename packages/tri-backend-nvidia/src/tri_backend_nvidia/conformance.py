"""What the conformance kit knows of this backend."""

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


def profile(target: Target) -> ConformanceProfile:
    """``conformance.toml`` and, for a core that asks for them (0.3), a line of assembly and how accurate exp is."""
    found = read_profile(Path(__file__).with_name("conformance.toml"), target)
    bound = getattr(plugin_records, "Accuracy", None)
    if bound is not None:
        exp = bound(test="language/exp/fp32-*", ulp=_EXP_ULP, reason=_EXP_REASON)
        found = replace(found, accuracy=(exp,))
    kind = getattr(plugin_records, "Assembly", None)
    if kind is None or target.key.simulated:
        return found
    return replace(found, assembly=kind(text=_COMPLEMENT, constraints="=r,r"))
