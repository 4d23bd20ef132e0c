"""Dots as DPAS."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

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
            row = left[i * of_a : (i + 1) * of_a]
            with _behind((*row, *column, *found[own])):
                found[own] = DpasOp.of(kind, row, column, found[own])
    return found


def _behind(operands: Registers) -> AbstractContextManager[object]:
    """Where the last of ``operands`` is there, if that is loaded in a branch: what is loaded after it needs no registers yet.

    Compilers of machine code do not move instructions over branches; else it is here.
    """
    block = ir.InsertionPoint.current.block
    made = (v.owner.operation for v in operands if not isinstance(v.owner, ir.Block))
    last = None
    for op in dict.fromkeys(op for op in made if op.block == block):
        if last is None or last.is_before_in_block(op):
            last = op
    return nullcontext() if last is None or not _of_a_branch(last) else ir.InsertionPoint.after(last)


def _of_a_branch(op: ir.Operation) -> bool:
    """Whether a branch gives the word that ``op`` is a part of."""
    while not len(op.regions) and len(op.operands) and not isinstance(op.operands[0].owner, ir.Block):
        if op.name not in ("llvm.bitcast", "llvm.extractelement"):
            return False
        op = op.operands[0].owner.operation
    return bool(len(op.regions))
