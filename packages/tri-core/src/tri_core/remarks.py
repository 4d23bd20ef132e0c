"""Remarks: reasons that passes leave IR unchanged, for tools, authors of kernels, tests.

A pass that declines something, for a reason that a kernel's author could act upon, says so by :func:`declined`.  Nobody listens in
an ordinary compile: then nothing is looked up or written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from tri_core.errors import SourceLocation
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri_core.mlir import ir

__all__ = ["Remark", "declined", "is_listening", "remarks"]


@dataclass(frozen=True)
class Remark:
    """Missed optimisation of the pass ``pass_name`` and its reason (``text``); ``location`` if known."""

    pass_name: str
    text: str
    location: SourceLocation | None = None

    @property
    def said(self) -> str:
        """The place, then the text."""
        place = self.location
        return self.text if place is None else f"{place.file}:{place.line}: {self.text}"

    def __str__(self) -> str:
        """Text and the pass's name."""
        return f"{self.said} [{self.pass_name}]"


_found: ContextVar[list[Remark] | None] = ContextVar("tri_remarks", default=None)


@contextmanager
def remarks() -> Iterator[list[Remark]]:
    """A list that gets what passes say in this thread inside the ``with`` block, in their order, each once."""
    found: list[Remark] = []
    token = _found.set(found)
    try:
        yield found
    finally:
        _found.reset(token)


def is_listening() -> bool:
    """True if a listener is registered: for reasons that take work to find."""
    return _found.get() is not None


def declined(pass_name: str, at: ir.Operation | SourceLocation | None, text: str, *values: object) -> None:
    """The pass leaves ``at`` as it is, because of ``text``, in which ``values`` are filled in as by ``str.format``."""
    found = _found.get()
    if found is None:
        return
    # whoever passes an op has loaded MLIR
    from tri_core.locations import source_location

    place = at if at is None or isinstance(at, SourceLocation) else source_location(at.location)
    made = Remark(pass_name, text.format(*values) if values else text, place)
    if made not in found:
        found.append(made)
