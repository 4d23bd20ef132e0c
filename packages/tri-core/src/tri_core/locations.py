"""From MLIR locations to places in a user's source."""

from __future__ import annotations

import linecache
from typing import Any, TypeVar

from tri_core.errors import SourceLocation, TriError, VerificationError
from tri_core.mlir import ir

__all__ = ["located", "refusal", "source_location"]

_Error = TypeVar("_Error", bound=TriError)


def source_location(location: ir.Location) -> SourceLocation | None:
    """The place that ``location`` names, with the call sites that led there; None when it names none.

    MLIR's columns count from 1, ours from 0.  The source line is read when the file is still there.
    """
    # diagnostics give locations of the base class, which tell nothing
    chain = _files(ir.Location.from_attr(location.attr, location.context))
    if not chain:
        return None
    first, *rest = chain
    return SourceLocation(first.file, first.line, first.column, first.source_line, tuple(rest))


def _files(location: ir.Location) -> list[SourceLocation]:
    match location:
        case ir.FileLineColLoc():
            line = linecache.getline(location.filename, location.start_line).rstrip("\n")
            column = max(location.start_col - 1, 0)
            return [SourceLocation(location.filename, location.start_line, column, line or None)]
        case ir.NameLoc():
            return _files(location.child_loc)
        case ir.CallSiteLoc():
            return _files(location.callee) + _files(location.caller)
        case ir.FusedLoc():
            return next((found for part in location.locations if (found := _files(part))), [])
        case _:
            return []


def located(
    error: type[_Error], location: ir.Location | None, message: str, remedy: str | None = None
) -> _Error:
    """An ``error`` that says ``message`` and points at the user's source that ``location``, an op's, names (None: nowhere)."""
    place = source_location(location) if location is not None else None
    return error(message, remedy=remedy, location=place)


def refusal(error: ir.MLIRError) -> VerificationError:
    """The first error that MLIR reported, with its place; the others as notes."""
    diagnostics: list[Any] = list(error.error_diagnostics)
    if not diagnostics:
        return VerificationError(error.message or "MLIR refused the module")
    first = diagnostics[0]
    made = VerificationError(first.message, location=source_location(first.location))
    for other in [*first.notes, *diagnostics[1:]]:
        made.add_note(f"{other.location}: {other.message}")
    return made
