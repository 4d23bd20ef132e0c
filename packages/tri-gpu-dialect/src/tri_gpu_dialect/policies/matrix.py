"""Matrix instructions as data: what a backend's table says, and which row suits a dot.

A backend hands the rows to :class:`tri_gpu_dialect.policies.gpu.DefaultPolicy`; the pass ``accelerate-matmul`` asks
:func:`choose`.  How an instruction is emitted is the matter of ``Primitives.matrix_multiply``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tri_core.dialects.tt import DescriptorLoadOp, DotOp, LoadOp, TransOp
from tri_core.ir.regions import is_loop
from tri_core.ir.traits import maps_elements, source_of
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect import layouts
from tri_gpu_dialect.analysis.layout_rules import pack_of
from tri_gpu_dialect.dialect import ConvertLayoutOp, WarpGroupDotOp, WarpGroupDotWaitOp
from tri_gpu_dialect.edit import stages_of
from tri_gpu_dialect.encodings import DotOperand
from tri_gpu_dialect.encodings.matrix import MatrixEncoding
from tri_gpu_dialect.layouts.cluster import share
from tri_gpu_dialect.plans.cta_split import dot_blocks
from tri_gpu_dialect.plans.operand_memory import vector_order
from tri_gpu_dialect.types import tensor_info

__all__ = [
    "MatrixInstruction",
    "choose",
    "contiguous_dimension",
    "is_copied_in_loop",
    "is_made_of_dot",
    "split_warps",
    "warp_splits",
]

Shape = tuple[int, ...]

#: element types whose values another type holds exactly, by MLIR's names: operands may be widened so
_WIDER = dict.fromkeys(("f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ"), "f16")

_DOTS = (DotOp, WarpGroupDotOp, WarpGroupDotWaitOp)
#: how many values are looked at to find out whether one is made of a dot's result
_HORIZON = 256


@dataclass(frozen=True)
class MatrixInstruction:
    """One row: MLIR element types of operands and accumulator, the shape ``(m, n, k)``, the layouts.

    ``encoding`` is the accumulator's for a single warp; ``k_width`` how many elements of an operand a lane has
    next to each other along k (a pair: of A and of B); ``precisions`` the values of ``tt.dot``'s ``inputPrecision`` that the instruction
    satisfies (empty: all).
    """

    a: str
    b: str
    accumulator: str
    shape: tuple[int, int, int]
    k_width: int | tuple[int, int]
    encoding: MatrixEncoding
    precisions: tuple[int, ...] = ()

    def result(self, shape: Shape, warps: Shape) -> MatrixEncoding:
        """The encoding of a result of ``shape`` over ``warps`` (one number per dimension)."""
        return self.encoding.spread(shape, warps)

    def split(self, shape: Shape, num_warps: int, *, whole_rows: bool) -> Shape:
        """Split of a result of ``shape`` over ``num_warps``: a count per dimension."""
        return split_warps(shape, self.shape[:2], num_warps, whole_rows=whole_rows)

    def computes(self, dot: ir.Operation) -> bool:
        """True if it supports the operands of ``dot``, whose types and shape it fits."""
        return True

    def operand(self, index: int, result: MatrixEncoding) -> DotOperand:
        """The encoding of operand 0 or 1."""
        width = self.k_width[index] if isinstance(self.k_width, tuple) else self.k_width
        return DotOperand(index, result, width)


def choose(table: Sequence[MatrixInstruction], dot: ir.Operation) -> MatrixInstruction | None:
    """The first row that computes ``tt.dot`` as it is, else the first that does with operands widened exactly.

    None where no row fits.  A result of a narrower float than the accumulator is rounded once, at the end.
    """
    left, right, result = (tensor_info(v.type) for v in (*list(dot.operands)[:2], dot.results[0]))
    if left is None or right is None or result is None:
        return None
    precision = ir.IntegerAttr(dot.attributes["inputPrecision"]).value
    (*_, m, n), k = share(result.shape, dot_blocks(dot)), left.shape[-1]
    for types in _candidates(str(left.element_type), str(right.element_type)):
        for row in table:
            fits = m >= row.shape[0] and n >= row.shape[1] and k % row.shape[2] == 0
            precise = not row.precisions or precision in row.precisions
            if not (fits and precise and (row.a, row.b) == types and _gives(row, str(result.element_type))):
                continue
            if row.computes(dot):
                return row
    return None


# --- where operands come from -----------------------------------------------------------------------------


def _source(value: ir.Value) -> ir.Operation | None:
    """The op that made ``value``; None for arguments."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def _keeps_places(op: ir.Operation) -> bool:
    """True if each element of the results of ``op`` depends only on the operands' elements at its index, in
    any layout.
    """
    return isinstance(op.opview, ConvertLayoutOp) or (maps_elements(op.name) and pack_of(op) == 1)


def contiguous_dimension(value: ir.Value) -> int:
    """The dimension that ``value``, as it was loaded, has neighbours along."""
    op = _source(value)
    if op is not None and _keeps_places(op):
        loaded = [operand for operand in op.operands if len(op.operands) == 1 or _is_loaded(operand)]
        if loaded:
            return contiguous_dimension(loaded[0])
    if op is not None and isa(op, TransOp):
        order = list(ir.DenseI32ArrayAttr(op.attributes["order"]))
        return order.index(contiguous_dimension(source_of(op)))
    info = tensor_info(value.type)
    assert info is not None
    if op is not None and isa(op, DescriptorLoadOp):
        return info.rank - 1  # whatever layout its block was given: the last stride of a descriptor is 1
    return vector_order(info.shape, max(info.bitwidth, 8), layouts.of(value.type))[0]


def _is_loaded(value: ir.Value) -> bool:
    """True if ``value`` is loaded, perhaps through elementwise ops: no broadcast row or scalar."""
    op = _source(value)
    while op is not None and not isa(op, LoadOp, DescriptorLoadOp):
        op = (
            _source(source_of(op))
            if len(op.operands) == 1 and (_keeps_places(op) or isa(op, TransOp))
            else None
        )
    return op is not None


def is_copied_in_loop(value: ir.Value, stages: int) -> bool:
    """True where a loop loads ``value`` as it is, transposed at most: copies may bring it ahead, that leave it as it lies in global memory.

    ``stages``: of loops that don't say; one of a single stage copies nothing ahead.
    """
    op = _source(value)
    while op is not None and isa(op, ConvertLayoutOp, TransOp):
        op = _source(source_of(op))
    if op is None or not isa(op, LoadOp, DescriptorLoadOp):
        return False
    loop = op.parent.operation
    return is_loop(loop) and (isa(op, DescriptorLoadOp) or stages_of(loop, stages) > 1)


def is_made_of_dot(value: ir.Value) -> bool:
    """True if ``value`` is computed from a dot's result by elementwise ops alone."""
    ahead, seen = [value], {value}
    while ahead and len(seen) < _HORIZON:
        op = _source(ahead.pop())
        if op is None:
            continue
        if isa(op, *_DOTS):
            return True
        if not _keeps_places(op):
            continue
        for operand in op.operands:
            if operand not in seen and tensor_info(operand.type) is not None:
                seen.add(operand)
                ahead.append(operand)
    return False


def _candidates(a: str, b: str) -> Iterator[tuple[str, str]]:
    yield a, b
    wide = _WIDER.get(a, a), _WIDER.get(b, b)
    if wide != (a, b):
        yield wide


def _gives(row: MatrixInstruction, element: str) -> bool:
    return row.accumulator == element or (row.accumulator == "f32" and element in ("f16", "bf16"))


def split_warps(shape: Shape, tile: tuple[int, int], num_warps: int, *, whole_rows: bool) -> Shape:
    """Split of a result of ``shape`` made of instruction tiles ``m x n`` over ``num_warps``: a count per
    dimension.

    No warp goes idle if that can be; then warps read as few operand elements as can be, which is the case for
    shares near a square.  With ``whole_rows`` warps split rows only as long as there are some: a result that
    is the operand of another dot, or is reduced along its rows, then stays inside of its warps.
    """
    *batch, m, n = shape

    def cost(split: Shape) -> tuple[int, int, int, int]:
        *outer, rows, columns = split
        idle = max(rows * tile[0] // m, 1) * max(columns * tile[1] // n, 1)
        for count, size in zip(outer, batch, strict=True):
            idle *= max(count // size, 1)
        read = max(m // rows, tile[0]) + max(n // columns, tile[1])
        return idle, columns if whole_rows else 0, -sum(outer), read * 2 - (rows > columns)

    return min(warp_splits(num_warps, len(shape)), key=cost)


def warp_splits(count: int, rank: int) -> Iterator[Shape]:
    """The ways to write ``count`` as a product of ``rank`` powers of two."""
    if rank == 1:
        yield (count,)
        return
    first = 1
    while first <= count:
        for rest in warp_splits(count // first, rank - 1):
            yield (first, *rest)
        first *= 2
