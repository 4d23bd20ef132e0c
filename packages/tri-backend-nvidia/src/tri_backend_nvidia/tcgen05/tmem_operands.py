"""Left operands in tensor memory: what threads compute from an accumulator goes back to where the accumulator was, not to shared memory.

An operand is a tensor in the layout of accumulators (attention's probabilities) that one dot reads as its A.  Each thread writes the
columns from which it has read its part of an accumulator before, packed; so nobody has to wait for anybody.  Where no accumulator has
fitting columns that are free meanwhile, the operand has columns of its own, if there are any.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Mapping, Sequence

from tri_backend_nvidia.mma.encoding import TTNG
from tri_backend_nvidia.tcgen05.accumulators import Accumulator, is_placed
from tri_backend_nvidia.tcgen05.encoding import BLOCK_M, COLUMN, ROW, WIDEST, TensorMemoryRows
from tri_core.ir.dots import Dot
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.dialect import LocalAllocOp, LocalDeallocOp, WarpGroupDotOp, WarpGroupDotWaitOp
from tri_gpu_dialect.edit import all_ops, block_ops
from tri_gpu_dialect.encodings import Encoding, decode, encoding
from tri_gpu_dialect.layouts import LinearLayout
from tri_gpu_dialect.types import bitwidth

__all__ = [
    "Life",
    "Operand",
    "PlacedOperand",
    "TensorMemoryOperand",
    "left_operands",
    "overlap",
    "place_operands",
]

Shape = tuple[int, ...]
Life = tuple[int, int]

_COLUMN_BITS = 32
#: columns that an instruction reads of a row of A
_K_COLUMNS = 8


@encoding(TTNG, "tensor_memory_factor")
@dataclass(frozen=True)
class TensorMemoryOperand(Encoding):
    """A of 128 rows and more, packed elements of ``bits``: row i in lane i (PTX ISA 9.0, 9.7.16.10.5).

    Rows come in ``parts``, one after the other; where ``spread``, each begins where its part of an accumulator of 32-bit elements
    does.  Layouts go from (row, column), columns counted in elements.
    """

    bits: int
    parts: int = 1
    spread: bool = False

    def __post_init__(self) -> None:
        if self.bits not in (8, 16, 32) or self.parts < 1 or self.parts & (self.parts - 1):
            raise ValueError(
                f"{self.bits} bits in {self.parts} parts; 8, 16 or 32, and a power of two, are expected"
            )

    @property
    def per_column(self) -> int:
        """Elements of a column."""
        return _COLUMN_BITS // self.bits

    def columns(self, shape: Shape) -> int:
        """Number of columns of an operand of ``shape``."""
        return shape[0] // BLOCK_M * shape[1] // (1 if self.spread else self.per_column)

    def linear_layout(self, shape: Shape) -> LinearLayout:
        """From (row, column) to (dim0, dim1); ValueError for parts that instructions cannot read."""
        m, k = shape
        part = k // self.parts
        if m < BLOCK_M or part < _K_COLUMNS * self.per_column:
            raise ValueError(f"{list(shape)} in {self.parts} parts is less than an instruction reads")
        columns = [(0, 1 << i) for i in range(part.bit_length() - 1)]
        columns += [(0, 0)] * (self.per_column.bit_length() - 1 if self.spread else 0)
        columns += [(0, part << i) for i in range(self.parts.bit_length() - 1)]
        columns += [(BLOCK_M << i, 0) for i in range((m // BLOCK_M).bit_length() - 1)]
        rows = [(1 << i, 0) for i in range(BLOCK_M.bit_length() - 1)]
        return LinearLayout.from_bases({ROW: rows, COLUMN: columns}, {"dim0": m, "dim1": k})


@dataclass(frozen=True)
class Operand:
    """The buffer in shared memory that ``alloc`` fills, and ``dot`` reads; in use over ``life``, in numbers of ops."""

    alloc: ir.Operation
    dot: ir.Operation
    life: Life

    @property
    def source(self) -> ir.Value:
        """The tensor."""
        return cast(self.alloc, LocalAllocOp).src

    @property
    def shape(self) -> Shape:
        """Its shape."""
        return tuple(self.source.type.shape)

    def encoding(self, *, spread: bool) -> TensorMemoryOperand | None:
        """Encoding in tensor memory; None if instructions cannot read it there."""
        rows = decode(self.source.type.encoding)
        assert isinstance(rows, TensorMemoryRows)
        bits = bitwidth(self.source.type.element_type)
        made = TensorMemoryOperand(bits, rows.warps_per_cta[1] if spread else 1, spread)
        fits = self.shape[1] <= WIDEST and self.shape[1] // made.parts >= _K_COLUMNS * made.per_column
        return made if fits else None


def left_operands(function: ir.Operation, numbers: Mapping[ir.Operation, Life]) -> list[Operand]:
    """The operands of ``function`` that may be in tensor memory: of one dot, done in its own block."""
    found = []
    for dot in [op for op in all_ops(function) if isa(op, WarpGroupDotOp) and len(op.operands) <= 4]:
        owner = Dot(dot).a.owner
        if isinstance(owner, ir.Block) or not is_placed(dot.results[0]):
            continue
        alloc, end = owner.operation, _done(dot)
        if end is not None and _is_for(alloc, dot):
            found.append(Operand(alloc, dot, (numbers[alloc][0], numbers[end][1])))
    return found


def _is_for(alloc: ir.Operation, dot: ir.Operation) -> bool:
    """True if ``alloc`` holds a tensor in the layout of accumulators, for ``dot`` alone."""
    value = cast(alloc, LocalAllocOp).src if isa(alloc, LocalAllocOp) else None
    if value is None or alloc.block != dot.block:
        return False
    uses = [(use.owner.operation, use.operand_number) for use in alloc.results[0].uses]
    alone = all(isa(user, LocalDeallocOp) or (user, i) == (dot, 0) for user, i in uses)
    return alone and is_placed(value)


def _done(dot: ir.Operation) -> ir.Operation | None:
    """The wait in the block of ``dot`` behind which it is done."""
    ops, started = block_ops(dot.block), 0
    for op in ops[ops.index(dot) + 1 :]:
        if isa(op, WarpGroupDotWaitOp) and ir.IntegerAttr(op.attributes["pendings"]).value <= started:
            return op
        if any(isa(inner, WarpGroupDotOp, WarpGroupDotWaitOp) for inner in all_ops(op) if inner != op):
            return None
        started += isa(op, WarpGroupDotOp)
    return None


# --- columns ----------------------------------------------------------------------------------------------


def overlap(left: Life, right: Life) -> bool:
    """True if both are live at some point."""
    return left[0] <= right[1] and right[0] <= left[1]


@dataclass(frozen=True)
class PlacedOperand:
    """An operand with its encoding and its first column."""

    operand: Operand
    encoding: TensorMemoryOperand
    column: int

    @property
    def range(self) -> tuple[int, int]:
        """Its columns: the first, and the one behind the last."""
        return self.column, self.column + self.encoding.columns(self.operand.shape)

    @property
    def type(self) -> MemDescType:
        """That of its buffer, without a memory space."""
        source = self.operand.source.type
        return MemDescType.of(tuple(source.shape), source.element_type, self.encoding.to_attr(), mutable=True)


def place_operands(
    found: Sequence[Operand], accumulators: Sequence[tuple[Accumulator, int, int]], end: int, limit: int
) -> list[PlacedOperand]:
    """Columns for those of ``found`` for which there are some.

    ``accumulators`` with their first columns and widths; columns from ``end`` up to ``limit`` are free.
    """
    placed: list[PlacedOperand] = []
    for operand in found:
        made = _over_an_accumulator(operand, accumulators, placed)
        if made is None and (own := operand.encoding(spread=False)) is not None:
            made = PlacedOperand(operand, own, end)
            end = made.range[1] if made.range[1] <= limit else end
        if made is not None and made.range[1] <= limit:
            placed.append(made)
    return placed


def _over_an_accumulator(
    operand: Operand, accumulators: Sequence[tuple[Accumulator, int, int]], placed: Sequence[PlacedOperand]
) -> PlacedOperand | None:
    """``operand`` in the columns of an accumulator of its shape and warps, where nobody else's life overlaps its own."""
    own = operand.encoding(spread=True)
    if own is None:
        return None
    for accumulator, column, width in accumulators:
        alike = (
            tuple(accumulator.type.shape) == operand.shape
            and accumulator.type.encoding == operand.source.type.encoding
        )
        if not alike:
            continue
        made = PlacedOperand(operand, own, column)
        others = [(c.life, (first, first + w)) for c, first, w in accumulators]
        others += [(p.operand.life, p.range) for p in placed]
        span = (column, column + width)
        if not any(overlap(life, operand.life) and _overlap(r, span) for life, r in others):
            return made
    return None


def _overlap(left: tuple[int, int], right: tuple[int, int]) -> bool:
    return left[0] < right[1] and right[0] < left[1]
