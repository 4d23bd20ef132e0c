"""Cost of an iteration of a kernel's loop over dots, before LLVM sees it: an estimate that compares two
paths.

Weights are instructions that the driver's compiler makes of an op for a sub-group (IGC 2.40); what a loop does not change is
counted as outside of it, for LLVM moves it there.
"""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_intel.dialect import (
    BlockLoadOp,
    BlockPrefetchOp,
    BlockStoreOp,
    DpasOp,
    ShuffleOp,
    ShuffleXorOp,
)
from tri_core.mlir import ir

__all__ = ["step_cost"]

#: by op; a prefetch's address block is built anew each time, of a load's only x or y changes
_WEIGHTS = {
    DpasOp.OPERATION_NAME: 1,
    BlockLoadOp.OPERATION_NAME: 2,
    BlockStoreOp.OPERATION_NAME: 2,
    BlockPrefetchOp.OPERATION_NAME: 9,
    ShuffleOp.OPERATION_NAME: 2,
    ShuffleXorOp.OPERATION_NAME: 2,
    "llvm.call": 4,
    "llvm.load": 3,
    "llvm.store": 3,
    "llvm.br": 0,
}
#: registers under another name
_FREE = frozenset(
    f"llvm.{name}"
    for name in (
        "bitcast", "extractelement", "insertelement", "shufflevector", "mlir.undef", "mlir.poison", "mlir.constant",
        "mlir.zero", "trunc", "zext", "inttoptr", "ptrtoint",
    )
)  # fmt: skip


def step_cost(kernel: ir.Operation) -> int:
    """Of the shortest loop that multiplies blocks, else of the shortest that multiplies, else of the whole ``kernel``."""
    blocks = list(kernel.regions[0].blocks)
    names = [{view.operation.name for view in block.operations} for block in blocks]
    loops = []
    for last, block in enumerate(blocks):
        for target in list(block.operations)[-1].operation.successors:
            first = blocks.index(target)
            found = set().union(*names[first : last + 1])
            if first <= last and DpasOp.OPERATION_NAME in found:
                loops.append((BlockLoadOp.OPERATION_NAME not in found, _cost(blocks[first : last + 1], [])))
    if not loops:
        return _cost(blocks, None)
    return min(loops)[1]


def _cost(blocks: Sequence[ir.Block], changing: list[ir.Value] | None) -> int:
    """Of ``blocks``; of what depends on arguments of theirs alone, unless ``changing`` is None."""
    known = None if changing is None else {a for block in blocks for a in block.arguments}
    total = 0
    for block in blocks:
        for view in block.operations:
            op = view.operation
            acts = op.name in _WEIGHTS or not len(op.results)
            if known is not None and not acts and not any(v in known for v in op.operands):
                continue
            if known is not None:
                known |= set(op.results)
            total += 0 if op.name in _FREE else _WEIGHTS.get(op.name, _width(op))
    return total


def _width(op: ir.Operation) -> int:
    """An instruction for each element that a lane has."""
    if not len(op.results) or not isinstance(op.results[0].type, ir.VectorType):
        return 1
    return int(op.results[0].type.shape[0])
