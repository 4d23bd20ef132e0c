"""Matrix instructions as data: what a backend's table says, and which row suits a dot.

A backend hands the rows to :class:`tri_gpu_dialect.policies.gpu.DefaultPolicy`; the pass ``accelerate-matmul`` asks
:func:`choose`.  How an instruction is emitted is the matter of ``Primitives.matrix_multiply``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from tri_core.dialects.tt import DescriptorLoadOp, DotOp, TransOp
from tri_core.ir.traits import maps_elements, source_of
from tri_core.ir.views import isa
from tri_core.mlir import ir
from tri_gpu_dialect import layouts
from tri_gpu_dialect.analysis.layout_rules import pack_of
from tri_gpu_dialect.dialect import ConvertLayoutOp, WarpGroupDotOp, WarpGroupDotWaitOp
from tri_gpu_dialect.edit import number_of_module
from tri_gpu_dialect.encodings import DotOperand, SharedEncoding
from tri_gpu_dialect.encodings.matrix import MatrixEncoding
from tri_gpu_dialect.layouts.cluster import operand_blocks, share
from tri_gpu_dialect.plans.cta_split import dot_blocks
from tri_gpu_dialect.plans.operand_memory import vector_order
from tri_gpu_dialect.types import shape_of, tensor_info

__all__ = [
    "MatrixInstruction",
    "OperandMemory",
    "OperandSource",
    "WarpGroup",
    "choose",
    "contiguous_dimension",
    "is_made_of_dot",
    "operand_sources",
    "split_warps",
]

Shape = tuple[int, ...]

#: (operand's index, its shape, the dimension of its source's neighbours) -> how it lies in shared memory, if at all
OperandMemory = Callable[[int, Shape, int], SharedEncoding | None]

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

    An instruction with ``memory`` reads operands from shared memory and runs on its own: its dots become
    ``ttng.warp_group_dot``.  ``memory(index, shape, contiguous)`` says how an operand of ``shape`` whose source has
    neighbours along dimension ``contiguous`` has to lie; None: it cannot be read so.  Those ``in_registers`` may
    come from registers as well.  ``group_warps`` warps, one after the other along the rows, execute it together;
    along the columns where the instruction is ``transposed``: it computes the transposed dot, ``D^T = B^T A^T``.
    ``group_columns``: those of the narrowest and of the widest instruction of such a group (None: those of ``shape``).
    """

    a: str
    b: str
    accumulator: str
    shape: tuple[int, int, int]
    k_width: int | tuple[int, int]
    encoding: MatrixEncoding
    precisions: tuple[int, ...] = ()
    memory: OperandMemory | None = None
    in_registers: tuple[int, ...] = ()
    group_warps: int = 1
    transposed: bool = False
    group_columns: tuple[int, int] | None = None

    def result(self, shape: Shape, warps: Shape) -> MatrixEncoding:
        """The encoding of a result of ``shape`` over ``warps`` (one number per dimension)."""
        return self.encoding.spread(shape, warps)

    def split(self, shape: Shape, num_warps: int, *, whole_rows: bool) -> Shape:
        """How ``num_warps`` share a result of ``shape``: a count per dimension."""
        if self.group_warps == 1:
            return split_warps(shape, self.shape[:2], num_warps, whole_rows=whole_rows)
        rows, columns = self.shape[1::-1] if self.transposed else self.shape[:2]
        group = WarpGroup(self.group_warps, rows, self.group_columns or (columns, columns))
        if self.transposed:
            across, down = group.split(shape[::-1], num_warps, whole_rows=False)
            return down, across
        return group.split(shape, num_warps, whole_rows=whole_rows)

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
            if row.memory is None or operand_sources(row, dot) is not None:
                return row
    return None


# --- operands in memory -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class OperandSource:
    """Where an instruction with ``memory`` finds an operand: laid out as ``encoding``, or (None) in registers."""

    encoding: SharedEncoding | None


def operand_sources(row: MatrixInstruction, dot: ir.Operation) -> tuple[OperandSource, OperandSource] | None:
    """How ``row``, which reads from memory, gets the operands of ``dot``; None where it cannot, or lacks warps.

    What is computed from another dot's result, element by element, stays in registers if it may, and is left to
    other instructions by one that is transposed: these have rows in a thread where the other dot has columns.
    """
    assert row.memory is not None
    if len(shape_of(dot.results[0].type)) != 2 or number_of_module(dot, "ttg.num-warps") % row.group_warps:
        return None
    split = dot_blocks(dot)
    if row.transposed and split:
        return None  # blocks of a cluster split rows and columns of a dot as it is
    found = []
    for index in (0, 1):
        value = dot.operands[index]
        made_of_dot = is_made_of_dot(value)
        if row.transposed and made_of_dot:
            return None
        if index in row.in_registers and (row.transposed or made_of_dot):
            found.append(OperandSource(None))
            continue
        blocks = operand_blocks(split, index)
        encoding = row.memory(index, share(shape_of(value.type), blocks), contiguous_dimension(value))
        if encoding is not None and blocks:
            encoding = replace(encoding, cga_layout=blocks)  # type: ignore[type-var]  # of a vendor that has clusters
        if encoding is None and index not in row.in_registers:
            return None
        found.append(OperandSource(encoding))
    return found[0], found[1]


def _source(value: ir.Value) -> ir.Operation | None:
    """The op that made ``value``; None for arguments."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def _keeps_places(op: ir.Operation) -> bool:
    """Whether each element of the results of ``op`` is made of the operands' elements at its index, in any layout."""
    return isinstance(op.opview, ConvertLayoutOp) or (maps_elements(op.name) and pack_of(op) == 1)


def contiguous_dimension(value: ir.Value) -> int:
    """The dimension that ``value``, as it was loaded, has neighbours along."""
    op = _source(value)
    if op is not None and len(op.operands) == 1 and _keeps_places(op):
        return contiguous_dimension(source_of(op))
    if op is not None and isa(op, TransOp):
        order = list(ir.DenseI32ArrayAttr(op.attributes["order"]))
        return order.index(contiguous_dimension(source_of(op)))
    info = tensor_info(value.type)
    assert info is not None
    if op is not None and isa(op, DescriptorLoadOp):
        return info.rank - 1  # whatever layout its block was given: the last stride of a descriptor is 1
    return vector_order(info.shape, max(info.bitwidth, 8), layouts.of(value.type))[0]


def is_made_of_dot(value: ir.Value) -> bool:
    """Whether ``value`` is computed from a dot's result by elementwise ops alone."""
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
    """How ``num_warps`` share a result of ``shape`` made of instruction tiles ``m x n``: a count per dimension.

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

    return min(_splits(num_warps, len(shape)), key=cost)


@dataclass(frozen=True)
class WarpGroup:
    """``warps`` that execute a matrix instruction together: ``rows`` of it, and ``columns`` of the narrowest and the widest."""

    warps: int
    rows: int
    columns: tuple[int, int]

    def split(self, shape: Shape, num_warps: int, *, whole_rows: bool) -> Shape:
        """How groups share a result of ``shape``: a count of warps per dimension.

        No group goes idle if that can be; then each reads as few operand elements as can be.  ``whole_rows``: see
        :func:`split_warps`.
        """
        (m, n), rows = shape, self.rows
        narrowest, widest = self.columns

        def cost(split: Shape) -> tuple[int, int, int]:
            down, across = split
            idle = max(down * rows // m, 1) * max(across * narrowest // n, 1)
            wide = max(min(n // across, widest), 1)
            read = max(m // (down * rows), 1) * max(n // across // wide, 1) * (rows + wide)
            return idle, across if whole_rows else 0, read

        down, across = min(_splits(num_warps // self.warps, 2), key=cost)
        return down * self.warps, across


def _splits(count: int, rank: int) -> Iterator[Shape]:
    """The ways to write ``count`` as a product of ``rank`` powers of two."""
    if rank == 1:
        yield (count,)
        return
    first = 1
    while first <= count:
        for rest in _splits(count // first, rank - 1):
            yield (first, *rest)
        first *= 2
