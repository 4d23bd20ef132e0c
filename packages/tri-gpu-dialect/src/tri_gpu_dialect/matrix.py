"""Matrix instructions, at their former place: :mod:`tri_gpu_dialect.policies.matrix`."""

from tri_gpu_dialect.policies.async_dots import OperandMemory
from tri_gpu_dialect.policies.matrix import MatrixInstruction, choose, split_warps

__all__ = ["MatrixInstruction", "OperandMemory", "choose", "split_warps"]
