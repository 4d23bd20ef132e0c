"""The shared memory that an op needs for itself while it runs, beside the buffers of the program.

An op says how much where it is defined, by the trait :class:`NeedsScratch`; for the ops of the language it is said here, for it follows
from the plans that their lowerings follow.  The table is a target's: :data:`SHARED`, and what its backend adds, or says otherwise of ops
that it lowers in its own way, in ``DefaultPolicy.scratch_measures``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from tri_core.dialects.tt import GatherOp, JoinOp, PointerType, ReduceOp, ScanOp
from tri_core.errors import VerificationError
from tri_core.ir.traits import Trait, source_of
from tri_core.ir.views import cast
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_gpu_dialect import layouts
from tri_gpu_dialect.analysis.agreed_loads import is_agreed
from tri_gpu_dialect.dialect.launch_invariants import known_at_launch
from tri_gpu_dialect.dialect.markers import CONVERSION_BYTES
from tri_gpu_dialect.layouts import BLOCK, LANE, WARP, LinearLayout
from tri_gpu_dialect.plans import views
from tri_gpu_dialect.plans.attributes import flag
from tri_gpu_dialect.plans.conversion import PIECE_BYTES, ThroughShared, plan_conversion
from tri_gpu_dialect.plans.reduction import plan_reduction
from tri_gpu_dialect.plans.scanning import plan_scan

__all__ = [
    "SHARED",
    "NeedsScratch",
    "ScratchMeasure",
    "ScratchMeasures",
    "atomic_scratch_bytes",
    "conversion_bytes",
    "conversion_scratch_bytes",
    "element_bits",
    "element_bytes",
]

#: bytes of the widest access
_ALIGNMENT = 16

#: bytes of a descriptor as copy engines have it, which is written in place
_TENSORMAP_BYTES = 128


def element_bits(type_: Any) -> int:
    """The width of an element of a tensor in registers; pointers have 64 bits."""
    element = type_.element_type if isinstance(type_, ir.ShapedType) else type_
    return 64 if isinstance(element, PointerType) else int(element.width)


def element_bytes(type_: Any) -> int:
    """The bytes of an element in shared memory; i1 takes one."""
    return max(element_bits(type_) // 8, 1)


class NeedsScratch(Trait):
    """Lowering the op takes shared memory of its own while it runs.

    The op's class defines ``scratch_bytes(self)``, how many bytes that is (0: none, for this op), and ``scratch_alignment(self)`` where
    they have to begin at a multiple of more than 16.  The lowering writes them first, has a barrier after its last write, and ends by
    reading them; it gets at them by ``Lowering.scratch(op)``.
    """


@dataclass(frozen=True)
class ScratchMeasure:
    """Scratch memory of an op's lowering: ``bytes(op)`` of shared memory (0: none, for this op), at a
    multiple of ``alignment`` bytes.
    """

    bytes: Callable[[ir.Operation], int]
    alignment: int = _ALIGNMENT


@dataclass(frozen=True, eq=False)
class ScratchMeasures:
    """The measures of a target, by names of ops; an op without one takes what it declares (:class:`NeedsScratch`), or nothing."""

    by_name: Mapping[str, ScratchMeasure]

    def __repr__(self) -> str:
        return f"ScratchMeasures({', '.join(sorted(self.by_name))})"

    def with_measures(self, measures: Mapping[str, ScratchMeasure]) -> ScratchMeasures:
        """These measures and ``measures``, which go before them."""
        return ScratchMeasures(MappingProxyType({**self.by_name, **measures}))

    def bytes(self, op: ir.Operation) -> int:
        """Bytes of shared memory that lowering ``op`` takes; 0 for most ops.

        VerificationError where the target's measure, or an op that declares :class:`NeedsScratch`, gives no number of bytes.
        """
        name = op.name
        measure = self.by_name.get(name)
        if measure is not None:
            return _measured(op, measure)
        return _declared(op) if NeedsScratch.declared_by(name) else 0

    def alignment(self, op: ir.Operation) -> int:
        """Bytes that the memory of :meth:`bytes` begins at a multiple of."""
        measure = self.by_name.get(op.name)
        if measure is not None:
            return measure.alignment
        declared = (
            getattr(op.opview, "scratch_alignment", None) if NeedsScratch.declared_by(op.name) else None
        )
        return _ALIGNMENT if declared is None else int(declared())


def _measured(op: ir.Operation, measure: ScratchMeasure) -> int:
    size = measure.bytes(op)
    if not isinstance(size, int) or size < 0:
        raise VerificationError(
            f"the target's measure of the scratch memory of {op.name} gives {size!r}, no number of bytes",
            location=source_location(op.location),
            remedy=f"correct what the backend's DefaultPolicy.scratch_measures has for {op.name}",
        )
    return size


def _declared(op: ir.Operation) -> int:
    measure = getattr(op.opview, "scratch_bytes", None)
    size = measure() if callable(measure) else None
    if not isinstance(size, int) or size < 0:
        raise VerificationError(
            f"{op.name} declares NeedsScratch and does not say how many bytes"
            + ("" if measure is None else f": {size!r}"),
            location=source_location(op.location),
            remedy=f"have {type(op.opview).__name__}.scratch_bytes(self) return a number of bytes",
        )
    return size


def conversion_bytes(op: ir.Operation) -> int:
    """Bytes of shared memory that a conversion in the module of ``op`` takes at most: what goes beyond is done in pieces."""
    return _number_of_module(op)


def _number_of_module(op: ir.Operation) -> int:
    while op.parent is not None:
        op = op.parent.operation
    given = op.attributes.get(CONVERSION_BYTES, None)
    return PIECE_BYTES if given is None else int(ir.IntegerAttr(given).value)


def conversion_scratch_bytes(op: ir.Operation, source: LinearLayout, result: LinearLayout, bits: int) -> int:
    """Bytes that ``op`` takes to convert a tensor with elements of ``bits`` from one layout to another."""
    plan = plan_conversion(source, result, bits, piece_bytes=conversion_bytes(op))
    return plan.scratch_bytes if isinstance(plan, ThroughShared) else 0


def _conversion(op: ir.Operation, source: LinearLayout, result: ir.Value) -> int:
    return conversion_scratch_bytes(op, source, layouts.of(result.type), element_bits(result.type))


def _convert(op: ir.Operation) -> int:
    return _conversion(op, layouts.of(source_of(op).type), op.results[0])


def _expand_dims(op: ir.Operation) -> int:
    return _conversion(op, views.insert_dim(layouts.of(source_of(op).type), _axis(op)), op.results[0])


def _reshape(op: ir.Operation) -> int:
    source, result = layouts.of(source_of(op).type), op.results[0]
    free = flag(op, "allow_reorder")
    if free and views.interchangeable(source, layouts.of(result.type)):
        return 0
    return _conversion(op, views.row_major(source, list(result.type.shape)), result)


def _trans(op: ir.Operation) -> int:
    order = list(ir.DenseI32ArrayAttr(op.attributes["order"]))
    return _conversion(op, views.permuted(layouts.of(source_of(op).type), order), op.results[0])


def _join(op: ir.Operation) -> int:
    return _conversion(op, views.joined(layouts.of(cast(op, JoinOp).lhs.type)), op.results[0])


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


def atomic_scratch_bytes(op: ir.Operation) -> int:
    """Bytes of an atomic operation on memory with result 0.

    Of threads that hold an element one does it, and tells the others the old value through memory.
    """
    result = op.results[0]
    if next(iter(result.uses), None) is None:
        return 0
    if not isinstance(result.type, ir.RankedTensorType):
        return 16
    masks = layouts.of(result.type).free_variable_masks()
    # an op without scratch memory has no barrier either, and none may be counted on
    return _whole(result.type) if any(masks.get(dim) for dim in (LANE, WARP, BLOCK)) else 0


def _load(op: ir.Operation) -> int:
    """Bytes of a ``tt.load`` that one thread does for all."""
    return 16 if is_agreed(op) else 0


def _tensormap(_: ir.Operation) -> int:
    return _TENSORMAP_BYTES


def _descriptor(op: ir.Operation) -> int:
    """Bytes of scratch memory after ``create-tensormaps`` has run."""
    return 0 if known_at_launch(op) else _TENSORMAP_BYTES


_MEASURES: dict[str, ScratchMeasure] = {
    "ttg.convert_layout": ScratchMeasure(_convert),
    "tt.expand_dims": ScratchMeasure(_expand_dims),
    "tt.reshape": ScratchMeasure(_reshape),
    "tt.trans": ScratchMeasure(_trans),
    "tt.join": ScratchMeasure(_join),
    "tt.reduce": ScratchMeasure(_reduce),
    "tt.scan": ScratchMeasure(_scan),
    "tt.gather": ScratchMeasure(_gather),
    "tt.histogram": ScratchMeasure(_histogram),
    "tt.load": ScratchMeasure(_load),
    "tt.atomic_rmw": ScratchMeasure(atomic_scratch_bytes),
    "tt.atomic_cas": ScratchMeasure(atomic_scratch_bytes),
    "tt.atomic_load": ScratchMeasure(atomic_scratch_bytes),
    "tt.atomic_poll": ScratchMeasure(atomic_scratch_bytes),
    "ttg.tensormap_create": ScratchMeasure(_tensormap, _TENSORMAP_BYTES),
    "tt.make_tensor_descriptor": ScratchMeasure(_descriptor),
}

#: the measures of the ops that all targets have, which the generic rules lower
SHARED = ScratchMeasures(MappingProxyType(_MEASURES))
