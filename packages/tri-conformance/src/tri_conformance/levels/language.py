"""Each feature of the language x element type x shape x number of warps, against NumPy."""

from __future__ import annotations

from collections.abc import Iterator

from tri_conformance.case import Case
from tri_conformance.features import cases_of
from tri_conformance.levels import effects
from tri_conformance.tables import (
    blocks,
    descriptors,
    each_type,
    elements,
    fp8,
    libdevice,
    members,
    memory,
    promotion,
    scaled,
    special,
    structures,
)

__all__ = ["cases"]


def cases() -> Iterator[Case]:
    """The cases of this level."""
    tables = (
        memory, elements, promotion, blocks, each_type, members, special, structures, descriptors, fp8, scaled, libdevice,
    )  # fmt: skip
    for table in tables:
        yield from cases_of(table.FEATURES)
    yield from effects.cases()
