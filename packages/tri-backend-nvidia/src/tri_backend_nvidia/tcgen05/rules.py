"""The lowering rules of tensor memory, by ``tcgen05``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tri_backend_nvidia.machine import (
    InstructionDescriptor,
    TensorCommitOp,
    TensorFenceOp,
    TensorMemoryAllocOp,
    TensorMemoryDeallocOp,
    TensorMemoryLoadOp,
    TensorMemoryStoreOp,
    TensorMemoryWaitOp,
    TensorMultiplyOp,
    TensorMultiplyTensorOp,
)
from tri_backend_nvidia.mma.memory import ATOM_ROWS, FourBitShared, NvmmaShared
from tri_backend_nvidia.mma.table import PTX_TYPES
from tri_backend_nvidia.tcgen05 import ops
from tri_backend_nvidia.tcgen05.encoding import BLOCK_M, COLUMN, GROUP_WARPS, ROW, TensorMemory
from tri_backend_nvidia.tcgen05.scales import TensorMemoryScales
from tri_backend_nvidia.tcgen05.tmem_operands import TensorMemoryOperand
from tri_core.api import Target, Unsupported
from tri_core.ir.views import cast
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.encodings import Encoding, decode
from tri_gpu_dialect.layouts import LANE, OFFSET, REGISTER, WARP, LinearLayout, layout_for
from tri_gpu_dialect.layouts.shared import pad_offset
from tri_gpu_dialect.lowering import Builder, Lowered, Lowering, LoweringTable
from tri_gpu_dialect.lowering.indices import apply
from tri_gpu_dialect.lowering.table import Rule
from tri_gpu_dialect.lowering.words import to_memory

__all__ = [
    "K_BYTES",
    "RULES",
    "OperandTiles",
    "TensorMemoryBuffer",
    "add_rules",
    "descriptor_attributes",
    "fence",
    "first_thread",
    "is_moved_as",
]

#: bits of a descriptor's address; it counts pieces of 16 bytes
_ADDRESS, _PIECE_BITS = (1 << 18) - 1, 4
#: bit 46 of a descriptor, which is always set, and its swizzling modes from bit 61 on, in the high word
_CONSTANT, _SWIZZLE = 1 << 14, {128: 2 << 29, 64: 4 << 29, 32: 6 << 29}
#: kind of instruction by PTX type of A
_KINDS = {"f16": "f16", "bf16": "f16", "tf32": "tf32", "s8": "i8", "e4m3": "f8f6f4", "e5m2": "f8f6f4"}
#: columns that one instruction moves to or from registers, at most
_WIDEST = 64
#: bits of the number of a warp in a group that shares the lanes
_GROUP_BITS = GROUP_WARPS.bit_length() - 1
#: bytes along k of one instruction
K_BYTES = 32


@dataclass(frozen=True)
class TensorMemoryBuffer:
    """A buffer in tensor memory: the address (i32) of its first column."""

    address: ir.Value

    def parts(self) -> list[ir.Value]:
        """The address."""
        return [self.address]

    def rebuilt(self, parts: list[ir.Value]) -> TensorMemoryBuffer:
        """The same at another address."""
        return replace(self, address=parts[0])


def fence(kind: str) -> None:
    """``tcgen05.fence::KIND``."""
    TensorFenceOp.build([], (), {"kind": ir.StringAttr.get(kind)})


def _number(ctx: Lowering, op: ir.Operation, name: str) -> ir.Attribute:
    return ir.IntegerAttr.get(ctx.b.i32, ir.IntegerAttr(op.attributes[name]).value)


def _first_warp(ctx: Lowering) -> ir.Value:
    return ctx.b.cmp("eq", ctx.warp, ctx.b.int_(0))


def first_thread(ctx: Lowering) -> ir.Value:
    """The thread that starts dots, and commits them: always the same one."""
    return ctx.b.cmp("eq", ctx.thread, ctx.b.int_(0))


# --- allocation -------------------------------------------------------------------------------------------


def alloc(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.tmem_alloc``: by the first warp."""
    slot = ctx.shared_tensor(cast(op, ops.TensorMemoryAllocOp).slot).base
    TensorMemoryAllocOp.build([slot, _first_warp(ctx)], (), {"columns": _number(ctx, op, "columns")})
    fence("before_thread_sync")
    return []


def dealloc(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.tmem_dealloc``: by the first warp, when all have read."""
    fence("before_thread_sync")
    ctx.barrier()
    fence("after_thread_sync")
    address = ctx.b.load(ctx.shared_tensor(cast(op, ops.TensorMemoryDeallocOp).slot).base, ctx.b.i32)
    TensorMemoryDeallocOp.build([address, _first_warp(ctx)], (), {"columns": _number(ctx, op, "columns")})
    return []


def view(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.tmem_view``."""
    b = ctx.b
    fence("after_thread_sync")
    base = b.load(ctx.shared_tensor(cast(op, ops.TensorMemoryViewOp).slot).base, b.i32)
    return [TensorMemoryBuffer(b.add(base, b.int_(ir.IntegerAttr(op.attributes["column"]).value)))]


def order(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.tmem_order``."""
    fence("after_thread_sync")
    return []


def index(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.tmem_index``."""
    b, buffer = ctx.b, ctx.expect(cast(op, ops.TensorMemoryIndexOp).src, TensorMemoryBuffer)
    stride = b.int_(ir.IntegerAttr(op.attributes["columns"]).value)
    return [
        TensorMemoryBuffer(
            b.add(buffer.address, b.mul(ctx.scalar(cast(op, ops.TensorMemoryIndexOp).index), stride))
        )
    ]


# --- registers --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Moves:
    """Placement of a tensor's registers in a buffer: columns in runs, and the start of each warp's own.

    ``runs``: (first column, the register of each); ``moved``: from a warp to a distance of columns.
    """

    runs: tuple[tuple[int, tuple[int, ...]], ...]
    moved: LinearLayout
    #: the registers that hold the same element as another, and which
    same: Mapping[int, int]
    #: the registers whose elements share a column, by the first of them
    packs: Mapping[int, tuple[int, ...]]

    @classmethod
    def of(cls, tensor: ir.Type, buffer: ir.Type) -> _Moves:
        shape = tuple(tensor.shape)
        encoding = decode(buffer.encoding)
        assert isinstance(encoding, TensorMemory | TensorMemoryOperand | TensorMemoryScales)
        per = 1 if isinstance(encoding, TensorMemory) else encoding.per_column
        places = layout_for(encoding, shape).pseudo_invert()
        registers = layout_for(decode(tensor.encoding), shape)

        def place(basis: tuple[int, ...]) -> tuple[int, int]:
            found = places.apply(dict(zip(registers.out_dims, basis, strict=True)))
            return int(found[ROW]), int(found[COLUMN])

        lanes = [place(basis) for basis in registers.bases[LANE]]
        warps = [place(basis) for basis in registers.bases[WARP]]
        own = [(1 << i, 0) for i in range(BLOCK_M.bit_length() - 1)]
        if isinstance(encoding, TensorMemoryScales):  # each quarter has the same
            own[5:] = [(0, 0), (0, 0)]
        if [*lanes, *warps[:2]] != own or any(row or c % per for row, c in warps[2:]):
            raise Unsupported(f"{tensor} in tensor memory", remedy="use #ttng.tensor_memory_rows")
        elements: dict[int, int] = {}
        same: dict[int, int] = {}
        for register, image in enumerate(registers.images(REGISTER)):
            row, element = place(registers.unpack_out(image))
            assert row == 0
            same[register] = elements.setdefault(element, register)
        if any(each - each % per + i not in elements for each in elements for i in range(per)):
            raise Unsupported(
                f"{tensor} in tensor memory", remedy="let a thread have all elements of a column"
            )
        packs = {
            elements[first]: tuple(elements[first + i] for i in range(per))
            for first in elements
            if first % per == 0
        }
        columns = {first // per: register for first, register in elements.items() if first % per == 0}
        bases = [(0,), (0,), *[(c // per,) for _, c in warps[2:]]]
        return cls(_runs(columns), LinearLayout.from_bases({WARP: bases}, ["column"]), same, packs)

    @property
    def idle(self) -> int:
        """The bits of a warp's number that are set in those that have what another has, of the same lanes."""
        bases = self.moved.bases[WARP]
        return sum(1 << i for i, basis in enumerate(bases) if i >= _GROUP_BITS and not any(basis))

    def address(self, ctx: Lowering, base: ir.Value) -> ir.Value:
        """Of the first column of this warp's lanes."""
        b = ctx.b
        lane = b.shl(b.and_(ctx.warp, b.int_(GROUP_WARPS - 1)), 16 + 5)
        address = b.add(base, lane)
        if any(any(basis) for basis in self.moved.bases[WARP]):
            address = b.add(address, apply(b, self.moved, {WARP: ctx.warp})[0])
        return address


def _runs(columns: Mapping[int, int]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Columns that follow each other, in aligned pieces as wide as one instruction moves."""
    found: list[tuple[int, tuple[int, ...]]] = []
    left = sorted(columns)
    while left:
        first, width = left[0], 1
        while (
            width < _WIDEST
            and first % (2 * width) == 0
            and left[: 2 * width] == [*range(first, first + 2 * width)]
        ):
            width *= 2
        found.append((first, tuple(columns[c] for c in left[:width])))
        left = left[width:]
    return tuple(found)


def is_moved_as(tensor: ir.Type, buffer: ir.Type) -> bool:
    """True if instructions move a tensor of type ``tensor`` between registers and a buffer of type ``buffer``."""
    try:
        _Moves.of(tensor, buffer)
    except Unsupported:
        return False
    return True


def load(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.tmem_load``: all at once, then one wait."""
    b, result = ctx.b, op.results[0].type
    source = cast(op, ops.TensorMemoryLoadOp).src
    moves = _Moves.of(result, source.type)
    base = moves.address(ctx, ctx.expect(source, TensorMemoryBuffer).address)
    words: list[ir.Value] = []
    for column, registers in moves.runs:
        words += TensorMemoryLoadOp.build([b.add(base, b.int_(column))], [b.i32] * len(registers))
    words = _wait("ld", words)
    order = [register for _, registers in moves.runs for register in registers]
    element = ctx.storage(result)
    made = {register: b.bitcast(word, element) for register, word in zip(order, words, strict=True)}
    fence("before_thread_sync")
    return [[made[moves.same[register]] for register in range(len(moves.same))]]


def store(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.tmem_store``; elements of less than 32 bits are packed, and of warps that have the same one stores."""
    b, (source, destination) = ctx.b, op.operands
    moves = _Moves.of(source.type, destination.type)
    base = moves.address(ctx, ctx.expect(destination, TensorMemoryBuffer).address)
    given = ctx.registers(source)

    def stores() -> None:
        for column, registers in moves.runs:
            words = [
                b.bitcast(_packed(b, [given[each] for each in moves.packs[register]]), b.i32)
                for register in registers
            ]
            TensorMemoryStoreOp.build([b.add(base, b.int_(column)), *words])
        _wait("st", [])

    if moves.idle:
        b.if_(b.cmp("eq", b.and_(ctx.warp, b.int_(moves.idle)), b.int_(0)), stores)
    else:
        stores()
    fence("before_thread_sync")
    return []


def _packed(b: Builder, elements: list[ir.Value]) -> ir.Value:
    return elements[0] if len(elements) == 1 else b.pack([to_memory(b, element) for element in elements])


def _wait(kind: str, values: list[ir.Value]) -> list[ir.Value]:
    return TensorMemoryWaitOp.build(values, [v.type for v in values], {"kind": ir.StringAttr.get(kind)})


# --- dots -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OperandTiles:
    """An operand in shared memory: the low word of its first descriptor, the high word, and where its tiles are."""

    low: ir.Value
    high: int
    inverse: LinearLayout
    bytes: int
    rows_along_k: bool
    padding: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, ctx: Lowering, op: ir.Operation, index: int) -> OperandTiles:
        """Operand ``index`` of ``op``; Unsupported where it is laid out in another way than instructions read."""
        value, b = op.operands[index], ctx.b
        encoding, view_ = decode(value.type.encoding), ctx.shared_tensor(value)
        bits = _element_bits(encoding)
        if bits is None or len(view_.layout.out_dims) != 2:
            raise Unsupported(
                f"operand {index} of {op.name} in {value.type}", remedy="use a swizzled #ttg.nvmma_shared"
            )
        assert isinstance(encoding, NvmmaShared | FourBitShared)
        inner, width = 1 - index, encoding.swizzling_byte_width
        rows_along_k = (0 if encoding.transposed else 1) == inner
        if not rows_along_k and bits == 32:
            raise Unsupported(
                f"operand {index} of {op.name} in {value.type}", remedy="let the rows run along k"
            )
        # where rows run along m or n, the leading stride leads to the next panel
        leading = 0 if rows_along_k else list(view_.layout.out_sizes.values())[inner] * width
        made = cls(
            b.int_(0),
            ATOM_ROWS * width >> _PIECE_BITS | _CONSTANT | _SWIZZLE[width],
            view_.layout.pseudo_invert(),
            bits // 8,
            rows_along_k,
            view_.padding,
        )
        address = b.and_(b.int_cast(b.ptr_to_int(view_.base), b.i32), b.int_(_ADDRESS))
        start = made.offset(*view_.origin) + (leading >> _PIECE_BITS << 16)
        return replace(made, low=b.add(b.lshr(address, _PIECE_BITS), b.int_(start)))

    def offset(self, row: int, column: int) -> int:
        """Offset of the tile at (row, column), in units of 16 bytes."""
        element = int(self.inverse.apply({"dim0": row, "dim1": column})[OFFSET])
        place = pad_offset(element, self.padding) * self.bytes
        if place & (1 << _PIECE_BITS) - 1:
            raise Unsupported(f"a tile of a matrix instruction's operand at byte {place} of its buffer")
        return place >> _PIECE_BITS


def _element_bits(encoding: Encoding) -> int | None:
    """Bits of an element of a buffer that instructions read; None for another buffer."""
    if isinstance(encoding, FourBitShared):
        return 8
    is_swizzled = isinstance(encoding, NvmmaShared) and encoding.swizzling_byte_width
    return encoding.element_bit_width if isinstance(encoding, NvmmaShared) and is_swizzled else None


def dot(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.warp_group_dot`` onto a buffer in tensor memory: started by one thread."""
    left, right, total, add = op.operands
    b = OperandTiles.of(ctx, op, 1)
    buffer, encoding = ctx.expect(total, TensorMemoryBuffer), decode(total.type.encoding)
    assert isinstance(encoding, TensorMemory)
    layout = decode(left.type.encoding)
    a = None if isinstance(layout, TensorMemoryOperand) else OperandTiles.of(ctx, op, 0)
    shape = InstructionDescriptor(
        _KINDS[_ptx_type(left)],
        encoding.block_m,
        encoding.block_n,
        _ptx_type(left),
        _ptx_type(right),
        a is None or a.rows_along_k,
        b.rows_along_k,
    )
    attributes = descriptor_attributes(shape.kind, shape.word, a, b)
    starts = _operand_columns(left.type) if a is None else a.offset
    plan = _steps(encoding, tuple(total.type.shape), left.type.shape[1], starts, b)
    attributes["steps"] = ir.DenseI32ArrayAttr.get(plan)
    fence("after_thread_sync")
    low = ctx.expect(left, TensorMemoryBuffer).address if a is None else a.low
    make = TensorMultiplyTensorOp if a is None else TensorMultiplyOp
    make.build([buffer.address, low, b.low, ctx.scalar(add), first_thread(ctx)], (), attributes)
    return [buffer]


def _ptx_type(value: ir.Value) -> str:
    return PTX_TYPES[str(value.type.element_type)]


def _operand_columns(type_: ir.Type) -> Callable[[int, int], int]:
    """Function from (row, column) of a tile of A to its first column, in a buffer in tensor memory of
    ``type_``.
    """
    encoding = decode(type_.encoding)
    assert isinstance(encoding, TensorMemoryOperand)
    places = layout_for(encoding, tuple(type_.shape)).pseudo_invert()
    return lambda row, k: int(places.apply({"dim0": row, "dim1": k})[COLUMN]) // encoding.per_column


def _steps(
    encoding: TensorMemory,
    shape: tuple[int, ...],
    depth: int,
    a: Callable[[int, int], int],
    b: OperandTiles,
) -> list[int]:
    """The instructions: column of the accumulator, where A is, offset of B."""
    places = layout_for(encoding, shape).pseudo_invert()
    found = []
    for row in range(0, shape[0], encoding.block_m):
        for column in range(0, shape[1], encoding.block_n):
            start = int(places.apply({"dim0": row, "dim1": column})[COLUMN])
            for k in range(0, depth, K_BYTES // b.bytes):
                found += [start, a(row, k), b.offset(k, column)]
    return found


def commit(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.tc_gen5_commit``: by the thread that starts dots."""
    TensorCommitOp.build([ctx.shared_tensor(cast(op, ops.CommitOp).barrier).base, first_thread(ctx)])
    return []


def wait(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.warp_group_dot_wait``, behind a wait for a phase: what follows is ordered after the dots."""
    fence("after_thread_sync")
    return []


RULES: dict[str, Rule] = {
    "ttng.tmem_alloc": alloc,
    "ttng.tmem_dealloc": dealloc,
    "ttng.tmem_view": view,
    "ttng.tmem_index": index,
    "ttng.tmem_order": order,
    "ttng.tmem_load": load,
    "ttng.tmem_store": store,
    "ttng.tc_gen5_commit": commit,
    "ttg.warp_group_dot": dot,
    "ttg.warp_group_dot_wait": wait,
}


def descriptor_attributes(
    kind: str, word: int, a: OperandTiles | None, b: OperandTiles
) -> dict[str, ir.Attribute]:
    """Those of a dot: its kind, the instruction descriptor, the high words of the operands' descriptors.

    ``a``: None where it is in tensor memory, and has none.
    """
    i32, i64 = (ir.IntegerType.get_signless(bits) for bits in (32, 64))
    left = {} if a is None else {"a_high": ir.IntegerAttr.get(i64, a.high)}
    return left | {
        "kind": ir.StringAttr.get(kind),
        "descriptor": ir.IntegerAttr.get(i32, word),
        "b_high": ir.IntegerAttr.get(i64, b.high),
    }


def add_rules(table: LoweringTable, target: Target) -> None:
    """Add them to ``table`` where ``target`` has tensor memory."""
    if target.has("tcgen05"):
        table.update(RULES)
