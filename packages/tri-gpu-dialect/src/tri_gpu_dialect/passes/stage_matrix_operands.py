"""Puts operands of matrix instructions that change threads into swizzled shared memory: a buffer and a load.

A conversion to an operand's layout that is more than an exchange within warps goes through shared memory
anyway.  As a buffer in an order that suits the operand it can be read by the target's matrix loads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.mlir import ir
from tri_gpu_dialect import layouts
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.edit import all_ops, functions
from tri_gpu_dialect.encodings import DotOperand, MatrixEncoding
from tri_gpu_dialect.plans import scratch_bytes
from tri_gpu_dialect.plans.operand_memory import operand_memory
from tri_gpu_dialect.types import tensor_info

__all__ = ["StageMatrixOperands", "is_matrix_operand"]


@dataclass(frozen=True)
class StageMatrixOperands(Pass):
    """See the module."""

    name: ClassVar[str] = "stage-matrix-operands"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite the conversions of every function of ``module``."""
        for function in functions(module):
            for op in all_ops(function):
                if op.name == "ttg.convert_layout" and is_matrix_operand(op.results[0]) and scratch_bytes(op):
                    _stage(op)


def is_matrix_operand(value: ir.Value) -> bool:
    """Whether ``value`` is laid out as a matrix instruction's operand, in elements that it can be loaded in."""
    encoding, info = encoding_of(value), tensor_info(value.type)
    if not isinstance(encoding, DotOperand) or not isinstance(encoding.parent, MatrixEncoding):
        return False
    return info is not None and info.bitwidth >= 8


def _stage(op: ir.Operation) -> None:
    source, result = op.operands[0], op.results[0]
    info = tensor_info(source.type)
    assert info is not None
    encoding = operand_memory(info.shape, info.bitwidth, layouts.of(source.type), (layouts.of(result.type),))
    type_ = MemDescType.of(info.shape, info.element_type, encoding.to_attr())
    with ir.InsertionPoint(op), op.location:
        buffer = ir.Operation.create("ttg.local_alloc", results=[type_], operands=[source]).results[0]
        made = ir.Operation.create("ttg.local_load", results=[result.type], operands=[buffer]).results[0]
    result.replace_all_uses_with(made)
    op.erase()
