"""The MFMA instructions of a processor as rows for the optimizer."""

from __future__ import annotations

from functools import cache

from tri_backend_amd.mfma.encoding import AmdMfma
from tri_backend_amd.mfma.forms import VERSIONS, Form, forms
from tri_core.dialects.tt.enums import InputPrecision
from tri_gpu_dialect.matrix import MatrixInstruction

__all__ = ["form_of", "matrix_instructions"]

_TF32 = (int(InputPrecision.TF32),)


@cache
def matrix_instructions(processor: str, kpack: int = 1) -> tuple[MatrixInstruction, ...]:
    """What ``processor`` has, in the order of :func:`forms`.

    ``kpack`` 2: two instructions, one after the other, take what a lane has next to each other along k, which it reads from
    memory in one access of 128 bits; rows whose lanes have such accesses already are left out.
    """
    found = [form for form in forms(processor) if kpack == 1 or _can_pack(form)]
    return tuple(_row(VERSIONS[processor], form, kpack) for form in found)


def _can_pack(form: Form) -> bool:
    return not form.is_small and 2 * form.per_lane * form.bits <= 128


def _row(version: int, form: Form, kpack: int) -> MatrixInstruction:
    return MatrixInstruction(
        a=form.a,
        b=form.b,
        accumulator=form.total,
        shape=(form.m, form.n, form.k * kpack),
        k_width=form.k_width * kpack,
        encoding=AmdMfma(
            version=version,
            instr_shape=(form.m, form.n, form.k),
            is_transposed=form.m != 4,
            element_bit_width=64 if form.total == "f64" else 32,
        ),
        precisions=_TF32 if form.xf32 else (),
    )


@cache
def form_of(processor: str, a: str, b: str, shape: tuple[int, ...], *, exact: bool = True) -> Form | None:
    """The instruction of ``processor`` for operands of MLIR types ``a`` and ``b``.

    ``shape`` is m, n, k; ``exact``: f32 must not lose bits of its mantissa.
    """
    for form in forms(processor):
        same = (form.a, form.b) == (a, b) and (form.m, form.n, form.k) == shape
        if same and not (exact and form.xf32):
            return form
    return None
