"""Loads of dots' operands whose neighbours in memory are across k get neighbours along k in a thread too.

A lane of the matrix unit wants neighbours along k.  A thread that has a small block of the operand, as wide as the
vectors of its loads and as deep as an instruction's neighbours, writes it to LDS in vectors along k: the transposition
takes place among its registers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.mlir import ir
from tri_gpu_dialect import layouts
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.edit import all_ops, functions
from tri_gpu_dialect.encodings import Blocked, DotOperand, MatrixEncoding
from tri_gpu_dialect.layouts import REGISTER
from tri_gpu_dialect.transforms.layout.coalesce import lay_out

__all__ = ["TransposeInThread"]


@dataclass(frozen=True)
class TransposeInThread(Pass):
    """See the module; at ``ttgir.matmul``, where operands have their layouts and loads may still get others."""

    name: ClassVar[str] = "amdg-transpose-in-thread"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Change the layouts of loads in every function of ``module``."""
        for function in functions(module):
            for op in all_ops(function):
                if op.name == "ttg.convert_layout":
                    _transpose(op)


def _transpose(conversion: ir.Operation) -> None:
    """Give the load behind ``conversion`` to an operand as many rows of k a thread as it has to spare, up to the operand's."""
    wanted, load = encoding_of(conversion.results[0]), _load_behind(conversion.operands[0])
    if not isinstance(wanted, DotOperand) or not isinstance(wanted.parent, MatrixEncoding) or load is None:
        return
    own, inner = encoding_of(load.results[0]), len(load.results[0].type.shape) - 1 - wanted.op_idx
    if not isinstance(own, Blocked) or own.order[0] == inner:
        return
    size = list(own.size_per_thread)
    registers = layouts.of(load.results[0].type).in_size(REGISTER)
    size[inner] = min(wanted.k_width, max(registers // size[own.order[0]], 1))
    if tuple(size) != own.size_per_thread:
        lay_out(load, replace(own, size_per_thread=tuple(size)))


def _load_behind(value: ir.Value) -> ir.Operation | None:
    """The load that ``value`` is, in another layout or float type."""
    while not isinstance(value.owner, ir.Block):
        op = value.owner.operation
        if op.name == "tt.load":
            return op
        if op.name not in ("ttg.convert_layout", "tt.fp_to_fp"):
            return None
        value = op.operands[0]
    return None
