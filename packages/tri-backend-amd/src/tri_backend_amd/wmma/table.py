"""The WMMA instructions of a processor as rows for the optimizer."""

from __future__ import annotations

from functools import cache

from tri_backend_amd.wmma.encoding import AmdWmma
from tri_backend_amd.wmma.forms import SIDE, Form, forms
from tri_gpu_dialect.policies.gpu import DefaultPolicy, DotPolicy, PipelinePolicy
from tri_gpu_dialect.policies.matrix import MatrixInstruction
from tri_gpu_dialect.policies.operands import ByCycles
from tri_gpu_dialect.transforms.pipeline.strategies import ThroughRegisters

__all__ = ["matrix_instructions", "wmma_policy"]


@cache
def matrix_instructions(processor: str) -> tuple[MatrixInstruction, ...]:
    """Matrix instructions of ``processor``, transposed: a lane holds neighbours of a row, or every second one
    (RDNA3).

    Behind them rows for dots that are less deep than any: the same instructions, of whose operands the rest is zeros.
    """
    whole = [_row(form, form.k) for form in forms(processor)]
    parts = [
        _row(form, form.k >> halvings)
        for form in forms(processor)
        for halvings in range(1, (form.k // SIDE).bit_length())
    ]
    return tuple(dict.fromkeys([*whole, *parts]))


def _row(form: Form, k: int) -> MatrixInstruction:
    return MatrixInstruction(
        a=form.a,
        b=form.b,
        accumulator=form.total,
        shape=(SIDE, SIDE, k),
        k_width=form.k_width,
        encoding=AmdWmma(version=form.version, is_transpose=True, instr_shape=(SIDE, SIDE, k)),
    )


def wmma_policy(processor: str) -> DefaultPolicy:
    """Policy of ``processor`` for the shared passes; without WMMA, the default."""
    rows = matrix_instructions(processor)
    if not rows:
        return DefaultPolicy()
    return DefaultPolicy(
        dots=DotPolicy(instructions=rows, operands=ByCycles()),
        pipeline=PipelinePolicy(loads=ThroughRegisters(), split_loops=True, short_rest=4),
    )
