"""Depth of values: chains of ops that a frontend unrolled may have thousands.

Analyses that recurse into operands first would run out of stack on such a chain.  They run in program order
instead (:func:`prime`), so that every result needs only results already known; and the
evaluator computes a deep value from the bottom, one stretch at a time.
"""

from __future__ import annotations

from collections.abc import Callable

from tri_core.ttir import Block, Value

__all__ = ["STRETCH", "depths", "prime"]

#: ops that may be followed by recursion
STRETCH = 40


def depths(body: Block) -> dict[Value, int]:
    """The ops on the longest chain to every value."""
    found: dict[Value, int] = {}
    for op in body.walk():
        depth = 1 + max((found.get(v, 0) for v in op.operands), default=0)
        for result in op.results:
            found[result] = depth
    return found


def prime(body: Block, *analyses: Callable[[Value], object]) -> None:
    """Run ``analyses``, which cache their results, on every value in program order."""
    for op in body.walk():
        for result in op.results:
            for analysis in analyses:
                analysis(result)
