"""Declarations of this backend for the conformance kit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tri_core import plugin_records
from tri_core.api import ConformanceProfile, Target
from tri_core.conformance import read_profile

__all__ = ["profile"]

#: processor -> the complement of a 32-bit register in its assembly
_COMPLEMENT = {"x86_64": "movl $1, $0; notl $0", "aarch64": "mvn ${0:w}, ${1:w}"}


def profile(target: Target) -> ConformanceProfile:
    """``conformance.toml`` and, for a core that asks for it (0.3), a line of assembly."""
    found = read_profile(Path(__file__).with_name("conformance.toml"), target)
    kind = getattr(plugin_records, "Assembly", None)
    text = _COMPLEMENT.get(target.key.arch.partition("-")[0])
    return (
        found
        if kind is None or text is None
        else replace(found, assembly=kind(text=text, constraints="=r,r"))
    )
