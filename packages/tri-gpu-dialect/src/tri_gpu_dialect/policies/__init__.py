"""Choices of backends for the shared passes: typed records, a module for each family."""

from tri_gpu_dialect.policies.async_dots import AsyncInstruction, OperandMemory
from tri_gpu_dialect.policies.async_units import AsyncPolicy, BlockCopies, Specialization
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy, DotPolicy, PipelinePolicy
from tri_gpu_dialect.policies.matrix import MatrixInstruction
from tri_gpu_dialect.policies.operands import ByCycles, InRows, OperandLayout, Written

__all__ = [
    "DEFAULT_POLICY",
    "AsyncInstruction",
    "AsyncPolicy",
    "BlockCopies",
    "ByCycles",
    "DefaultPolicy",
    "DotPolicy",
    "InRows",
    "MatrixInstruction",
    "OperandLayout",
    "OperandMemory",
    "PipelinePolicy",
    "Specialization",
    "Written",
]
