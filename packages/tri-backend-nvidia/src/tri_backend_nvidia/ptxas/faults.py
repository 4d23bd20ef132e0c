"""Faults of ptxas by version and architecture, and what is done about them.

Found by ``integration.assemblers``, which evaluates the machine code that each version makes of small programs; ranges are those of the versions that
were tried (12.0.140 to 13.5.37), and reach up to the next right one.
"""

from __future__ import annotations

import re

from tri_backend_nvidia.ptxas.rewritings import (
    ABSOLUTE_16,
    ABSOLUTE_32,
    ABSOLUTE_64,
    NEGATE_16,
    NEGATE_32,
    Rewriting,
)
from tri_backend_nvidia.ptxas.upper_halves import SUMS_APART, UPPER_HALVES, UPPER_HALVES_OF_DOTS
from tri_core.lazy_dataclasses import dataclass

__all__ = ["FAULTS", "Fault", "Version", "faults", "rewritings"]

#: major, minor, build: ``(12, 9, 86)``
Version = tuple[int, ...]


@dataclass(frozen=True)
class Fault:
    """``what`` versions from ``since`` on, before ``until``, get wrong from compute capability ``capability`` (times ten) on, before ``below``."""

    what: str
    since: Version
    until: Version | None
    rewriting: Rewriting
    capability: int = 0
    below: int | None = None

    def concerns(self, version: Version | None, capability: int) -> bool:
        """True if the version has this fault; an unknown version has all."""
        if capability < self.capability or (self.below is not None and capability >= self.below):
            return False
        return version is None or (self.since <= version and (self.until is None or version < self.until))


FAULTS: tuple[Fault, ...] = (
    Fault(
        "abs.s32 of -2**31 counts as not negative: abs(x) < 0 is false",
        since=(0,),
        until=(13, 1, 115),
        rewriting=ABSOLUTE_32,
    ),
    Fault(
        "abs.s32 of -2**31 counts as not negative: -abs(x) > -1 is true, and as an unsigned number it becomes -2**31 in f32",
        since=(0,),
        until=None,
        rewriting=ABSOLUTE_32,
    ),
    Fault(
        "abs.s64 of -2**63 counts as not negative: abs(x) < 0 is false",
        since=(0,),
        until=None,
        rewriting=ABSOLUTE_64,
    ),
    Fault(
        "neg.s16 and sub.s16 from 0 give 32768 for -32768 to what extends the sign",
        since=(0,),
        until=(13, 3),
        rewriting=NEGATE_16,
    ),
    Fault(
        "abs.s16 gives 32768 for -32768 to what extends the sign",
        since=(0,),
        until=(13, 3),
        rewriting=ABSOLUTE_16,
    ),
    Fault(
        "abs.s16 gives -32768 for -32768 to what extends by zeros",
        since=(13, 3),
        until=(13, 4),
        rewriting=ABSOLUTE_16,
    ),
    Fault(
        "abs.s16 of -32768 as an unsigned number becomes -32768 in f32",
        since=(0,),
        until=None,
        rewriting=ABSOLUTE_16,
    ),
    Fault(
        "min(min(a, -b), c) and max(max(a, -b), c) of s32 lose the sign of b (VIMNMX3)",
        since=(12, 6),
        until=(13, 4),
        rewriting=NEGATE_32,
        capability=90,
    ),
    Fault(
        "min(min(a, -b), c) and max(max(a, -b), c) of s16 lose the sign of b",
        since=(12, 8),
        until=(13, 4),
        rewriting=NEGATE_16,
        capability=90,
    ),
    Fault(
        "mma.sync of 8-bit floats, where f16 emulates it, into the accumulator's registers gives twice the product without the accumulator",
        since=(12, 4),
        until=(12, 5),
        rewriting=SUMS_APART,
        capability=90,
        below=120,
    ),
    Fault(
        "conversions of packed 8-bit floats: the upper half of a word that becomes a constant late is another constant",
        since=(0,),
        until=None,
        rewriting=UPPER_HALVES,
        capability=89,
    ),
    Fault(
        "mma.sync of 8-bit floats, where f16 emulates it: the upper half of a word that becomes a constant late is another constant",
        since=(0,),
        until=None,
        rewriting=UPPER_HALVES_OF_DOTS,
        capability=90,
        below=120,
    ),
)


def faults(version: Version | None, architecture: str) -> tuple[Fault, ...]:
    """Faults of ptxas of ``version`` (None: not known) for ``architecture`` (``"sm_90a"``)."""
    digits = re.sub(r"\D", "", architecture)
    capability = int(digits) if digits else 1000
    return tuple(fault for fault in FAULTS if fault.concerns(version, capability))


def rewritings(version: Version | None, architecture: str) -> tuple[Rewriting, ...]:
    """Rewritings of PTX for ptxas of ``version``, in order; each once, even if it serves several faults."""
    return tuple(dict.fromkeys(fault.rewriting for fault in faults(version, architecture)))
