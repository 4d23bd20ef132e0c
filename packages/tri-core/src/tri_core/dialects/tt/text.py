"""The text of ``tt`` as the original compiler writes it.

Our text differs from Triton's generic form where IRDL forces it to: names with a second dot, pointers and
descriptors (whose syntax is custom there), cache hints (two enumerations here, one attribute there) and
operand segments (which IRDL wants on every op with an optional operand).
"""

from __future__ import annotations

import re

from tri_core.dialects.tt.enums import CacheModifier, EvictionPolicy

__all__ = ["to_original_syntax"]

_TERMINATOR = re.compile(r'"tt\.(reduce|scan|map_elementwise)_return"')
_GLOBAL = re.compile(r'(!tt\.ptr<[^<>"]*), "global">')
_DESCRIPTOR = re.compile(r"!tt\.tensordesc<tensor<([^<>]*)>>")
_SEGMENTS = re.compile(r", operandSegmentSizes = array<i32[^>]*>|operandSegmentSizes = array<i32[^>]*>,? ?")
_HINTS = re.compile(
    r"\bcache = (?P<cache>\d+) : i32(?:, evict = (?P<evict>\d+) : i32)?|\bevict = (?P<only>\d+) : i32"
)
_EMPTY = re.compile(r" \{\}(?= :)")
_KEEPS_SEGMENTS = ('"tt.load"', '"tt.dot_scaled"')
_HAS_HINTS = ('"tt.load"', '"tt.store"', '"tt.descriptor_load"')

_EVICTION = {
    EvictionPolicy.NORMAL: "evict_normal",
    EvictionPolicy.EVICT_FIRST: "evict_first",
    EvictionPolicy.EVICT_LAST: "evict_last",
}


def to_original_syntax(text: str) -> str:
    """``text``, a module of ours in generic form, as Triton 3.9 reads it."""
    return "\n".join(_line(line) for line in text.split("\n"))


def _line(line: str) -> str:
    line = _TERMINATOR.sub(r'"tt.\1.return"', line)
    line = _GLOBAL.sub(r"\1>", line)
    line = _DESCRIPTOR.sub(r"!tt.tensordesc<\1>", line)
    if "operandSegmentSizes" in line and not any(op in line for op in _KEEPS_SEGMENTS):
        line = _EMPTY.sub("", _SEGMENTS.sub("", line))
    if any(op in line for op in _HAS_HINTS):
        line = _HINTS.sub(_cache_policy, line)
    return line


def _cache_policy(hints: re.Match[str]) -> str:
    cache = CacheModifier(int(hints["cache"] or CacheModifier.NONE))
    evict = EvictionPolicy(int(hints["evict"] or hints["only"] or EvictionPolicy.NORMAL))
    policy = f"cache_modifier = {cache.name.lower()}, eviction_policy = {_EVICTION[evict]}"
    return f"cachePolicy = #tt.cache_policy<{policy}>"
