"""Has copies round f32 to tf32 where dots of tf32 alone read what they bring.

Instructions of warp groups cut f32 off, which makes every operand smaller in magnitude and sums 7e-4 too small; the copy engine rounds to
nearest for a tensor map of type TFLOAT32, at no cost (docs/measurements/2026-11-22.md, "Copies that round").

Functions in which a dot reads another one's result stay as they are: nothing was measured there.
"""

from __future__ import annotations

from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import DescriptorLoadOp, DotOp, MakeTensorDescriptorOp
from tri_core.dialects.tt.enums import InputPrecision
from tri_core.ir.markers import marker
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.remarks import declined, is_listening
from tri_gpu_dialect.dialect import LocalDeallocOp, WarpGroupDotOp
from tri_gpu_dialect.dialect.launch_invariants import known_at_launch
from tri_gpu_dialect.edit import all_ops, forwards_elements, functions
from tri_gpu_dialect.plans.dot_chains import chained

__all__ = ["ROUNDED", "TmaRoundTf32"]

ROUNDED = marker(
    "ttng.rounded", "descriptors whose copies round to tf32", written=("tma-round-tf32",), read=("lowering",)
)

_DOTS = (WarpGroupDotOp, DotOp)


@dataclass(frozen=True)
class TmaRoundTf32(Pass):
    """See the module; runs after ``remove-layout-conversions``, and marks descriptors that the launch makes."""

    name: ClassVar[str] = "tma-round-tf32"
    required: ClassVar[bool] = True
    former_names: ClassVar[tuple[str, ...]] = ("round-copies",)

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Mark the descriptors of every function of ``module``."""
        for function in functions(module):
            in_chains = any(chained([op for op in all_ops(function) if isa(op, *_DOTS)]))
            if in_chains and not is_listening():
                continue
            for op in all_ops(function):
                if not isa(op, MakeTensorDescriptorOp) or not _is_f32(op) or not _brings_operands(op):
                    continue
                if in_chains:
                    declined(self.name, op, "copies do not round to tf32: a dot reads what another one gives")
                elif not known_at_launch(op):
                    declined(
                        self.name, op, "copies do not round to tf32: the kernel makes the descriptor itself"
                    )
                else:
                    op.attributes[ROUNDED] = ir.UnitAttr.get()


def _is_f32(maker: ir.Operation) -> bool:
    return isinstance(maker.results[0].type.block_type.element_type, ir.F32Type)


def _brings_operands(maker: ir.Operation) -> bool:
    """True if blocks of the descriptor are loaded, as operands of tf32 dots, and it has no other use."""
    loads = [use.owner.operation for use in maker.results[0].uses]
    return bool(loads) and all(isa(op, DescriptorLoadOp) and _is_operand(op.results[0]) for op in loads)


def _is_operand(value: ir.Value) -> bool:
    """True if ``value`` has uses, all of them tf32 dots."""
    uses = [use for use in value.uses if not isa(use.owner.operation, LocalDeallocOp)]
    return bool(uses) and all(_multiplies(use) for use in uses)


def _multiplies(use: ir.OpOperand) -> bool:
    op = use.owner.operation
    if forwards_elements(op):
        return _is_operand(op.results[0])
    if not isa(op, WarpGroupDotOp) or use.operand_number > 1:
        return False
    return bool(ir.IntegerAttr(op.attributes["inputPrecision"]).value == InputPrecision.TF32)
