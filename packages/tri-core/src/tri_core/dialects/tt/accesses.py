"""Accesses that no compiler may keep, merge or leave out, because other programs wait by them."""

from __future__ import annotations

from tri_core.dialects.tt.enums import CacheModifier
from tri_core.mlir import ir

__all__ = ["reads_again", "writes_through"]


def reads_again(load: ir.Operation) -> bool:
    """True if each execution of ``load`` goes to memory, so that it may not be merged, moved or left out.

    A volatile load does, and one with the cache modifier ``.cv``: its meaning is to fetch again.  Programs
    wait for one another with both.
    """
    if "isVolatile" in load.attributes and ir.BoolAttr(load.attributes["isVolatile"]).value:
        return True
    return "cache" in load.attributes and ir.IntegerAttr(load.attributes["cache"]).value == CacheModifier.CV


def writes_through(store: ir.Operation) -> bool:
    """True if each execution of ``store`` goes to memory: its cache modifier is ``.wt``, as for flags that
    other programs wait for.
    """
    return "cache" in store.attributes and ir.IntegerAttr(store.attributes["cache"]).value == CacheModifier.WT
