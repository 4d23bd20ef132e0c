"""AMD's words for the generic lowering, and the rules that differ from the generic ones."""

from __future__ import annotations

from tri_backend_amd.lowering.buffers import add_rules
from tri_backend_amd.lowering.primitives import AmdPrimitives, make_primitives

__all__ = ["AmdPrimitives", "add_rules", "make_primitives"]
