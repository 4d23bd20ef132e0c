"""The shared memory that an op needs for itself while it runs, beside the buffers of the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tri_core.dialects.tt import GatherOp, JoinOp, PointerType, ReduceOp, ScanOp
from tri_core.ir.traits import source_of
from tri_core.ir.views import cast, isa
from tri_core.mlir import ir
from tri_gpu_dialect import layouts
from tri_gpu_dialect.dialect import TensormapCreateOp
from tri_gpu_dialect.dialect.launch_invariants import known_at_launch
from tri_gpu_dialect.layouts import BLOCK, LANE, WARP, LinearLayout
from tri_gpu_dialect.plans import views
from tri_gpu_dialect.plans.attributes import flag
from tri_gpu_dialect.plans.conversion import ThroughShared, plan_conversion
from tri_gpu_dialect.plans.reduction import plan_reduction
from tri_gpu_dialect.plans.scanning import plan_scan

__all__ = [
    "element_bits",
    "element_bytes",
    "measure_conversion",
    "measure_like",
    "scratch_alignment",
    "scratch_bytes",
]

#: bytes of a descriptor as copy engines have it, which is written in place
_TENSORMAP_BYTES = 128


def element_bits(type_: Any) -> int:
    """The width of an element of a tensor in registers; pointers have 64 bits."""
    element = type_.element_type if isinstance(type_, ir.ShapedType) else type_
    return 64 if isinstance(element, PointerType) else int(element.width)


def element_bytes(type_: Any) -> int:
    """The bytes of an element in shared memory; i1 takes one."""
    return max(element_bits(type_) // 8, 1)


def scratch_bytes(op: ir.Operation) -> int:
    """Bytes of shared memory that lowering ``op`` takes; 0 for most ops."""
    measure = _MEASURES.get(op.name)
    return 0 if measure is None else measure(op)


def _conversion(source: LinearLayout, result: ir.Value) -> int:
    plan = plan_conversion(source, layouts.of(result.type), element_bits(result.type))
    return plan.scratch_bytes if isinstance(plan, ThroughShared) else 0


def _convert(op: ir.Operation) -> int:
    return _conversion(layouts.of(source_of(op).type), op.results[0])


def _expand_dims(op: ir.Operation) -> int:
    return _conversion(views.insert_dim(layouts.of(source_of(op).type), _axis(op)), op.results[0])


def _reshape(op: ir.Operation) -> int:
    source, result = layouts.of(source_of(op).type), op.results[0]
    free = flag(op, "allow_reorder")
    if free and views.interchangeable(source, layouts.of(result.type)):
        return 0
    return _conversion(views.row_major(source, list(result.type.shape)), result)


def _trans(op: ir.Operation) -> int:
    order = list(ir.DenseI32ArrayAttr(op.attributes["order"]))
    return _conversion(views.permuted(layouts.of(source_of(op).type), order), op.results[0])


def _join(op: ir.Operation) -> int:
    return _conversion(views.joined(layouts.of(cast(op, JoinOp).lhs.type)), op.results[0])


def _axis(op: ir.Operation) -> int:
    return int(ir.IntegerAttr(op.attributes["axis"]).value)


def _reduce(op: ir.Operation) -> int:
    plan = plan_reduction(layouts.of(cast(op, ReduceOp).srcs[0].type), _axis(op))
    return plan.scratch_bytes([element_bytes(o.type) for o in op.operands])


def _scan(op: ir.Operation) -> int:
    plan = plan_scan(layouts.of(cast(op, ScanOp).srcs[0].type), _axis(op))
    return plan.scratch_bytes([element_bytes(o.type) for o in op.operands])


def _whole(type_: Any) -> int:
    count = 1
    for size in type_.shape:
        count *= size
    return count * element_bytes(type_)


def _gather(op: ir.Operation) -> int:
    return _whole(cast(op, GatherOp).src.type)


def _histogram(op: ir.Operation) -> int:
    return _whole(op.results[0].type)


def _atomic(op: ir.Operation) -> int:
    """Of threads that hold an element one does it, and tells the others the old value through memory."""
    result = op.results[0]
    if next(iter(result.uses), None) is None:
        return 0
    if not isinstance(result.type, ir.RankedTensorType):
        return 16
    masks = layouts.of(result.type).free_variable_masks()
    # an op without scratch memory has no barrier either, and none may be counted on
    return _whole(result.type) if any(masks.get(dim) for dim in (LANE, WARP, BLOCK)) else 0


def scratch_alignment(op: ir.Operation) -> int:
    """Bytes that the memory of :func:`scratch_bytes` begins at a multiple of."""
    return _TENSORMAP_BYTES if isa(op, TensormapCreateOp) else 16


def _tensormap(_: ir.Operation) -> int:
    return _TENSORMAP_BYTES


def _descriptor(op: ir.Operation) -> int:
    """What it will take when ``create-tensormaps`` has run."""
    return 0 if known_at_launch(op) else _TENSORMAP_BYTES


def measure_like(name: str, *names: str) -> None:
    """Ops called ``names`` take the memory that an op called ``name`` would with their results: they decompose to it."""
    for each in names:
        _MEASURES.setdefault(each, _MEASURES[name])


def measure_conversion(
    name: str, moves: Callable[[ir.Operation], tuple[LinearLayout, LinearLayout, int]]
) -> None:
    """Ops called ``name`` take the memory of a conversion of a tensor from one layout to another, of elements of some bits: ``moves(op)``."""

    def measure(op: ir.Operation) -> int:
        source, result, bits = moves(op)
        plan = plan_conversion(source, result, bits)
        return plan.scratch_bytes if isinstance(plan, ThroughShared) else 0

    _MEASURES[name] = measure


_MEASURES: dict[str, Callable[[ir.Operation], int]] = {
    "ttg.convert_layout": _convert,
    "tt.expand_dims": _expand_dims,
    "tt.reshape": _reshape,
    "tt.trans": _trans,
    "tt.join": _join,
    "tt.reduce": _reduce,
    "tt.scan": _scan,
    "tt.gather": _gather,
    "tt.histogram": _histogram,
    "tt.atomic_rmw": _atomic,
    "tt.atomic_cas": _atomic,
    "tt.atomic_poll": _atomic,
    "ttg.tensormap_create": _tensormap,
    "tt.make_tensor_descriptor": _descriptor,
}
