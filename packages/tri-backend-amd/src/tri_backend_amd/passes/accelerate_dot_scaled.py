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
from tri_core.dialects.tt import DotScaledOp
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.analysis import axis_info
from tri_gpu_dialect.edit import all_ops, functions, module_int
from tri_gpu_dialect.policies.matrix import split_warps
from tri_gpu_dialect.transforms.layout.scaled_dots import give_layouts, load_words
from tri_gpu_dialect.types import shape_of

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
                        if each.scale is not None:
                            load_words(bare(each.scale), axes, warps, LANES, _WORD)
                    _give(op, form, processor, warps)


def _give(op: ir.Operation, form: ScaledForm, processor: str, warps: int) -> None:
    split = split_warps(shape_of(op.results[0].type), (form.m, form.n), warps, whole_rows=False)
    encoding = AmdMfma(version=VERSIONS[processor], warps_per_cta=split, instr_shape=(form.m, form.n, form.k))
    operands = operands_of(op)
    # the type of the bytes says nothing that the op does not
    values = [bare(each.value) for each in operands]
    scales = [bare(each.scale) for each in operands if each.scale is not None]
    give_layouts(op, encoding, RUN, values, scales, cast(op, DotScaledOp).c)
