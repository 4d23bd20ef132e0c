"""Common part of dots on either matrix unit: operands as LLVM's words, the encoding of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tri_core.errors import Unsupported
from tri_core.mlir import ir
from tri_gpu_dialect.encodings import MatrixEncoding, decode
from tri_gpu_dialect.lowering import Builder

__all__ = ["packed", "result_encoding"]

_E = TypeVar("_E", bound=MatrixEncoding)


def packed(b: Builder, registers: Sequence[ir.Value], count: int, word: str) -> list[ir.Value]:
    """A lane's registers of a fragment by ``count`` as ``word``, LLVM's type as MLIR spells it: one value for every instruction."""
    pieces = [list(registers[i : i + count]) for i in range(0, len(registers), count)]
    return [b.bitcast(b.pack(piece), ir.Type.parse(word)) for piece in pieces]


def result_encoding(dot: ir.Operation, kind: type[_E], name: str) -> _E:
    """The encoding of the result of ``dot``; Unsupported where it is not of ``kind``, which users call ``name``."""
    encoding = decode(dot.results[0].type.encoding)
    if not isinstance(encoding, kind):
        raise Unsupported(f"a dot with results in {encoding}", remedy=f"use {name}")
    return encoding
