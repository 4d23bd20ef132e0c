"""Dots by WMMA in terms of :class:`WmmaOp`: registers as LLVM's words."""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_amd.matrix_operands import packed, result_encoding
from tri_backend_amd.wmma.encoding import AmdWmma
from tri_backend_amd.wmma.forms import VERSIONS, Form, form_for
from tri_backend_amd.wmma.machine import WmmaOp
from tri_core.errors import Unsupported
from tri_core.mlir import ir
from tri_core.target import Target
from tri_gpu_dialect.lowering import Builder

__all__ = ["multiply", "operand"]

Values = Sequence[ir.Value]


def operand(b: Builder, target: Target, dot: ir.Operation, registers: Values) -> Values:
    """A lane's registers of a fragment packed as LLVM's types, one value for every instruction, zeros behind what is too few for one."""
    form = _form(target, dot)
    missing = max(form.per_lane - len(registers), 0)
    zeros = [b.const(registers[0].type, 0)] * missing
    return packed(b, [*registers, *zeros], form.per_lane, form.word)


def multiply(
    b: Builder, target: Target, dot: ir.Operation, left: Values, right: Values, total: Values
) -> Values:
    """The instructions for one fragment of each operand, along k; a transposed product begins with B."""
    form, kinds = _form(target, dot), [str(v.type.element_type) for v in list(dot.operands)[:2]]
    if _encoding(dot).is_transpose:
        left, right, kinds = right, left, kinds[::-1]
    swapped = form_for(target.key.arch, *kinds, form.k)
    assert swapped is not None
    attributes: dict[str, ir.Attribute] = {
        "kinds": ir.StringAttr.get(" ".join(kinds)),
        "version": ir.IntegerAttr.get(b.i32, form.version),
        "intrinsic": ir.StringAttr.get(swapped.intrinsic),
    }
    made = b.pack(list(total))
    for first, second in zip(left, right, strict=True):
        (made,) = WmmaOp.build([first, second, made], [made.type], attributes)
    return b.unpack(made)


def _encoding(dot: ir.Operation) -> AmdWmma:
    return result_encoding(dot, AmdWmma, "#ttg.amd_wmma")


def _form(target: Target, dot: ir.Operation) -> Form:
    encoding = _encoding(dot)
    a, b = (str(v.type.element_type) for v in list(dot.operands)[:2])
    form = form_for(target.key.arch, a, b, encoding.instr_shape[2])
    if form is None or encoding.version != VERSIONS[target.key.arch]:
        raise Unsupported(
            f"{target} has no WMMA of {a} x {b} as in {encoding}",
            remedy="compile for the processor that the encoding's version means, or leave layouts to the compiler",
        )
    return form
