"""Loads and copies of iterations that there may not be: masked off there, or, where an op has no mask, not run."""

from __future__ import annotations

from collections.abc import Mapping

from tri_core.dialects.tt import LoadOp
from tri_core.ir.access import global_load
from tri_core.ir.rewriting import attributes_of, clone_mapped
from tri_core.ir.views import cast, isa
from tri_core.mlir import ir, scf
from tri_gpu_dialect.dialect import AsyncCopyGlobalToLocalOp
from tri_gpu_dialect.transforms.pipeline.building import build, zeros
from tri_gpu_dialect.types import tensor_info, tensor_type

__all__ = ["masked_unless"]

_Known = Mapping[ir.Value, ir.Value]


def masked_unless(op: ir.Operation, known: _Known, live: ir.Value) -> ir.Operation | None:
    """``op``, a load or an asynchronous copy, of ``known`` operands and masked off unless ``live``; None for other ops.

    A load of another dialect is run where ``live``; elsewhere zeros stand for what it gives, which nobody reads.
    """
    if isa(op, LoadOp):
        load = cast(op, LoadOp)
        return _masked(op, known, live, [load.ptr], load.mask, load.other)
    if isa(op, AsyncCopyGlobalToLocalOp):
        copy = cast(op, AsyncCopyGlobalToLocalOp)
        return _masked(op, known, live, [copy.src, copy.result], copy.mask, copy.other)
    return None if global_load(op) is None else _run_if(op, known, live)


def _run_if(op: ir.Operation, known: _Known, live: ir.Value) -> ir.Operation:
    branch = scf.IfOp(live, [r.type for r in op.results], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        scf.YieldOp(list(clone_mapped(op, dict(known)).results))
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp([zeros(r.type) for r in op.results])
    made: ir.Operation = branch.operation
    return made


def _masked(
    op: ir.Operation,
    known: _Known,
    live: ir.Value,
    first: list[ir.Value],
    mask: ir.Value | None,
    other: ir.Value | None,
) -> ir.Operation:
    operands = [known.get(v, v) for v in first]
    # nothing stands between a copy and the view that it goes to
    before = operands[1].owner.operation if len(first) > 1 else None
    with ir.InsertionPoint.current if before is None else ir.InsertionPoint(before):
        operands.append(_also(None if mask is None else known.get(mask, mask), live, first[0].type))
    if other is not None:
        operands.append(known.get(other, other))
    sizes = [1] * len(first) + [1, int(other is not None)]
    attributes = attributes_of(op, {"operandSegmentSizes": ir.DenseI32ArrayAttr.get(sizes)})
    types = [r.type for r in op.results]
    return ir.Operation.create(op.name, results=types, operands=operands, attributes=attributes)


def _also(mask: ir.Value | None, live: ir.Value, pointers: ir.Type) -> ir.Value:
    """``mask``, where there is one, of ``pointers``, off where not ``live``; a scalar for a scalar."""
    info = tensor_info(pointers)
    if info is not None:
        live = build("tt.splat", [live], [tensor_type(info.shape, live.type, info.encoding)])
    return live if mask is None else build("arith.andi", [mask, live], [live.type])
