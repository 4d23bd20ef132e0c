"""Where matrix instructions were in the version before: :mod:`tri_gpu_dialect.policies.matrix`."""

from tri_gpu_dialect.policies.matrix import MatrixInstruction, OperandMemory, choose, split_warps

__all__ = ["MatrixInstruction", "OperandMemory", "choose", "split_warps"]
