"""Ops that XeGPU has no words for, and tensors of no whole pieces: by the rules of the SIMT path, inside of a kernel of this one.

An op of lanes (``does = "simt"``) holds the op of the source as a function of TTIR.  Its operands and results are what sub-groups have
already: a share is a linear layout, so the SIMT path takes it as one of its own, and converts where its rule wants another.
:mod:`simt_rules` lowers the function once lanes are dealt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tri_backend_intel.dialect import Dealt
from tri_backend_intel.xegpu.conversion import Conversion, Known, Pieces, Registers, is_pointers
from tri_backend_intel.xegpu.lane_ops import lanes
from tri_backend_intel.xegpu.layouts import LANES, refusal
from tri_backend_intel.xegpu.shares import COLUMNS, ROWS, Grid, Share
from tri_core.dialects.tt import FuncOp, PointerType, ReturnOp
from tri_core.ir.regions import is_control
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.encodings import Encoding, Linear

__all__ = ["SIMT", "by_simt", "layout_of", "remark_of"]

#: what such an op of lanes does
SIMT = "simt"

Basis = tuple[int, ...]


@dataclass(frozen=True)
class _Part:
    """One argument or result of the function: its type there, its layout, and what it is made of here."""

    type: ir.Type
    encoding: Encoding | None
    values: tuple[tuple[ir.Value, Dealt], ...] = ()


def by_simt(ctx: Conversion, op: ir.Operation) -> list[Known]:
    """Results of ``op`` by the SIMT path's rule for it.  Unsupported, located, for control flow and ops of
    this path.
    """
    if is_control(op) or op.name.startswith("ttig."):
        raise refusal(op, "there is no rule for it")
    outside = _outside(op)
    operands = [_operand(ctx, value) for value in (*op.operands, *outside)]
    results = [_result_types(ctx, value) for value in op.results]
    made = lanes(
        ctx, "simt",
        [pair for part in operands for pair in part.values],
        [pair for pairs in results for pair in pairs],
        op_name=ir.StringAttr.get(op.name),
        function=ir.StringAttr.get(_function(op, outside)),
        operand_parts=ir.DenseI32ArrayAttr.get([len(part.values) for part in operands]),
        operand_layouts=_layouts([part.encoding for part in operands]),
        result_parts=ir.DenseI32ArrayAttr.get([len(pairs) for pairs in results]),
        result_layouts=_layouts([_encoding(ctx, value) for value in op.results]),
    )  # fmt: skip
    parts = iter(made)
    return [
        _known(ctx, value, [next(parts) for _ in pairs])
        for value, pairs in zip(op.results, results, strict=True)
    ]


def remark_of(kernel: ir.Operation) -> str:
    """Remark about ops of ``kernel``, a module of XeGPU, that use the SIMT path's rules, with counts; "" for
    none.
    """
    counts = Counter(
        ir.StringAttr(op.attributes["op_name"]).value for op in all_ops(kernel) if "op_name" in op.attributes
    )
    said = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    return said and f"path: simd, with these ops by the rules of the SIMT path: {said}"


def layout_of(share: Share, grid: Grid) -> Linear:
    """The linear layout of a share: elements of a piece, then pieces, by register; columns of the grid, its rows, copies by warp."""
    rank, dims = len(share.dims), share.dims
    register: list[Basis] = []
    if share.across is not None:
        register += _bases(rank, share.across, 1, dims[share.across].piece)
    for at in reversed(range(rank)):
        register += _bases(rank, at, dims[at].piece, dims[at].count)
    lane = _copies(rank, LANES) if share.along is None else _bases(rank, share.along, 1, LANES)
    warp: list[Basis] = []
    for axis in (COLUMNS, ROWS):
        shared = [i for i, dim in enumerate(dims) if dim.parts > 1 and dim.axis == axis]
        count = grid.parts(axis)
        warp += _bases(rank, shared[0], dims[shared[0]].share, count) if shared else _copies(rank, count)
    warp += _copies(rank, grid.warps // (grid.rows * grid.columns))
    return Linear(rank, tuple(register), tuple(lane), tuple(warp))


def _bases(rank: int, at: int, step: int, count: int) -> list[Basis]:
    """Of the bits of a number below ``count`` that goes along dimension ``at`` in steps."""
    bits = range(count.bit_length() - 1)
    return [tuple(step << bit if i == at else 0 for i in range(rank)) for bit in bits]


def _copies(rank: int, count: int) -> list[Basis]:
    """Of the bits of a number below ``count`` that changes nothing."""
    return [(0,) * rank] * (count.bit_length() - 1)


# --- values -----------------------------------------------------------------------------------------------


def _encoding(ctx: Conversion, value: ir.Value) -> Encoding | None:
    if not isinstance(value.type, ir.RankedTensorType):
        return None
    return layout_of(ctx.share(value), ctx.grid) if ctx.has_pieces(value) else ctx.registers_layout(value)


def _layouts(encodings: Sequence[Encoding | None]) -> ir.Attribute:
    return ir.ArrayAttr.get([ir.UnitAttr.get() if e is None else e.to_attr() for e in encodings])


def _dealt(share: Share) -> Dealt:
    if not share.piece:
        return Dealt.OWN
    if len(share.piece) == 2:
        return Dealt.PIECE
    return Dealt.COLUMN if share.along is None else Dealt.ROW


def _operand(ctx: Conversion, value: ir.Value) -> _Part:
    known = ctx.known[value]
    if isinstance(known, Registers):
        return _Part(value.type, known.encoding, tuple((v, Dealt.OWN) for v in known.values))
    if not isinstance(known, Pieces):
        return _Part(value.type, None, ((ctx.number_of(value), Dealt.OWN),))
    values = _addresses(ctx, value, known) if is_pointers(value.type) else known.values
    dealt = _dealt(known.share)
    return _Part(value.type, layout_of(known.share, ctx.grid), tuple((v, dealt) for v in values))


def _result_types(ctx: Conversion, value: ir.Value) -> list[tuple[ir.Type, Dealt]]:
    if not isinstance(value.type, ir.RankedTensorType):
        return [(ctx.element(value), Dealt.OWN)]
    if not ctx.has_pieces(value):
        return [(t, Dealt.OWN) for t in ctx.types_of(value)]
    share = ctx.share(value)
    element = ctx.i64 if is_pointers(value.type) else ctx.element(value)
    return [(ctx.type_of(share, element), _dealt(share))] * len(share)


def _known(ctx: Conversion, value: ir.Value, parts: list[ir.Value]) -> Known:
    if not isinstance(value.type, ir.RankedTensorType):
        return parts[0]
    if not is_pointers(value.type) or not ctx.has_pieces(value):
        return ctx.tensor(value, parts)
    size = _pointee_bytes(value)
    offsets = [ctx.one("arith.divui", [v, ctx.number(v.type, size)], v.type) for v in parts]
    indices = [ctx.cast(v, ctx.type_of(ctx.share(value), ctx.index)) for v in offsets]
    return Pieces(ctx.share(value), tuple(indices), ctx.number(ctx.i64, 0))


def _addresses(ctx: Conversion, value: ir.Value, pointers: Pieces) -> tuple[ir.Value, ...]:
    """Of each element, in bytes."""
    assert pointers.base is not None
    type_ = ctx.type_of(pointers.share, ctx.i64)
    base, size = ctx.everywhere(pointers.base, type_), ctx.number(type_, _pointee_bytes(value))
    made: dict[ir.Value, ir.Value] = {}
    for offsets in pointers.values:
        if offsets not in made:
            bytes_ = ctx.one("arith.muli", [ctx.cast(offsets, type_), size], type_)
            made[offsets] = ctx.one("arith.addi", [base, bytes_], type_)
    return tuple(made[offsets] for offsets in pointers.values)


def _pointee_bytes(value: ir.Value) -> int:
    return max(int(PointerType(value.type.element_type).pointee_type.width) // 8, 1)


# --- the function -----------------------------------------------------------------------------------------


def _outside(op: ir.Operation) -> list[ir.Value]:
    """Values that regions of ``op`` take from around it."""
    inner = _inner(op)
    own = {result for each in inner for result in each.results}
    own |= {
        a
        for each in (op, *inner)
        for region in each.regions
        for block in region.blocks
        for a in block.arguments
    }
    found: dict[ir.Value, None] = {}
    for each in inner:
        found.update((value, None) for value in each.operands if value not in own)
    return list(found)


def _inner(op: ir.Operation) -> list[ir.Operation]:
    return [each for each in all_ops(op) if each != op] if len(op.regions) else []


def _function(op: ir.Operation, outside: Sequence[ir.Value]) -> str:
    """``op`` alone, as a function of what it takes."""
    types = [value.type for value in (*op.operands, *outside)]
    kind = ir.TypeAttr.get(ir.FunctionType.get(types, [r.type for r in op.results]))
    with op.location:
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            function = ir.Operation.create(
                FuncOp.OPERATION_NAME, regions=1,
                attributes={"sym_name": ir.StringAttr.get("op"), "function_type": kind},
            )  # fmt: skip
        block = function.regions[0].blocks.append(*types)
        with ir.InsertionPoint(block):
            copy = op.clone().operation
            for i in range(len(op.operands)):
                copy.operands[i] = block.arguments[i]
            given = dict(zip(outside, list(block.arguments)[len(op.operands) :], strict=True))
            for each in _inner(copy):
                for i, value in enumerate(each.operands):
                    if value in given:
                        each.operands[i] = given[value]
            ir.Operation.create(ReturnOp.OPERATION_NAME, operands=list(copy.results))
    return str(module.operation.get_asm(enable_debug_info=True))
