"""Cache modifiers and eviction policies as bits of a buffer instruction's aux word, by generation.

Bits as in LLVM's "User Guide for AMDGPU Backend" (memory model) and the ``llvm.amdgcn.raw.ptr.buffer`` intrinsics:
``glc`` 1, ``slc`` 2, ``dlc`` 4 up to RDNA3; ``sc0`` 1, ``nt`` 2, ``sc1`` 16 on CDNA3 and 4; a temporal hint in bits 0 to 2
and a scope in bits 3 and 4 on RDNA4 and CDNA5.
"""

from __future__ import annotations

from collections.abc import Mapping

from tri_core.dialects.tt.enums import CacheModifier, EvictionPolicy
from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.lowering import Access

__all__ = ["aux_word"]

_VOLATILE = -(1 << 31)


@dataclass(frozen=True)
class _Bits:
    """By modifier, for loads and for stores; ``once`` for what is used once (``evict_first``)."""

    loads: Mapping[CacheModifier, int]
    stores: Mapping[CacheModifier, int]
    once: int


_CG, _CS, _CV, _WT = CacheModifier.CG, CacheModifier.CS, CacheModifier.CV, CacheModifier.WT

_GLC_SLC = _Bits(loads={_CG: 1, _CS: 2, _CV: 3}, stores={_CS: 2, _WT: 3}, once=2)
_SCOPES_NT = _Bits(loads={_CG: 3, _CS: 3, _CV: 17}, stores={_CS: 3, _WT: 17}, once=2)
_GLC_SLC_DLC = _Bits(loads={_CG: 1, _CS: 7, _CV: 7}, stores={_CS: 7, _WT: 7}, once=2)
_HINT_SCOPE = _Bits(loads={_CG: 16, _CS: 1, _CV: 27}, stores={_CG: 16, _CS: 1, _WT: 24}, once=1)

_FAMILIES = {
    "gcn5": _GLC_SLC,
    "cdna1": _GLC_SLC,
    "cdna2": _GLC_SLC,
    "cdna3": _SCOPES_NT,
    "cdna4": _SCOPES_NT,
    "rdna2": _Bits(loads={_CG: 1, _CS: 2, _CV: 7}, stores={_CS: 2, _WT: 3}, once=2),
    "rdna3": _GLC_SLC_DLC,
    "rdna4": _HINT_SCOPE,
    "cdna5": _HINT_SCOPE,
}


def aux_word(family: str, access: Access, *, store: bool) -> int:
    """The aux word of ``access`` on a processor of ``family`` (``"cdna3"``)."""
    bits = _FAMILIES[family]
    word = (bits.stores if store else bits.loads).get(access.cache, 0)
    if access.evict == EvictionPolicy.EVICT_FIRST and not word:
        word = bits.once
    return word | (_VOLATILE if access.volatile else 0)
