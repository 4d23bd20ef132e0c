"""``tl.extra.hip``: what only AMD's GPUs have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tri.language as tl
from tri.language.extra import libdevice
from tri_core.api import TargetKey, Unsupported

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = ["libdevice", "memrealtime", "num_threads", "num_warps", "smid"]

#: (register, first bit, bits) that name the unit, by the prefix of the processor's name: HW_ID's compute unit, shader
#: array and engine, or HW_ID1's work-group processor
_UNITS = {"gfx9": (4, 8, 8), "gfx11": (23, 10, 4), "gfx120": (23, 10, 4)}


def _check(b: Builder, name: str) -> TargetKey:
    key: TargetKey = b.target.key
    if key.backend != "amd":
        raise Unsupported(f"tl.extra.hip.{name} on {key}", remedy="ask tl.target_info.is_hip() before")
    return key


def _hardware(b: Builder, symbol: str, dtype: Any) -> Any:
    """Value from the backend's library ``amdgcn``; its functions take one operand, which is ignored."""
    attributes = {
        "libname": b.string("amdgcn"),
        "libpath": b.string(""),
        "symbol": b.string(symbol),
        "pure": b.boolean(False),
    }
    return b.value("tt.extern_elementwise", dtype, b.constant(0, tl.int32), attributes=attributes)


@tl.builtin
def memrealtime(*, _semantic: Builder) -> Any:
    """The device's clock, at a constant frequency: int64."""
    _check(_semantic, "memrealtime")
    return _hardware(_semantic, "clock", tl.int64)


@tl.builtin
def smid(*, _semantic: Builder) -> Any:
    """The compute unit (gfx9, with shader array and engine) or work-group processor of the wave: int32."""
    key = _check(_semantic, "smid")
    unit = next((place for prefix, place in _UNITS.items() if key.arch.startswith(prefix)), None)
    if unit is None:
        raise Unsupported(f"tl.extra.hip.smid on {key}", remedy=f"it is known for {', '.join(_UNITS)}")
    register, first, bits = unit
    return _hardware(_semantic, f"getreg.{register | first << 6 | (bits - 1) << 11}", tl.int32)


@tl.builtin
def num_threads(*, _semantic: Builder) -> int:
    """Work items of a program: constexpr."""
    _check(_semantic, "num_threads")
    size = getattr(_semantic.options, "warp_size", 0) or _semantic.target.spec.threads_per_warp[0]
    return size * _semantic.options.num_warps


@tl.builtin
def num_warps(*, _semantic: Builder) -> int:
    """Wavefronts of a program: constexpr."""
    _check(_semantic, "num_warps")
    return _semantic.options.num_warps
