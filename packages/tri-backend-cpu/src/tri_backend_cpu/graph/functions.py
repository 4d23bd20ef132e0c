"""Facts about the functions that reductions and scans apply."""

from __future__ import annotations

import math
from collections.abc import Callable

from tri_core.ttir.nodes import Block
from tri_core.ttir.types import DType

__all__ = ["neutral_element"]


def neutral_element(region: Block, dtype: DType) -> float | None:
    """The neutral element of a function that is one op of its two arguments; None if there is no such thing."""
    if len(region.ops) != 2 or len(region.arguments) != 2:
        return None
    op = region.ops[0]
    if set(op.operands) != set(region.arguments) or region.terminator.operands != op.results:
        return None
    found = _NEUTRAL.get(op.name)
    return found(dtype) if callable(found) else found


def _smallest(dtype: DType) -> int:
    return -(1 << (dtype.bits - 1)) if dtype.bits > 1 else -1


def _largest(dtype: DType) -> int:
    return (1 << (dtype.bits - 1)) - 1 if dtype.bits > 1 else 0


_NEUTRAL: dict[str, float | Callable[[DType], int]] = {
    "arith.addf": -0.0,
    "arith.mulf": 1.0,
    "arith.maxnumf": math.nan,
    "arith.minnumf": math.nan,
    "arith.maximumf": -math.inf,
    "arith.minimumf": math.inf,
    "arith.addi": 0,
    "arith.muli": 1,
    "arith.ori": 0,
    "arith.xori": 0,
    "arith.andi": -1,
    "arith.maxui": 0,
    "arith.minui": -1,
    "arith.maxsi": _smallest,
    "arith.minsi": _largest,
}
