"""Scaled dots become plain ones whose operands ``amdg.upcast_mxfp`` makes, right where they are loaded.

    c = dot_scaled(a, sa, b, sb, c0)    ->    c = dot(upcast_mxfp(a, sa), upcast_mxfp(b, sb), c0)

A thread's neighbours along k share scales, so the conversion takes them as their load gave them; the operand goes to the matrix
unit by the ways of any operand.  Dots that gfx950's instruction does stay (``amdg-accelerate-dot-scaled``).  What :func:`obstacle` tells of is gone by now: ``decompose-dot-scaled`` has asked it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from tri_backend_amd.scaled_operands import ScaledOperand, bare, form_for, operands_of
from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import DotScaledOp
from tri_core.dialects.tt.enums import InputPrecision, ScaleDotElemType
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.edit import all_ops, convert, functions, module_int
from tri_gpu_dialect.encodings import Blocked, DotOperand, transform
from tri_gpu_dialect.types import tensor_info, tensor_type

__all__ = ["UpcastScaledOperands", "obstacle"]

_WIDE = {ScaleDotElemType.BF16: "bf16", ScaleDotElemType.FP16: "f16"}


def obstacle(op: ir.Operation) -> str | None:
    """Reason that ``op``, a ``tt.dot_scaled``, is not done this way; empty if it needs no report, None if it
    is.
    """
    operands = operands_of(op)
    if len(op.results[0].type.shape) != 2:
        return "batches of scaled dots have no conversion of their own"
    for each in operands:
        if not each.is_small:
            if each.scale is not None:
                return f"scales of {each.format.name.lower()} are products of their own"
            continue
        if each.scale is None or not isinstance(each.scale.type.element_type, ir.IntegerType):
            return "conversions take scales of e8m0"
        if each.format is ScaleDotElemType.E2M1 and not each.k_pack:
            return "numbers of 4 bits are not packed along k"
    return None if any(each.is_small for each in operands) else ""


@dataclass(frozen=True)
class UpcastScaledOperands(Pass):
    """See the module; at ``ttgir.coalesce``, where loads have their layouts and dots none of an instruction's.

    ``least``: the option ``matrix_instr_nonkdim``, 0 without.
    """

    name: ClassVar[str] = "amdg-upcast-scaled-operands"
    required: ClassVar[bool] = True

    least: int = 0

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite the scaled dots of every function of ``module``."""
        processor = context.target.key.arch
        for function in functions(module):
            for op in all_ops(function):
                if not isa(op, DotScaledOp):
                    continue
                if form_for(op, processor, module_int(module, "ttg.num-warps"), self.least) is None:
                    _rewrite(op)


def _rewrite(op: ir.Operation) -> None:
    operands = operands_of(op)
    half = any(each.format is ScaleDotElemType.FP16 for each in operands)
    parent = encoding_of(op.results[0])
    assert parent is not None
    with ir.InsertionPoint(op), op.location:
        compute: ir.Type = ir.F16Type.get() if half else ir.BF16Type.get()
        wide = [_upcast(each, compute) if each.is_small else _cast(each.value, compute) for each in operands]
        at = ir.InsertionPoint(op)
        given = [convert(v, DotOperand(i, parent), at, op.location) for i, v in enumerate(wide)]
        i32 = ir.IntegerType.get_signless(32)
        precision = {"inputPrecision": ir.IntegerAttr.get(i32, int(InputPrecision.IEEE))}
        made = _make("tt.dot", op.results[0].type, [*given, cast(op, DotScaledOp).c], precision)
    op.results[0].replace_all_uses_with(made)
    op.erase()


def _upcast(operand: ScaledOperand, compute: ir.Type) -> ir.Value:
    """The operand times its scales, in the layout of its load."""
    value = bare(operand.value)
    if operand.number:
        value = _transposed(value)
    encoding = encoding_of(value)
    if not isinstance(encoding, Blocked):
        value = _transposed(operand.value) if operand.number else operand.value
        encoding = encoding_of(value)
    assert isinstance(encoding, Blocked)  # what coalescing leaves
    shape = list(value.type.shape)
    if operand.format is ScaleDotElemType.E2M1:
        shape[-1] *= 2
        encoding = replace(
            encoding, size_per_thread=(*encoding.size_per_thread[:-1], 2 * encoding.size_per_thread[-1])
        )
    i32 = ir.IntegerType.get_signless(32)
    kind = {"fp_type": ir.IntegerAttr.get(i32, int(operand.format))}
    assert operand.scale is not None
    type_ = tensor_type(tuple(shape), compute, encoding)
    made = _make("amdg.upcast_mxfp", type_, [value, operand.scale], kind)
    return _transposed(made) if operand.number else made


def _transposed(value: ir.Value) -> ir.Value:
    info = tensor_info(value.type)
    assert info is not None
    assert info.encoding is not None
    order, shape = (1, 0), (info.shape[1], info.shape[0])
    encoding = transform.transposed(info.encoding, order, info.shape)
    attributes = {"order": ir.DenseI32ArrayAttr.get(list(order))}
    return _make("tt.trans", tensor_type(shape, info.element_type, encoding), [value], attributes)


def _cast(value: ir.Value, compute: ir.Type) -> ir.Value:
    info = tensor_info(value.type)
    assert info is not None
    if info.element_type == compute:
        return value
    nearest = {"rounding": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1)}
    return _make("tt.fp_to_fp", tensor_type(info.shape, compute, info.encoding), [value], nearest)


def _make(
    name: str, type_: ir.Type, operands: Sequence[ir.Value], attributes: dict[str, ir.Attribute]
) -> ir.Value:
    return ir.Operation.create(name, results=[type_], operands=list(operands), attributes=attributes).results[
        0
    ]
