"""Errors that point at the user's source."""

from __future__ import annotations

from typing import Any

from tri_core.api import TriError
from tri_core.locations import source_location

__all__ = ["located"]


def located(error: type[TriError], location: Any, message: str, remedy: str | None = None) -> TriError:
    """An ``error`` that says ``message`` and points at MLIR ``location`` (None: nowhere)."""
    place = source_location(location) if location is not None else None
    return error(message, remedy=remedy, location=place)
