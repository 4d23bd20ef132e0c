"""Modules printed and parsed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tri_core.ir.walking import walk
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
        try:
            module = mlir.parse(source.text)
        except mlir.ir.MLIRError as error:
            if not any(d.message.startswith("redefinition of SSA value") for d in error.error_diagnostics):
                raise
            # partitions may call values as others are called
            source = from_text(text, path, apart=True)
            module = mlir.parse(source.text)
    except mlir.ir.MLIRError as error:
        raise _explained(error, source, path) from error
    if "loc(" not in text:
        _place(module, source, path)
    return module


#: a value with a name of its own, which is not one that MLIR makes
_NAMED = re.compile(r"\s*%(?!c-?\d|cst|true|false|arg\d|\d)([A-Za-z_][\w.$-]*) = ")


def _place(module: ir.Module, source: Source, path: str) -> None:
    """Ops of a text without locations are where they stand in it, by the name of their result."""
    from tri_core.mlir import ir

    lines = source.original.split("\n")

    def one(op: ir.Operation) -> ir.WalkResult:
        where = op.location
        if isinstance(where, ir.FileLineColLoc):
            line = where.start_line
            place = ir.Location.file(path, line, where.start_col)
            named = _NAMED.match(lines[line - 1])
            op.location = ir.Location.name(named[1], place) if named else place
        return ir.WalkResult.ADVANCE

    walk(module.operation, one)


def _explained(error: ir.MLIRError, source: Source, path: str) -> VerificationError:
    from tri_core.locations import refusal
    from tri_core.text.scan import error_at

    made = refusal(error)
    made.remedy = made.remedy or "the text must be MLIR that `tri opt` accepts"
    where = made.location
    if where is None:
        made.location = error_at(source.original, 0, "", path).location
        return made
    if where.file != "-":
        return made
    line, column = source.position(where.line, where.column + 1)
    lines = source.original.split("\n")
    offset = sum(len(part) + 1 for part in lines[: line - 1]) + column - 1
    made.location = error_at(source.original, offset, "", path).location
    return made
