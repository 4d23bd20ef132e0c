"""Loads of a loop's dots that can be copies straight to LDS get the layout that such copies need.

That of the buffer: see :mod:`tri_backend_amd.direct_copies`.  Either all loads of matrices in a loop get it or none does, and only loops that
are to have three stages or more, since copies are for those.
"""

from __future__ import annotations

from typing import ClassVar

from tri_backend_amd.direct_copies import BITS, DEEP, is_copy, straight
from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import LoadOp
from tri_core.ir.regions import For
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.remarks import declined
from tri_gpu_dialect import layouts
from tri_gpu_dialect.analysis import AxisInfos, axis_info
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.edit import all_ops, block_ops, functions, stages_of
from tri_gpu_dialect.encodings import Blocked, DotOperand, Linear
from tri_gpu_dialect.layouts import Banks
from tri_gpu_dialect.transforms.layout.coalesce import lay_out
from tri_gpu_dialect.transforms.pipeline.copy_buffers import CopyBuffer, readers
from tri_gpu_dialect.types import tensor_info

__all__ = ["LayOutCopies"]


_WHY = f"this one is not in aligned accesses of {BITS} bits along k, with zeros outside of its mask"


@dataclass(frozen=True)
class LayOutCopies(Pass):
    """See the module; at ``ttgir.matmul``, where operands have their layouts and loads may still get others; before passes that change these.

    ``num_stages``: of a loop that does not say otherwise.
    """

    name: ClassVar[str] = "amdg-lay-out-copies"

    num_stages: int = 3

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Change the layouts of loads in every loop of ``module``."""
        target = context.target if context is not None else None
        for function in functions(module):
            loops = [
                op for op in all_ops(function) if isa(op, For) and stages_of(op, self.num_stages) >= DEEP
            ]
            if not loops:
                continue
            axes, banks = axis_info(function), Banks.of(target)
            for loop in loops:
                loads = [op for op in block_ops(For(loop).body) if isa(op, LoadOp) and _is_matrix(op)]
                found = [_layout(load, axes, banks) for load in loads]
                layouts_found = [layout for layout in found if layout is not None]
                if len(layouts_found) == len(loads):
                    for load, layout in zip(loads, layouts_found, strict=True):
                        lay_out(load, layout)
                for load, own in zip(loads, found, strict=True):
                    if own is None:
                        declined(self.name, load, "the loop's loads go through registers: {}", _WHY)


def _is_matrix(load: ir.Operation) -> bool:
    info = tensor_info(load.results[0].type)
    return info is not None and info.rank > 1


def _layout(load: ir.Operation, axes: AxisInfos, banks: Banks) -> Linear | None:
    """The layout that ``load`` needs; None where it can be no copy, or would be read across its rows."""
    info, own = tensor_info(load.results[0].type), encoding_of(load.results[0])
    if info is None or not is_copy(load) or not isinstance(own, Blocked) or info.bitwidth < 8:
        return None
    view, along, count = cast(load, LoadOp), own.order[0], BITS // info.bitwidth
    if any(_depth(reader) != along for reader in readers(load)) or axes.contiguous(view.ptr, along) < count:
        return None
    if view.mask is not None and axes.constant_run(view.mask, along) < count:
        return None
    layout = layouts.of(load.results[0].type)
    made = straight(CopyBuffer.of(load, banks).encoding, layout, info.shape, info.bitwidth)
    return None if made is None else Linear.of(made)


def _depth(reader: ir.Operation) -> int | None:
    """The dimension along k of what ``reader`` gives to a dot."""
    wanted = encoding_of(reader.results[0])
    return 1 - wanted.op_idx if isinstance(wanted, DotOperand) else None
