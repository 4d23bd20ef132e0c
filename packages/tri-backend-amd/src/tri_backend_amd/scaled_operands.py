"""Operands of a scaled dot (``tt.dot_scaled``), decoded for both lowerings: by an instruction, or by
conversions and a plain dot.
"""

from __future__ import annotations

from typing import Any

from tri_backend_amd.dialect.microscaling import source_of
from tri_backend_amd.mfma.scaled_forms import GROUP, ScaledForm, per_byte, scaled_forms
from tri_backend_amd.mfma.work import work
from tri_core.dialects.tt import BitcastOp
from tri_core.dialects.tt.enums import ScaleDotElemType
from tri_core.ir.views import defining_op
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.dialect import ConvertLayoutOp
from tri_gpu_dialect.types import shape_of

__all__ = ["ScaledOperand", "bare", "form_for", "operands_of"]


@dataclass(frozen=True)
class ScaledOperand:
    """Operand ``number`` of a scaled dot."""

    number: int
    value: ir.Value
    scale: ir.Value | None
    format: ScaleDotElemType
    k_pack: bool

    @property
    def is_small(self) -> bool:
        """True if its elements have fewer bits than those of plain instructions."""
        return source_of(int(self.format)) is not None

    @property
    def is_scaled(self) -> bool:
        """True if it is in a microscaling format: small numbers, those of 4 bits packed along k, and an e8m0
        for each 32 of them.
        """
        if not self.is_small or self.scale is None or not self.k_pack:
            return False
        integers = isinstance(self.scale.type.element_type, ir.IntegerType)
        return integers and self.depth == GROUP * shape_of(self.scale.type)[-1]

    @property
    def depth(self) -> int:
        """Numbers along k."""
        size: int = shape_of(self.value.type)[-1 - self.number]
        return size * per_byte(self.format)


def operands_of(op: ir.Operation) -> list[ScaledOperand]:
    """Both operands of ``op``, a ``tt.dot_scaled``."""
    view: Any = op.opview
    formats = [ScaleDotElemType(each.value) for each in (view.a_elem_type, view.b_elem_type)]
    packs = [
        bool(ir.IntegerAttr(op.attributes[name]).value) if name in op.attributes else True
        for name in ("lhs_k_pack", "rhs_k_pack")
    ]
    scales = [view.a_scale, view.b_scale]
    return [
        ScaledOperand(n, op.operands[n], scale, format_, pack)
        for n, (scale, format_, pack) in enumerate(zip(scales, formats, packs, strict=True))
    ]


def form_for(op: ir.Operation, processor: str, warps: int, least: int = 0) -> ScaledForm | None:
    """The instruction of ``processor`` that does ``op``, a ``tt.dot_scaled``, soonest; None where none does.

    ``warps`` wavefronts share the dot; ``least`` is the option ``matrix_instr_nonkdim``, 0 without.
    """
    operands, shape = operands_of(op), shape_of(op.results[0].type)
    if len(shape) != 2 or not all(each.is_scaled for each in operands):
        return None
    depth = operands[0].depth
    fitting = [
        form
        for form in scaled_forms(processor, *(each.format for each in operands))
        if shape[0] >= form.m and shape[1] >= form.n and depth >= form.k
    ]
    fitting = [form for form in fitting if form.m == least] or fitting
    return min(fitting, key=lambda f: work(shape, depth, (f.m, f.n, f.k), f.passes, warps), default=None)


def bare(value: ir.Value) -> ir.Value:
    """``value`` without conversions of its layout, as bytes where it comes from bytes."""
    while (before := _before(value)) is not None:
        value = before
    return value


def _before(value: ir.Value) -> ir.Value | None:
    if (conversion := defining_op(value, ConvertLayoutOp)) is not None:
        return conversion.src
    bitcast = defining_op(value, BitcastOp)
    return bitcast.src if bitcast is not None and str(bitcast.src.type.element_type) == "i8" else None
