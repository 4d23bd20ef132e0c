"""What the conformance kit is told of this backend."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tri_core import extensions
from tri_core.api import ConformanceProfile, Target
from tri_core.conformance import read_profile

__all__ = ["profile"]

#: the complement of a 32-bit register
_COMPLEMENT = "not.b32 $0, $1;"


def profile(target: Target) -> ConformanceProfile:
    """``conformance.toml`` and, for a core that asks for it (0.3), a line of assembly."""
    found = read_profile(Path(__file__).with_name("conformance.toml"), target)
    kind = getattr(extensions, "Assembly", None)
    if kind is None or target.key.simulated:
        return found
    return replace(found, assembly=kind(text=_COMPLEMENT, constraints="=r,r"))
