"""Memory mappings of this process, with their permissions."""

from __future__ import annotations

from pathlib import Path

__all__ = ["mapped_range"]

_MAPS = Path("/proc/self/maps")
#: every address: where the system does not tell
_ALL = (-(2**63), 2**63 - 1)


def mapped_range(address: int, size: int, *, writes: bool) -> tuple[int, int] | None:
    """The range of neighbouring mappings [first, end) with ``size`` bytes at ``address`` that may be read or written.

    None when there is no such memory; every address where the system has no ``/proc/self/maps``.
    """
    try:
        text = _MAPS.read_text(errors="replace")
    except OSError:
        return _ALL
    found = _joined(text, "w" if writes else "r")
    return next(((low, end) for low, end in found if low <= address and address + size <= end), None)


def _joined(text: str, right: str) -> list[tuple[int, int]]:
    """The mappings with ``right``, those that touch as one; the kernel's own half of addresses is left out."""
    found: list[tuple[int, int]] = []
    for line in text.splitlines():
        span, rights, *_ = line.split(maxsplit=2)
        low, end = (int(edge, 16) for edge in span.split("-"))
        if right not in rights or end > _ALL[1]:
            continue
        if found and found[-1][1] == low:
            low = found.pop()[0]
        found.append((low, end))
    return found
