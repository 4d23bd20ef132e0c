"""Scaled dots by MFMA in terms of :class:`ScaledMfmaOp`: bytes as LLVM's words, four scales a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from tri_backend_amd.matrix_operands import packed, result_encoding
from tri_backend_amd.mfma.encoding import AmdMfma
from tri_backend_amd.mfma.forms import VERSIONS
from tri_backend_amd.mfma.scaled_forms import GROUP, RUN, per_byte, scaled_forms
from tri_backend_amd.mfma.scaled_machine import ScaledMfmaOp
from tri_backend_amd.scaled_operands import operands_of
from tri_core.errors import Unsupported
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.layouts import REGISTER
from tri_gpu_dialect.lowering import Builder, Lowered, Lowering
from tri_gpu_dialect.lowering.rules.matrix import by_tiles

__all__ = ["dot", "operand"]

Values = Sequence[ir.Value]

#: scales of a word, of which an instruction takes one
_WORD = 4


def operand(b: Builder, dot: ir.Operation, index: int, registers: Values) -> Values:
    """A lane's bytes of a fragment as LLVM's type."""
    count = 2 * RUN // per_byte(operands_of(dot)[index].format)
    return packed(b, registers, count, f"vector<{count // 4}xi32>")


@dataclass
class _Scales:
    """The scales of an operand as words, and where that of an instruction is: read off the layout."""

    registers: Values
    places: dict[tuple[int, ...], int]
    words: dict[int, ir.Value] = field(default_factory=dict)

    @classmethod
    def of(cls, ctx: Lowering, value: ir.Value, encoding: AmdMfma, number: int) -> _Scales:
        """Those of operand ``number``; Unsupported for another layout than the instruction's."""
        layout = ctx.layout(value.type)
        if layout != encoding.scale_layout(number, tuple(value.type.shape)):
            raise Unsupported(
                f"a matrix instruction's scales of type {value.type}",
                remedy="give them the dot_scale encoding of the result",
            )
        places: dict[tuple[int, ...], int] = {}
        for register, image in enumerate(layout.images(REGISTER)):
            places.setdefault(layout.unpack_out(image), register)
        return cls(ctx.registers(value), places)

    def at(self, b: Builder, row: int, group: int) -> tuple[ir.Value, int]:
        """The word, and the byte in it, with the scale of the instruction whose first lane has this row and group along k."""
        number, byte = divmod(self.places[row, group], _WORD)
        if number not in self.words:
            held = list(self.registers[number * _WORD : (number + 1) * _WORD])
            bytes_ = [b.int_cast(each, b.int_type(8)) for each in held]
            if len(bytes_) == 1:
                self.words[number] = b.int_cast(bytes_[0], b.i32)
            else:
                bytes_ += bytes_[:1] * (_WORD - len(bytes_))  # nothing selects these
                self.words[number] = b.bitcast(b.pack(bytes_), b.i32)
        return self.words[number], byte


def dot(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.dot_scaled`` of operands and scales in the layouts of ``#ttg.amd_mfma``."""
    operands, encoding = operands_of(op), _encoding(ctx, op)
    m, n, k = encoding.instr_shape
    formats = [each.format for each in operands]
    pieces = [
        replace(encoding, instr_shape=(m, n, k // per_byte(format_))).fragment(i, RUN)
        for i, format_ in enumerate(formats)
    ]
    values = [each.scale for each in operands]
    scales = [_Scales.of(ctx, v, encoding, i) for i, v in enumerate(values) if v is not None]
    order = (1, 0) if encoding.is_transposed else (0, 1)

    def multiply(place: tuple[int, ...], left: Values, right: Values, total: Values) -> Values:
        b, (row, column, depth) = ctx.b, place
        group = depth * per_byte(formats[0]) // GROUP
        found = [each.at(b, at, group) for each, at in zip(scales, (row, column), strict=True)]
        words, made = (*left, *right), b.pack(list(total))
        attributes = {
            "shape": ir.DenseI32ArrayAttr.get([m, n, k]),
            "formats": ir.DenseI32ArrayAttr.get([int(formats[i]) for i in order]),
            "selectors": ir.DenseI32ArrayAttr.get([found[i][1] for i in order]),
        }
        given = [*(words[i] for i in order), made, *(found[i][0] for i in order)]
        return b.unpack(ScaledMfmaOp.build(given, [made.type], attributes)[0])

    return by_tiles(ctx, op, multiply, pieces)


def _encoding(ctx: Lowering, op: ir.Operation) -> AmdMfma:
    """That of the result; Unsupported where no instruction of the target is meant, or an operand is no microscaling format."""
    encoding, operands = result_encoding(op, AmdMfma, "#ttg.amd_mfma"), operands_of(op)
    processor = ctx.target.key.arch
    forms = scaled_forms(processor, *(each.format for each in operands))
    known = any((form.m, form.n, form.k) == encoding.instr_shape for form in forms)
    if not known or encoding.version != VERSIONS[processor] or not all(each.is_scaled for each in operands):
        raise Unsupported(
            f"a scaled dot in {encoding} on {ctx.target}",
            remedy="give both operands scales of e8m0, and leave layouts to the compiler",
        )
    return encoding
