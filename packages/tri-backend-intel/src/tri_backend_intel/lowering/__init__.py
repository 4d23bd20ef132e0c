"""Intel's words for the generic lowering, and the rules that differ from the generic ones."""

from __future__ import annotations

from tri_backend_intel.lowering.primitives import PRECISE, IntelPrimitives, make_primitives

__all__ = ["PRECISE", "IntelPrimitives", "make_primitives"]
