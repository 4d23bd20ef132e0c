"""The instructions of ``mma.sync`` as rows for the optimizer."""

from __future__ import annotations

from functools import cache

from tri_backend_nvidia.matrix.encoding import NvidiaMma
from tri_core.api import Target
from tri_core.dialects.tt.enums import InputPrecision
from tri_gpu_dialect.matrix import MatrixInstruction

__all__ = ["PTX_TYPES", "matrix_instructions"]

#: (MLIR types of a, b and the accumulator) -> (first compute capability, k, k_width)
_ROWS: tuple[tuple[str, str, str, int, int, int], ...] = (
    ("f16", "f16", "f32", 80, 16, 2),
    ("bf16", "bf16", "f32", 80, 16, 2),
    ("f32", "f32", "f32", 80, 8, 1),
    ("i8", "i8", "i32", 80, 32, 4),
    ("f64", "f64", "f64", 80, 4, 1),
    ("f8E4M3FN", "f8E4M3FN", "f32", 89, 32, 4),
    ("f8E4M3FN", "f8E5M2", "f32", 89, 32, 4),
    ("f8E5M2", "f8E4M3FN", "f32", 89, 32, 4),
    ("f8E5M2", "f8E5M2", "f32", 89, 32, 4),
)

#: how an instruction's name spells MLIR's element types; f32 operands are read as tf32
PTX_TYPES = {
    "f16": "f16",
    "bf16": "bf16",
    "f32": "tf32",
    "i8": "s8",
    "f64": "f64",
    "f8E4M3FN": "e4m3",
    "f8E5M2": "e5m2",
}


def matrix_instructions(target: Target) -> tuple[MatrixInstruction, ...]:
    """What ``target`` has, none before compute capability 8.0."""
    return _from_capability(int(target.key.arch.removeprefix("sm_").rstrip("af")))


@cache
def _from_capability(capability: int) -> tuple[MatrixInstruction, ...]:
    return tuple(_instruction(*row) for row in _ROWS if capability >= row[3])


def _instruction(a: str, b: str, total: str, first: int, k: int, k_width: int) -> MatrixInstruction:
    m = 8 if a == "f64" else 16
    tf32 = (int(InputPrecision.TF32), int(InputPrecision.TF32X3))
    return MatrixInstruction(
        a=a,
        b=b,
        accumulator=total,
        shape=(m, 8, k),
        k_width=k_width,
        encoding=NvidiaMma(instr_shape=(m, 8)),
        precisions=tf32 if a == "f32" else (),
    )
