"""Dots by MFMA in terms of :class:`MfmaOp`: registers as LLVM's words, one instruction after the other."""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_amd.matrix_operands import packed, result_encoding
from tri_backend_amd.mfma.encoding import AmdMfma
from tri_backend_amd.mfma.forms import VERSIONS, Form
from tri_backend_amd.mfma.machine import MfmaOp
from tri_backend_amd.mfma.table import form_of
from tri_core.dialects.tt.enums import InputPrecision
from tri_core.errors import Unsupported
from tri_core.mlir import ir
from tri_core.target import Target
from tri_gpu_dialect.lowering import Builder

__all__ = ["multiply", "operand"]

Values = Sequence[ir.Value]

#: 16 products of 4 x 4 in one instruction
_BLOCKS = 16


def operand(b: Builder, target: Target, dot: ir.Operation, registers: Values) -> Values:
    """A lane's registers of a fragment packed as LLVM's types, one value for every instruction."""
    form = _form(target, dot)
    return packed(b, registers, form.per_lane, form.word)


def multiply(
    b: Builder, target: Target, dot: ir.Operation, left: Values, right: Values, total: Values
) -> Values:
    """The instructions for one fragment of each operand, along k; a transposed product begins with B."""
    form, encoding = _form(target, dot), _encoding(dot)
    kinds = [("xf32" if form.xf32 else kind) for kind in (form.a, form.b)]
    formats = list(form.formats or (0, 0))
    m, n = form.m, form.n
    if encoding.is_transposed:
        left, right, kinds, formats, (m, n) = right, left, kinds[::-1], formats[::-1], (n, m)
    attributes: dict[str, ir.Attribute] = {
        "kinds": ir.StringAttr.get(" ".join(kinds)),
        "intrinsic": ir.StringAttr.get(form.intrinsic),
        "formats": ir.StringAttr.get(" ".join(map(str, formats))),
    }
    shape = (4, 4, form.per_lane, _BLOCKS) if form.is_small else (m, n, form.k, 1)
    attributes["shape"] = ir.StringAttr.get(" ".join(map(str, shape)))
    made = b.pack(list(total))
    for first, second, shared in _steps(form, left, right):
        attributes["shared"] = ir.IntegerAttr.get(b.i32, shared)
        (made,) = MfmaOp.build([first, second, made], [made.type], attributes)
    return b.unpack(made)


def _steps(form: Form, first: Values, second: Values) -> list[tuple[ir.Value, ir.Value, int]]:
    """The operands of each instruction; a small first operand has the k of all of a fragment's in its 16 blocks."""
    if form.is_small:
        return [(first[0], each, i) for i, each in enumerate(second)]
    return [(x, y, -1) for x, y in zip(first, second, strict=True)]


def _encoding(dot: ir.Operation) -> AmdMfma:
    return result_encoding(dot, AmdMfma, "#ttg.amd_mfma")


def _form(target: Target, dot: ir.Operation) -> Form:
    encoding = _encoding(dot)
    kinds = [str(dot.operands[i].type.element_type) for i in (0, 1)]
    exact = ir.IntegerAttr(dot.attributes["inputPrecision"]).value != int(InputPrecision.TF32)
    form = form_of(target.key.arch, *kinds, encoding.instr_shape, exact=exact)
    if form is None or encoding.version != VERSIONS[target.key.arch]:
        raise Unsupported(
            f"{target} has no MFMA of {' x '.join(kinds)} as in {encoding}",
            remedy="compile for the processor that the encoding's version means, or leave layouts to the compiler",
        )
    return form
