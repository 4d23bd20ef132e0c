"""The one table of canonicalization's rules."""

from __future__ import annotations

from tri_core.passes.rewriting import RuleTable

__all__ = ["TABLE"]

TABLE = RuleTable()
