"""The lowering of dots with block scales: copies of the scales to tensor memory, then the dots, by one thread."""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_nvidia.machine import (
    SCALED_KINDS,
    ScaledDescriptor,
    ScaledKind,
    ScaledStep,
    TensorCopyOp,
    TensorMultiplyScaledOp,
)
from tri_backend_nvidia.mma.scaled_table import ScaledRow
from tri_backend_nvidia.tcgen05.completion import has_scales
from tri_backend_nvidia.tcgen05.encoding import COLUMN, TensorMemory
from tri_backend_nvidia.tcgen05.rules import (
    OperandTiles,
    TensorMemoryBuffer,
    descriptor_attributes,
    fence,
    first_thread,
)
from tri_backend_nvidia.tcgen05.scaled_table import row_for
from tri_backend_nvidia.tcgen05.scales import BLOCK_ROWS, WORD
from tri_core.api import InternalError, Target
from tri_core.dialects.tt.enums import ScaleDotElemType
from tri_core.ir.dots import Dot
from tri_core.ir.views import cast
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.dialect import WarpGroupDotOp
from tri_gpu_dialect.encodings import decode
from tri_gpu_dialect.layouts import OFFSET, LinearLayout, layout_for
from tri_gpu_dialect.layouts.shared import pad_offset
from tri_gpu_dialect.lowering import Lowered, Lowering, LoweringTable

__all__ = ["add_rules", "copy", "dot"]

#: bytes that a descriptor counts in; the stride of eight rows of 16 bytes, and the constant, in the high word of a copy's
_PIECE_BITS, _COPY_HIGH = 4, 128 >> 4 | 1 << 14
_ADDRESS = (1 << 18) - 1


def suits(ctx: Lowering, op: ir.Operation) -> bool:
    """True if the operands of ``op`` have scales."""
    return has_scales(op)


def _format(op: ir.Operation, name: str) -> ScaleDotElemType:
    return ScaleDotElemType(ir.IntegerAttr(op.attributes[f"{name}_elem_type"]).value)


@dataclass(frozen=True)
class _Scales:
    """The scales of an operand: where blocks of them are in tensor memory, and how they come there."""

    buffer: TensorMemoryBuffer
    places: LinearLayout
    shape: tuple[int, int]

    @classmethod
    def of(cls, ctx: Lowering, value: ir.Value) -> _Scales:
        """Those at ``value``, a buffer in tensor memory."""
        rows, groups = value.type.shape
        places = layout_for(decode(value.type.encoding), (rows, groups)).pseudo_invert()
        return cls(ctx.expect(value, TensorMemoryBuffer), places, (rows, groups))

    def at(self, row: int, group: int) -> tuple[int, int]:
        """The column, and the byte there, of the first of the scales (row, group)."""
        return divmod(int(self.places.apply({"dim0": row, "dim1": group})[COLUMN]), WORD)

    def copy(self, ctx: Lowering, source: ir.Value) -> None:
        """Start copies of all blocks from ``source``, a buffer in shared memory."""
        b, view = ctx.b, ctx.shared_tensor(source)
        inverse = view.layout.pseudo_invert()
        address = b.and_(b.int_cast(b.ptr_to_int(view.base), b.i32), b.int_(_ADDRESS))
        plan: list[int] = []
        for group in range(0, self.shape[1], WORD):
            for row in range(0, self.shape[0], BLOCK_ROWS):
                first = {"dim0": view.origin[-2] + row, "dim1": view.origin[-1] + group}
                place = pad_offset(int(inverse.apply(first)[OFFSET]), view.padding)
                plan += [self.at(row, group)[0], place >> _PIECE_BITS]
        attributes = {
            "high": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _COPY_HIGH),
            "steps": ir.DenseI32ArrayAttr.get(plan),
        }
        operands = [self.buffer.address, b.lshr(address, _PIECE_BITS), first_thread(ctx)]
        TensorCopyOp.build(operands, (), attributes)


def copy(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.tmem_copy``: by the thread that starts dots, which follow it."""
    fence("after_thread_sync")
    source, destination = op.operands
    _Scales.of(ctx, destination).copy(ctx, source)
    return []


def dot(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.warp_group_dot`` of operands with scales onto a buffer in tensor memory.

    Scales are in tensor memory, the last two operands; where two more buffers are before these, they are copied from there.
    """
    _, _, total, add, *more = op.operands
    sources, held = more[:-2], more[-2:]
    row = _row(op)
    kind = SCALED_KINDS[row.kind]
    a, b = OperandTiles.of(ctx, op, 0), OperandTiles.of(ctx, op, 1)
    buffer, encoding = ctx.expect(total, TensorMemoryBuffer), decode(total.type.encoding)
    assert isinstance(encoding, TensorMemory)
    left, right = (_name(_format(op, name), row) for name in "ab")
    shape = ScaledDescriptor(
        row.kind,
        encoding.block_m,
        encoding.block_n,
        left,
        right,
        row.scale_name,
        a.rows_along_k,
        b.rows_along_k,
    )
    fence("after_thread_sync")
    scales = [_Scales.of(ctx, value) for value in held]
    for place, source in zip(scales, sources, strict=False):
        place.copy(ctx, source)
    steps = _steps(op, kind, encoding, (a, b), scales)
    attributes = descriptor_attributes(row.kind, shape.word, a, b)
    family = ctx.target.key.arch.endswith("f")
    attributes["vectors"] = ir.StringAttr.get(kind.vectors(family=family))
    attributes["steps"] = ir.DenseI32ArrayAttr.get([v for step in steps for v in step.numbers])
    operands = [buffer.address, a.low, b.low, *(s.buffer.address for s in scales)]
    TensorMultiplyScaledOp.build([*operands, ctx.scalar(add), first_thread(ctx)], (), attributes)
    return [buffer]


def _row(op: ir.Operation) -> ScaledRow:
    """The instruction, as the formats, the scales' type and their number say."""
    formats = {_format(op, name) for name in "ab"}
    scales = cast(op, WarpGroupDotOp).more[1].type
    depth = Dot(op).a.type.shape[1] * (2 if _format(op, "a") == ScaleDotElemType.E2M1 else 1)
    group = depth // scales.shape[1]
    row = row_for(formats, str(scales.element_type), group)
    if row is None:
        raise InternalError(f"no instruction for {Dot(op).a.type} with scales {scales}")
    return row


def _name(format_: ScaleDotElemType, row: ScaledRow) -> str:
    """PTX's name; e2m1 beside wider types is padded."""
    padded = format_ == ScaleDotElemType.E2M1 and row.kind == "mxf8f6f4"
    return "e2m1p" if padded else format_.name.lower()


def _steps(
    op: ir.Operation,
    kind: ScaledKind,
    encoding: TensorMemory,
    operands: tuple[OperandTiles, OperandTiles],
    scales: Sequence[_Scales],
) -> list[ScaledStep]:
    """The instructions, along k last."""
    shape = tuple(Dot(op).c.type.shape)
    places = layout_for(encoding, shape).pseudo_invert()
    # places along k are counted in bytes of a buffer, in which e2m1 is packed
    packs = [2 if _format(op, name) == ScaleDotElemType.E2M1 else 1 for name in "ab"]
    depth = Dot(op).a.type.shape[1] * packs[0]
    found = []
    for row in range(0, shape[0], encoding.block_m):
        for column in range(0, shape[1], encoding.block_n):
            start = int(places.apply({"dim0": row, "dim1": column})[COLUMN])
            for k in range(0, depth, kind.k):
                a = operands[0].offset(row, k // packs[0])
                b = operands[1].offset(k // packs[1], column)
                (a_scale, a_id), (b_scale, b_id) = (
                    s.at(first, k // kind.group) for s, first in zip(scales, (row, column), strict=True)
                )
                found.append(ScaledStep(start, a, b, a_scale, b_scale, a_id, b_id))
    return found


def add_rules(table: LoweringTable, target: Target) -> None:
    """Add the rules to ``table`` where ``target`` has tensor memory."""
    if target.has("tcgen05"):
        table.add("ttg.warp_group_dot", dot, benefit=20, when=suits)
        table.add("ttng.tmem_copy", copy)
