"""Each feature of the language x element type x shape x number of warps, against NumPy."""

from __future__ import annotations

from collections.abc import Iterator

from tri_conformance.case import Case
from tri_conformance.features import cases_of
from tri_conformance.tables import blocks, elements, memory

__all__ = ["cases"]


def cases() -> Iterator[Case]:
    """The cases of this level."""
    yield from cases_of((*memory.FEATURES, *elements.FEATURES, *blocks.FEATURES))
