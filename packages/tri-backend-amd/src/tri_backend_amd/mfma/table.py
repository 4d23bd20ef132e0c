"""The MFMA instructions of a processor as rows for the optimizer."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from tri_backend_amd.mfma.encoding import AmdMfma
from tri_backend_amd.mfma.forms import VERSIONS, Form, forms
from tri_core.dialects.tt.enums import InputPrecision
from tri_gpu_dialect.policies.matrix import MatrixInstruction

__all__ = ["form_of", "matrix_instructions", "narrow_instructions"]

_TF32 = (int(InputPrecision.TF32),)
#: neighbours of a row that a lane holds of a transposed result
_NEIGHBOURS = 4


@cache
def matrix_instructions(processor: str, kpack: int = 1) -> tuple[MatrixInstruction, ...]:
    """Matrix instructions of ``processor``, in the order of :func:`forms`.

    ``kpack`` 2: two instructions, one after the other, take what a lane has next to each other along k, which it reads from
    memory in one access of 128 bits; rows whose lanes have such accesses already are left out.
    """
    found = [form for form in forms(processor) if kpack == 1 or _can_pack(form)]
    return tuple(_row(VERSIONS[processor], form, kpack) for form in found)


@cache
def narrow_instructions(processor: str) -> tuple[MatrixInstruction, ...]:
    """Those of :func:`matrix_instructions` whose lanes have more than 4 neighbours along k, with 4 at a time.

    A dot adds over k in any order, if both operands have the same.  So an operand may come in pieces of 4: a transposed result of
    another dot where it is, and what a thread has transposed 4 rows of.
    """
    found = [form for form in forms(processor) if not form.is_small and form.k_width > _NEIGHBOURS]
    return tuple(replace(_row(VERSIONS[processor], form, 1), k_width=_NEIGHBOURS) for form in found)


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
