"""The instructions of ``wgmma`` and ``mma.sync`` as rows for the optimizer."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from tri_backend_nvidia.mma.encoding import WGMMA_M, WGMMA_WIDTHS, NvidiaMma
from tri_backend_nvidia.mma.memory import SwizzledRows
from tri_core.api import Target
from tri_core.dialects.tt.enums import InputPrecision
from tri_core.mlir import ir
from tri_gpu_dialect.policies.async_dots import AsyncInstruction
from tri_gpu_dialect.policies.matrix import MatrixInstruction

__all__ = ["PTX_TYPES", "accumulator_type", "matrix_instructions"]

#: (MLIR types of a, b and the accumulator) -> (first compute capability, k, k_width); that of f16 sums comes first, since those of
#: f32 give f16 results as well
_ROWS: tuple[tuple[str, str, str, int, int, int], ...] = (
    ("f16", "f16", "f16", 80, 16, 2),
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
#: the same of accumulators, where the names differ
_SUMS = {"i32": "s32"}
#: registers that an instruction needs beside those of its accumulator: ptxas (error C7602) wants 154 for 256 columns
_BESIDE_SUM = 26
#: bits of a column's number in the order in which the instruction that computes the transposed dot has them in its rows' numbers, by
#: the width of elements.  f32: lanes read pairs of columns (bit 0) from rows of 128 bytes whose pieces of 16 are permuted by xor with k;
#: the lanes of half a warp have 4 values of k, which choose between pieces by bits 2 and 3, and here columns' bits 1 and 4.
#: 8 bits: ``ldmatrix`` transposes pairs of columns, so bit 0 is what a lane has twice, its rows 8 apart
_TRANSPOSED = {32: (1, 4, 2, 0, 3, 5), 8: (1, 2, 3, 0, 4, 5)}
#: bits of those that ``wgmma`` has
_BITS = {"f16": 16, "bf16": 16, "f32": 32, "i8": 8, "f8E4M3FN": 8, "f8E5M2": 8}


def accumulator_type(element: ir.Type) -> str:
    """Spelling, in an instruction's name, of the accumulator type that MLIR calls ``element``."""
    name = str(element)
    return _SUMS.get(name, name)


def matrix_instructions(
    target: Target, registers: int = 255, stages: int = 2
) -> tuple[MatrixInstruction, ...]:
    """Matrix instructions of ``target``, none before compute capability 8.0; those of warp groups first.

    Those of warp groups are as wide as ``registers`` of a thread hold; loops that don't say have ``stages``.
    """
    synchronous = _from_capability(int(target.key.arch.removeprefix("sm_").rstrip("af")))
    widths = [n for n in WGMMA_WIDTHS if n // 2 + _BESIDE_SUM <= registers]
    return (*_wgmma(max(widths), stages), *synchronous) if target.has("wgmma") and widths else synchronous


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


@cache
def _wgmma(widest: int, stages: int) -> tuple[MatrixInstruction, ...]:
    rows = [row for row in _ROWS if row[0] in _BITS]
    plain = [_group_instruction(a, b, total, k, k_width, widest) for a, b, total, _, k, k_width in rows]
    other = [row for row in plain if _BITS[row.a] in _TRANSPOSED]
    return (
        *plain,
        *(replace(_transposed(row), stages=stages) for row in other),
        *(replace(row, turns=True, stages=stages) for row in other),
    )


def _transposed(row: AsyncInstruction) -> AsyncInstruction:
    """``row`` as it computes the transposed dot: B comes from registers, whatever its order, A from memory."""
    m, n, k = row.shape
    assert isinstance(row.encoding, NvidiaMma)
    encoding = replace(row.encoding, warps_per_cta=(1, 4), column_bits=_TRANSPOSED[_BITS[row.b]])
    return replace(row, shape=(n, m, k), encoding=encoding, in_registers=(1,), transposed=True)


def _group_instruction(a: str, b: str, total: str, k: int, k_width: int, widest: int) -> AsyncInstruction:
    return AsyncInstruction(
        a=a,
        b=b,
        accumulator=total,
        shape=(WGMMA_M, 8, k),
        k_width=k_width,
        encoding=NvidiaMma(version_major=3, warps_per_cta=(4, 1), instr_shape=(16, widest, k)),
        precisions=(int(InputPrecision.TF32),) if a == "f32" else (),
        memory=SwizzledRows(_BITS[a], across=_BITS[a] == 16),
        in_registers=(0,),
        group_warps=4,
        group_columns=(WGMMA_WIDTHS[0], WGMMA_WIDTHS[-1]),
    )
