"""The tables of rules: one for each pass that is made of rules."""

from __future__ import annotations

from tri_core.passes.rewriting import RuleTable

__all__ = ["COMBINE", "REORDER", "TABLE"]

#: canonicalization: the simplest form of each op
TABLE = RuleTable()
#: ``combine``: several ops as one that does as much
COMBINE = RuleTable()
#: ``reorder-broadcast``: splats and broadcasts after elementwise ops
REORDER = RuleTable()
