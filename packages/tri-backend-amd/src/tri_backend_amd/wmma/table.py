"""The WMMA instructions of a processor as rows for the optimizer."""

from __future__ import annotations

from functools import cache

from tri_backend_amd.wmma.encoding import AmdWmma
from tri_backend_amd.wmma.forms import SIDE, Form, forms
from tri_gpu_dialect.policies.gpu import DefaultPolicy, DotPolicy, PipelinePolicy
from tri_gpu_dialect.policies.matrix import MatrixInstruction
from tri_gpu_dialect.policies.operands import ByCycles
from tri_gpu_dialect.transforms.pipeline.strategies import ThroughRegisters

__all__ = ["form_of", "matrix_instructions", "wmma_policy"]


@cache
def matrix_instructions(processor: str) -> tuple[MatrixInstruction, ...]:
    """What ``processor`` has, transposed: a lane holds neighbours of a row (RDNA4), or every second one (RDNA3)."""
    return tuple(
        MatrixInstruction(
            a=form.a,
            b=form.b,
            accumulator=form.total,
            shape=(SIDE, SIDE, SIDE),
            k_width=form.per_lane,
            encoding=AmdWmma(version=form.version, is_transpose=True),
        )
        for form in forms(processor)
    )


@cache
def form_of(processor: str, a: str, b: str) -> Form | None:
    """The instruction of ``processor`` for operands of MLIR types ``a`` and ``b``."""
    return next((form for form in forms(processor) if (form.a, form.b) == (a, b)), None)


def wmma_policy(processor: str) -> DefaultPolicy:
    """What shared passes know of ``processor``; without WMMA, the default."""
    rows = matrix_instructions(processor)
    if not rows:
        return DefaultPolicy()
    return DefaultPolicy(
        dots=DotPolicy(instructions=rows, operands=ByCycles()),
        pipeline=PipelinePolicy(loads=ThroughRegisters(), split_loops=True),
    )
