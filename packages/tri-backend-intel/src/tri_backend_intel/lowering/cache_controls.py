"""Cache modifiers and eviction policies as controls of the first cache.

Numbers of the extension SPV_INTEL_cache_controls.  Only the first cache (level 0) is spoken of: what the kernel language
tells apart happens there, and the driver's compilers give the next one its default beside it.
"""

from __future__ import annotations

from collections.abc import Mapping

from tri_backend_intel.dialect import CacheControlOp
from tri_core.dialects.tt.enums import CacheModifier, EvictionPolicy
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Access, Builder

__all__ = ["EXTENSION", "controlled"]

EXTENSION = "SPV_INTEL_cache_controls"


@dataclass(frozen=True)
class _Controls:
    """Of loads, or of stores: the decoration, and its control by modifier and by policy."""

    decoration: int
    modifiers: Mapping[CacheModifier, int]
    policies: Mapping[EvictionPolicy, int]


_CA, _CG, _CS = CacheModifier.CA, CacheModifier.CG, CacheModifier.CS
_FIRST, _LAST = EvictionPolicy.EVICT_FIRST, EvictionPolicy.EVICT_LAST
#: CacheControlLoadINTEL: uncached 0, cached 1, streaming 2
_LOADS = _Controls(6442, {_CA: 1, _CG: 0, _CS: 2}, {_FIRST: 2, _LAST: 1})
#: CacheControlStoreINTEL: uncached 0, write-through 1, write-back 2, streaming 3
_STORES = _Controls(6443, {CacheModifier.WB: 2, CacheModifier.WT: 1, _CG: 0, _CS: 3}, {_FIRST: 3, _LAST: 2})


def controlled(b: Builder, pointer: ir.Value, access: Access, *, store: bool) -> ir.Value:
    """``pointer`` with the control that ``access`` asks for; as it is where none is asked for, or for a volatile load."""
    controls = _STORES if store else _LOADS
    control = controls.modifiers.get(access.cache, controls.policies.get(access.evict))
    if control is None or (access.volatile and not store):
        return pointer
    numbers = {"decoration": controls.decoration, "control": control}
    attributes: dict[str, ir.Attribute] = {k: ir.IntegerAttr.get(b.i32, v) for k, v in numbers.items()}
    return CacheControlOp.build([pointer], [pointer.type], attributes)[0]
