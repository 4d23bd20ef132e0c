"""Gives scaled dots to gfx950's MFMA: operands and scales go to the registers that it reads.

    c = dot_scaled(a, sa, b, sb, c0)    ->    the same of dot_op a, dot_scale sa, dot_op b, dot_scale sb, amd_mfma c0

Scales that have four neighbours in memory are loaded by fours, also where there are threads for each alone: four bytes that come alone
are put together by three instructions.  What the instruction does not do is a plain dot of converted operands by now (``amdg-upcast-scaled-operands``).
"""

from __future__ import annotations

from typing import ClassVar

from tri_backend_amd.mfma.encoding import AmdMfma
from tri_backend_amd.mfma.forms import LANES, VERSIONS
from tri_backend_amd.mfma.scaled_forms import RUN, ScaledForm
from tri_backend_amd.scaled_operands import bare, form_for, operands_of
from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import BitcastOp, DotScaledOp, LoadOp
from tri_core.ir.rewriting import attributes_of
from tri_core.ir.traits import source_of
from tri_core.ir.views import cast, defining_op, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.analysis import AxisInfos, axis_info
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.dialect import ConvertLayoutOp
from tri_gpu_dialect.edit import all_ops, convert, functions, module_int
from tri_gpu_dialect.encodings import Blocked, DotOperand, DotScale
from tri_gpu_dialect.policies.matrix import split_warps
from tri_gpu_dialect.transforms.layout.coalesce import lay_out
from tri_gpu_dialect.types import shape_of, tensor_info

__all__ = ["AccelerateDotScaled"]

#: scales in a register
_WORD = 4


@dataclass(frozen=True)
class AccelerateDotScaled(Pass):
    """See the module; at ``ttgir.matmul``, before the passes that lay out the loads of operands.

    ``least``: the option ``matrix_instr_nonkdim``, 0 without.
    """

    name: ClassVar[str] = "amdg-accelerate-dot-scaled"
    required: ClassVar[bool] = True

    least: int = 0

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite the scaled dots of every function of ``module`` that an instruction does."""
        processor = context.target.key.arch
        for function in functions(module):
            dots = [op for op in all_ops(function) if isa(op, DotScaledOp)]
            axes = axis_info(function) if dots else None
            for op in dots:
                warps = module_int(module, "ttg.num-warps")
                form = form_for(op, processor, warps, self.least)
                if form is not None and axes is not None:
                    for each in operands_of(op):
                        _load_words(each.scale, axes, warps)
                    _give(op, form, processor, warps)


def _load_words(scale: ir.Value | None, axes: AxisInfos, warps: int) -> None:
    """Have the load that ``scale`` comes from access a word of a row at once, if there is one."""
    load = None if scale is None else defining_op(bare(scale), LoadOp)
    if load is None:
        return
    info, own = tensor_info(load.result.type), encoding_of(load.result)
    if info is None or not isinstance(own, Blocked) or own.order[0] != 1 or own.size_per_thread[1] >= _WORD:
        return
    if axes.contiguous(load.ptr, 1) >= _WORD:
        lay_out(load.operation, Blocked.make(info.shape, (1, _WORD), (1, 0), warps, LANES))


def _give(op: ir.Operation, form: ScaledForm, processor: str, warps: int) -> None:
    old = encoding_of(op.results[0])
    assert old is not None
    split = split_warps(shape_of(op.results[0].type), (form.m, form.n), warps, whole_rows=False)
    encoding = AmdMfma(version=VERSIONS[processor], warps_per_cta=split, instr_shape=(form.m, form.n, form.k))
    here, location = ir.InsertionPoint(op), op.location
    operands = operands_of(op)
    with here, location:
        # the type of the bytes says nothing that the op does not
        values = [
            convert(bare(each.value), DotOperand(each.number, encoding, RUN), here, location)
            for each in operands
        ]
        scales = [
            convert(bare(each.scale), DotScale(each.number, encoding), here, location)
            for each in operands
            if each.scale is not None
        ]
        total = convert(cast(op, DotScaledOp).c, encoding, here, location)
        made = ir.Operation.create(
            op.name,
            results=[total.type],
            operands=[*values, total, *scales],
            attributes=attributes_of(op),
        )
        back = convert(made.results[0], old, here, location)
    op.results[0].replace_all_uses_with(back)
    op.erase()
    for each in operands:
        _drop(each.value)


def _drop(value: ir.Value) -> None:
    """Erase what made numbers of the bytes of ``value``, if nobody else reads them: a load that is read so is no mere copy."""
    while (op := defining_op(value)) is not None and isa(op, ConvertLayoutOp, BitcastOp):
        if next(iter(value.uses), None) is not None:
            return
        value = source_of(op)
        op.erase()
