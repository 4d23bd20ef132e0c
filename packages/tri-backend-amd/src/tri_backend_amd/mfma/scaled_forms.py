"""The MFMA instructions of gfx950 with block scales, as data: any two of the narrow formats, an e8m0 for 32 numbers along k.

Sources: AMD's CDNA4 instruction set guide (chapter "Matrix Arithmetic Instructions": formats, scales, passes), and LLVM's
``llvm.amdgcn.mfma.scale``; for the order of operands and scales in lanes (:mod:`.lanes`) also Triton's layout of scales and
composable_kernel's test of the instructions, which run on the hardware.
"""

from __future__ import annotations

from functools import cache

from tri_core.dialects.tt.enums import ScaleDotElemType
from tri_core.lazy_dataclasses import dataclass

__all__ = ["CODES", "GROUP", "RUN", "ScaledForm", "per_byte", "scaled_forms"]

#: numbers along k that share a scale
GROUP = 32
#: bytes of an operand that a lane has next to each other along k
RUN = 16
#: how ``f8f6f4`` numbers formats (``cbsz``, ``blgp``); those of 6 bits, 2 and 3, have no tensors
CODES = {ScaleDotElemType.E4M3: 0, ScaleDotElemType.E5M2: 1, ScaleDotElemType.E2M1: 4}


def per_byte(format_: ScaleDotElemType) -> int:
    """Number of elements per byte."""
    return 2 if format_ is ScaleDotElemType.E2M1 else 1


@dataclass(frozen=True)
class ScaledForm:
    """One instruction, m x n x k, for operands of formats ``a`` and ``b``."""

    m: int
    n: int
    k: int
    a: ScaleDotElemType
    b: ScaleDotElemType

    @property
    def passes(self) -> int:
        """Of four cycles each: half where both operands have 4 bits."""
        whole = 16 if self.m == 32 else 8
        return whole // min(per_byte(self.a), per_byte(self.b))


@cache
def scaled_forms(processor: str, a: ScaleDotElemType, b: ScaleDotElemType) -> tuple[ScaledForm, ...]:
    """The instructions of ``processor`` for these formats, larger ones first; empty where there are none."""
    if processor != "gfx950" or a not in CODES or b not in CODES:
        return ()
    return tuple(ScaledForm(m, m, k, a, b) for m, k in ((32, 64), (16, 128)))
