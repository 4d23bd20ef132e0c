"""What loads say about how they reach memory."""

from __future__ import annotations

from tri_core.dialects.tt.enums import CacheModifier
from tri_core.mlir import ir

__all__ = ["reads_again"]


def reads_again(load: ir.Operation) -> bool:
    """Whether each execution of ``load`` goes to memory, so that it may not be merged, moved or left out.

    A volatile load does, and one with the cache modifier ``.cv``: its meaning is to fetch again.  Programs
    wait for one another with both.
    """
    if "isVolatile" in load.attributes and ir.BoolAttr(load.attributes["isVolatile"]).value:
        return True
    return "cache" in load.attributes and ir.IntegerAttr(load.attributes["cache"]).value == CacheModifier.CV
