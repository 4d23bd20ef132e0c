"""Gluon, the explicit level: kernels that say layouts, shared memory and barriers by hand.

The language, ``tri.experimental.gluon.language``, needs the package ``tri-gpu-dialect``, which has the layouts.
"""

from __future__ import annotations

from tri.experimental.gluon.kernel import GluonASTSource, GluonJITFunction, jit
from tri.language.aggregate import aggregate
from tri.language.builtin import constexpr_function
from tri.language.elementwise import must_use_result

__all__ = [
    "GluonASTSource",
    "GluonJITFunction",
    "aggregate",
    "constexpr_function",
    "jit",
    "must_use_result",
]
