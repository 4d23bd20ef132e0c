"""``ttg.local_dot``: plain multiply-add whose operands are in shared memory, in a loop over chunks of k.

In each step a thread reads its rows of ``a`` and its columns of ``b`` for one chunk, in vectors, widens them
and adds the products to its accumulators, in order of k.  Rows and columns of a thread lie at constant
distances from its first, so all reads of a step have one address and constant offsets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tri_core.errors import Unsupported
from tri_core.ir.regions import For
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.encodings import PaddedShared, decode
from tri_gpu_dialect.layouts import REGISTER, LinearLayout
from tri_gpu_dialect.lowering.context import Lowered, Lowering, Registers, SharedTensor
from tri_gpu_dialect.lowering.indices import apply, reach
from tri_gpu_dialect.lowering.rules.dot import multiply_add, narrowed, widened, working_type
from tri_gpu_dialect.lowering.table import Rule
from tri_gpu_dialect.lowering.words import bit_width, from_memory

__all__ = ["RULES"]

#: multiply-adds per thread in one step of the loop: enough to hide the reads, few enough to compile fast
STEP = 512

#: a cell of the result, or a row or column of it, relative to the thread's first
Place = tuple[int, ...]

#: a value of ``a`` or ``b`` by its row or column and its place in the chunk
Fragment = dict[tuple[Place, int], ir.Value]


def local_dot(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.local_dot``: operands are widened to the accumulator's type, f32 for narrower floats."""
    result = op.results[0].type
    element, inner = ctx.element(result), op.operands[0].type.shape[-1]
    working = working_type(ctx, element)
    layout = ctx.layout(result)
    images = layout.images(REGISTER)
    given = dict(zip(images, ctx.registers(op.operands[2]), strict=True))
    cells = [layout.unpack_out(image) for image in given]
    totals = widened(ctx, list(given.values()), element, working)
    dot = _Dot(ctx, op, working, cells, _chunk(len(cells), inner))
    made = _loop(ctx, inner, dot.chunk, totals, dot.step)
    by_image = dict(zip(given, narrowed(ctx, made, working, element), strict=True))
    return [[by_image[image] for image in images]]


def _chunk(cells: int, inner: int) -> int:
    """Size of one step along k; a power of two that divides ``inner``."""
    chunk = max(STEP // cells, 1)
    return min(1 << (chunk.bit_length() - 1), inner)


def _loop(
    ctx: Lowering,
    count: int,
    step: int,
    totals: Registers,
    body: Callable[[ir.Value, Registers], Registers],
) -> Registers:
    """``totals`` after ``body(i, totals)`` for i = 0, step, ... below ``count``; kept a loop by the compilers."""
    b = ctx.b
    if count == step:
        return body(b.int_(0), totals)
    types = [t.type for t in totals]
    bounds = [b.int_(n) for n in (0, count, step)]
    keep = {"llvm.loop_annotation": ir.Attribute.parse(_ROLLED)}
    made = ir.Operation.create(
        For.OPERATION_NAME, results=types, operands=[*bounds, *totals], regions=1, attributes=keep
    )
    block = made.regions[0].blocks.append(b.i32, *types)
    with ir.InsertionPoint(block):
        index, *carried = block.arguments
        ir.Operation.create("scf.yield", operands=body(index, carried))
    return list(made.results)


_ROLLED = "#llvm.loop_annotation<unroll = <disable = true>>"


@dataclass
class _Operand:
    """A buffer as this thread reads it: ``start`` is its first row (``a``) or column (``b``) at k = 0.

    Distances are in elements: ``along_k`` from one k to the next, ``across`` by coordinate otherwise.
    """

    ctx: Lowering
    view: SharedTensor
    working: ir.Type
    element: ir.Type
    start: ir.Value
    along_k: int
    across: Place

    def at(self, k: ir.Value) -> _Operand:
        """The same, ``k`` further."""
        b = self.ctx.b
        start = b.gep(self.start, b.mul(k, b.int_(self.along_k)), self.view.element)
        return _Operand(self.ctx, self.view, self.working, self.element, start, self.along_k, self.across)

    def read(self, place: Place, k: int, count: int) -> list[ir.Value]:
        """``count`` elements that follow each other in memory, from ``place`` at ``k``, widened."""
        ctx, b = self.ctx, self.ctx.b
        offset = k * self.along_k + sum(p * d for p, d in zip(place, self.across, strict=True))
        address = b.gep(self.start, b.int_(offset), self.view.element)
        type_ = b.vector_type(self.view.element, count)
        align = count * bit_width(self.view.element) // 8
        vector = ctx.hw.load_shared(b, address, type_, None, align)
        values = [from_memory(b, v, self.view.type) for v in b.unpack(vector)]
        return widened(ctx, values, self.element, self.working)


class _Dot:
    """One dot while it is emitted; ``cells`` are the thread's elements, relative to its first."""

    def __init__(
        self, ctx: Lowering, op: ir.Operation, working: ir.Type, cells: Sequence[Place], chunk: int
    ) -> None:
        self.ctx, self.cells, self.chunk = ctx, cells, chunk
        self.multiply_add = multiply_add(ctx, working)
        self.rows = list(dict.fromkeys(cell[:-1] for cell in cells))
        self.columns = list(dict.fromkeys((*cell[:-2], cell[-1]) for cell in cells))
        first = _first_cell(ctx, ctx.layout(op.results[0].type))
        self.left = _operand(ctx, op.operands[0], working, first[:-1], inner=-1)
        self.right = _operand(ctx, op.operands[1], working, (*first[:-2], first[-1]), inner=-2)

    def step(self, k: ir.Value, totals: Registers) -> Registers:
        """``totals`` with the products of the chunk at ``k``."""
        left, right = self._rows(self.left.at(k)), self._columns(self.right.at(k))
        for i in range(self.chunk):
            totals = [
                self.multiply_add(left[cell[:-1], i], right[(*cell[:-2], cell[-1]), i], total)
                for cell, total in zip(self.cells, totals, strict=True)
            ]
        return totals

    def _rows(self, operand: _Operand) -> Fragment:
        """The chunk of each row, in vectors along k."""
        width = min(self.chunk, self._widest(operand))
        found: Fragment = {}
        for row in self.rows:
            for k in range(0, self.chunk, width):
                found |= {(row, k + i): v for i, v in enumerate(operand.read(row, k, width))}
        return found

    def _columns(self, operand: _Operand) -> Fragment:
        """The chunk of each column, in vectors of columns that follow each other."""
        width = min(self._run(), self._widest(operand))
        found: Fragment = {}
        for k in range(self.chunk):
            for column in self.columns:
                if column[-1] % width == 0:
                    for i, value in enumerate(operand.read(column, k, width)):
                        found[(*column[:-1], column[-1] + i), k] = value
        return found

    def _widest(self, operand: _Operand) -> int:
        return max(self.ctx.target.spec.max_vector_bits // bit_width(operand.view.element), 1)

    def _run(self) -> int:
        """Number of consecutive columns, from a multiple of that number on."""
        have, run = {column[-1] for column in self.columns}, 1
        while all(c ^ run in have for c in have):
            run *= 2
        return run


def _first_cell(ctx: Lowering, layout: LinearLayout) -> list[ir.Value]:
    """The coordinates (i32) of the thread's first element; others are at constant distances from it."""
    inputs = ctx.inputs()
    own = reach(layout, [REGISTER])
    if any(mine & others for mine, others in zip(own, reach(layout, list(inputs)), strict=True)):
        raise Unsupported(
            f"a multiply-add dot whose result is laid out as {layout}", remedy="use a blocked encoding"
        )
    return apply(ctx.b, layout, inputs)


def _operand(
    ctx: Lowering, buffer: ir.Value, working: ir.Type, first: Sequence[ir.Value], inner: int
) -> _Operand:
    """Access to ``buffer`` as an operand; ``first`` are the thread's coordinates without dimension ``inner``,
    k.
    """
    type_, view = buffer.type, ctx.shared_tensor(buffer)
    encoding = decode(type_.encoding)
    rank = len(type_.shape)
    padded = isinstance(encoding, PaddedShared) and encoding.order == tuple(reversed(range(rank)))
    if not padded or [interval for interval, _ in view.padding] != [type_.shape[-1]] or any(view.origin):
        raise Unsupported(f"a dot of the buffer {type_}", remedy="use row-major buffers padded by rows")
    strides = [1] * rank
    size = type_.shape[-1] + view.padding[0][1]
    for d in reversed(range(rank - 1)):
        strides[d], size = size, size * type_.shape[d]
    along_k = strides.pop(inner)
    start, b = view.base, ctx.b
    for coordinate, stride in zip(first, strides, strict=True):
        start = b.gep(start, b.mul(coordinate, b.int_(stride)), view.element)
    return _Operand(ctx, view, working, type_.element_type, start, along_k, tuple(strides))


RULES: dict[str, Rule] = {"ttg.local_dot": local_dot}
