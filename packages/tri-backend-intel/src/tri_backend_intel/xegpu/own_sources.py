"""Values that cost nothing are made anew for each use, and blocks for each role in dots: as one value they would have to be shared alike.

Numbers of rows and of columns are one value where a tile is square, and so are zeros of any shape.
"""

from __future__ import annotations

from tri_core.ir.traits import is_elementwise
from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops

__all__ = ["dot_of", "with_own_sources"]

_SOURCES = ("tt.make_range", "tt.splat", "arith.constant")


def with_own_sources(kernel: ir.Operation) -> None:
    """Rewrite ``kernel``, TTIR whose blocks are ``ttig.tile_load``, in place."""
    cheap: set[ir.Value] = set()
    ops = all_ops(kernel)
    for op in ops:
        if _is_cheap(op, cheap):
            cheap.add(op.results[0])
    for op in reversed(ops):
        if op.name == "ttig.tile_load":
            _by_role(op)
        elif len(op.results) == 1 and op.results[0] in cheap:
            for use in list(op.results[0].uses)[1:]:
                _give_own(op, use)


def _is_cheap(op: ir.Operation, cheap: set[ir.Value]) -> bool:
    """A splat or constant of any rank; of rows and columns also what is computed of such."""
    if len(op.results) != 1 or not isinstance(op.results[0].type, ir.RankedTensorType) or len(op.regions):
        return False
    if op.name in _SOURCES:
        return True
    tensors = [v for v in op.operands if isinstance(v.type, ir.RankedTensorType)]
    return op.results[0].type.rank == 1 and is_elementwise(op) and all(v in cheap for v in tensors)


def _give_own(op: ir.Operation, use: ir.OpOperand) -> None:
    """A copy of ``op``, beside it, for ``use``."""
    with ir.InsertionPoint(op), op.location:
        copy = op.operation.clone()
    use.owner.operands[use.operand_number] = copy.results[0]


def _by_role(load: ir.Operation) -> None:
    """A load for each of the ways in which dots take the block: nothing is stored between copies that stand together."""
    seen: list[tuple[object, ...]] = []
    copies: dict[tuple[object, ...], ir.Operation] = {}
    for use in list(load.results[0].uses):
        user, *way = _user(use)
        role = user.name, *way
        if role not in seen:
            seen.append(role)
            if len(seen) == 1:
                continue
            with ir.InsertionPoint(load), load.location:
                copies[role] = load.clone()
        if role in copies:
            use.owner.operands[use.operand_number] = copies[role].results[0]


def dot_of(use: ir.OpOperand) -> tuple[ir.Operation, int, bool]:
    """The op that ``use`` is by, a dot, which operand of it, and whether through a transposition."""
    op, role, transposed = _user(use)
    assert op.name == "tt.dot"
    return op, role, transposed


def _user(use: ir.OpOperand) -> tuple[ir.Operation, int, bool]:
    op = use.owner.operation
    if op.name == "tt.trans":
        inner = next(iter(op.results[0].uses), None)
        if inner is not None:
            return inner.owner.operation, inner.operand_number, True
    return op, use.operand_number, False
