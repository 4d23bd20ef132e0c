"""Modules printed and parsed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tri_core.text.reader import Source, from_text
from tri_core.text.writer import to_text

if TYPE_CHECKING:
    from tri_core.errors import VerificationError
    from tri_core.mlir import ir

__all__ = ["parse_module", "print_module"]


def print_module(module: ir.Module, *, locations: bool = True) -> str:
    """The text of ``module``, a valid one, with ``locations`` or without; values are named as in the source."""
    printed: str = module.operation.get_asm(
        enable_debug_info=locations, use_name_loc_as_prefix=True, assume_verified=True
    )
    return to_text(printed)


def parse_module(text: str, path: str = "-") -> ir.Module:
    """The verified module of ``text``, in our dialects' text or in generic form; inside an MLIR session.

    VerificationError with the place in ``text``, which is called ``path``, for what it refuses.
    """
    from tri_core import mlir

    source = from_text(text, path)
    try:
        return mlir.parse(source.text)
    except mlir.ir.MLIRError as error:
        raise _explained(error, source, path) from error


def _explained(error: ir.MLIRError, source: Source, path: str) -> VerificationError:
    from tri_core.locations import located
    from tri_core.text.scan import error_at

    made = located(error)
    where = made.location
    if where is None or where.file != "-":
        return made
    line, column = source.position(where.line, where.column + 1)
    lines = source.original.split("\n")
    offset = sum(len(part) + 1 for part in lines[: line - 1]) + column - 1
    place = error_at(source.original, offset, made.message, path).location
    made.location = replace(where, file=path, line=line, column=column - 1) if place is None else place
    return made
