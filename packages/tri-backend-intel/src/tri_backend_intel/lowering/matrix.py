"""Dots as DPAS."""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_intel.dialect.encoding import Dpas
from tri_backend_intel.dialect.matrix import DpasOp
from tri_core.errors import Unsupported
from tri_core.mlir import ir
from tri_gpu_dialect.encodings import decode

__all__ = ["multiply_cluster"]

Registers = Sequence[ir.Value]


def multiply_cluster(dot: ir.Operation, left: Registers, right: Registers, total: Registers) -> Registers:
    """The instructions of one cluster of ``dot``, a column of them after the other: B is what changes seldom."""
    encoding = decode(dot.results[0].type.encoding)
    if not isinstance(encoding, Dpas):
        raise Unsupported(f"a dot that gives {dot.results[0].type}", remedy="give it the encoding #ttig.dpas")
    down, across = encoding.rep_cluster
    rows = encoding.repeat_count
    kind = str(dot.operands[0].type.element_type)
    of_a, of_b = len(left) // down, len(right) // across
    found = list(total)
    for j in range(across):
        column = right[j * of_b : (j + 1) * of_b]
        for i in range(down):
            own = slice((j * down + i) * rows, (j * down + i + 1) * rows)
            found[own] = DpasOp.of(kind, left[i * of_a : (i + 1) * of_a], column, found[own])
    return found
