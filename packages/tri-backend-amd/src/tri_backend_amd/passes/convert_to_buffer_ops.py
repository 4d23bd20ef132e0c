"""Loads, stores and relaxed atomics by pointers become buffer operations: a scalar pointer, and a tensor of 32-bit offsets."""

from __future__ import annotations

from typing import Any, ClassVar

from tri_backend_amd.dialect.block import UNIFORM
from tri_backend_amd.lowering.buffers import place_of
from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import AddPtrOp, LoadOp, PointerType, StoreOp
from tri_core.dialects.tt.enums import MemSemantic
from tri_core.dialects.tt.memory import AtomicRmwOp
from tri_core.errors import InternalError
from tri_core.ir.rewriting import attributes_of, erase_dead, replace_with
from tri_core.ir.traits import moves_data, source_of
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir, run_passes
from tri_core.passes.rewriting import make, producer
from tri_core.remarks import declined
from tri_gpu_dialect.edit import all_ops, functions

__all__ = ["ConvertToBufferOps"]

_WIDTH = 32
_SIZES = "operandSegmentSizes"


@dataclass(frozen=True)
class ConvertToBufferOps(Pass):
    """Converts what is known to lie in a buffer; the rest keeps its pointers.

    That is: pointers that are computed from a parameter by offsets, whose intervals lie in 2 GiB, or whose array does.
    Pointers that take other ways (a loop carries them) are left to the lowering.
    """

    name: ClassVar[str] = "amdg-convert-to-buffer-ops"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite every access of a tensor."""
        for function in functions(module):
            for op in all_ops(function):
                if _converts(op.opview):
                    _convert(op, op.opview)
            erase_dead(function)  # pointers that nobody asks for any more
        # offsets that several accesses share
        run_passes(module, "cse")


def _convert(op: ir.Operation, view: Any) -> None:
    pointers = view.ptr
    if not isinstance(pointers.type, ir.RankedTensorType):
        return
    place = place_of(pointers, _pointee_bytes(pointers.type))
    if place is None:
        why = "neither the array nor what is accessed of it is known to be below 2 GiB"
        declined(ConvertToBufferOps.name, op, "addresses have 64 bits: {}", why)
        return
    if not _reaches(pointers, place.base):
        why = "pointers are not a parameter's, moved by elements"
        declined(ConvertToBufferOps.name, op, "addresses have 64 bits: {}", why)
        return
    offsets = _Offsets(op, place.base).of(pointers)
    if offsets is None:
        return
    name, values, others = _parts(view)
    given = [v for v in others if v is not None]
    counts = [*(1 for _ in values), 1, 1, 0, *(int(v is not None) for v in others)]
    operands = [*values, place.base, offsets, *given]
    if isinstance(view, AtomicRmwOp):  # the value stands behind the place
        operands = [place.base, offsets, *values, *given]
    made = ir.Operation.create(
        name,
        results=[r.type for r in op.results],
        operands=operands,
        attributes=attributes_of(op, {_SIZES: ir.DenseI32ArrayAttr.get(counts)}),
        loc=op.location,
        ip=ir.InsertionPoint(op),
    )
    replace_with(op, list(made.results))


def _parts(view: Any) -> tuple[str, list[ir.Value], list[ir.Value | None]]:
    """The name of the buffer operation for ``view``, the values that it takes, and what it may have beside."""
    if isinstance(view, LoadOp):
        return "amdg.buffer_load", [], [view.mask, view.other]
    if isinstance(view, StoreOp):
        return "amdg.buffer_store", [view.value], [view.mask]
    return "amdg.buffer_atomic_rmw", [view.val], [view.mask]


def _converts(view: Any) -> bool:
    """Loads, stores, and atomics that order nothing else."""
    if isinstance(view, AtomicRmwOp):
        return MemSemantic(view.sem.value) is MemSemantic.RELAXED
    return isinstance(view, (LoadOp, StoreOp))


def _pointee_bytes(type_: ir.Type) -> int:
    pointee = PointerType(type_.element_type).pointee_type
    return max(getattr(pointee, "width", 64), 8) // 8


def _reaches(pointers: ir.Value, base: ir.Value) -> bool:
    """True if ``pointers`` are ``base`` moved only by offsets in elements of the same size."""
    value = pointers
    while value != base:
        op = producer(value)
        if op is None or not (isa(op, AddPtrOp) or moves_data(op)) or len(op.operands) > 2:
            return False
        if _element(op.results[0].type) != _element(source_of(op).type):
            return False
        value = source_of(op)
    return True


def _element(type_: ir.Type) -> ir.Type:
    return type_.element_type if isinstance(type_, ir.RankedTensorType) else type_


@dataclass(frozen=True)
class _Offsets:
    """Offsets from ``base``, made before ``at``; wide ones are cut to 32 bits, modulo which those in a buffer are right."""

    at: ir.Operation
    base: ir.Value

    def of(self, pointers: ir.Value) -> ir.Value | None:
        """Offsets of ``pointers`` from the base, None for none."""
        if pointers == self.base:
            return None
        op = producer(pointers)
        if op is None:
            raise InternalError(f"{pointers} was found to be made from {self.base}")
        before = self.of(source_of(op))
        if isa(op, AddPtrOp):
            moved = self._cut(cast(op, AddPtrOp).offset)
            if before is None:
                return moved
            attributes = {UNIFORM: op.attributes[UNIFORM]} if UNIFORM in op.attributes else {}
            return make(self.at, "arith.addi", moved.type, [before, moved], attributes)
        if before is None:
            return None
        return make(self.at, op.name, _like(op.results[0].type, before), [before], attributes_of(op))

    def _cut(self, offset: ir.Value) -> ir.Value:
        element = _element(offset.type)
        if element.width == _WIDTH:
            return offset
        name = "arith.trunci" if element.width > _WIDTH else "arith.extsi"
        narrow = ir.IntegerType.get_signless(_WIDTH)
        return make(self.at, name, _in(offset.type, narrow), [offset])


def _like(type_: ir.Type, value: ir.Value) -> ir.Type:
    return _in(type_, _element(value.type))


def _in(type_: ir.Type, element: ir.Type) -> ir.Type:
    """``element`` in the shape and layout of ``type_``."""
    if not isinstance(type_, ir.RankedTensorType):
        return element
    return ir.RankedTensorType.get(type_.shape, element, type_.encoding)
