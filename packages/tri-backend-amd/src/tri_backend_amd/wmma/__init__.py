"""WMMA, RDNA's and CDNA5's matrix instructions: their table, their layouts, what they compute."""

from __future__ import annotations

__all__: list[str] = []
