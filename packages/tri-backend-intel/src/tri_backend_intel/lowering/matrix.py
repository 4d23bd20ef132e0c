"""Dots as DPAS."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import field

from tri_backend_intel.dialect.encoding import Dpas
from tri_backend_intel.dialect.matrix import DpasOp
from tri_backend_intel.lowering.small_floats import SMALL_FLOATS, widened
from tri_core.errors import Unsupported
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.encodings import decode
from tri_gpu_dialect.lowering import Builder

__all__ = ["multiply_cluster"]

Registers = Sequence[ir.Value]


def multiply_cluster(
    b: Builder, dot: ir.Operation, left: Registers, right: Registers, total: Registers
) -> Registers:
    """The instructions of one cluster of ``dot``, a column of them after the other: B is what changes seldom."""
    encoding = decode(dot.results[0].type.encoding)
    if not isinstance(encoding, Dpas):
        raise Unsupported(f"a dot that gives {dot.results[0].type}", remedy="give it the encoding #ttig.dpas")
    down, across = encoding.rep_cluster
    rows = encoding.repeat_count
    found = list(total)
    lines = _Operand.of(b, dot, 0, left, down)
    columns = _Operand.of(b, dot, 1, right, across)
    ends: dict[ir.Operation, ir.Operation] = {}
    for j, column in enumerate(columns):
        for i, line in enumerate(lines):
            own = slice((j * down + i) * rows, (j * down + i + 1) * rows)
            last = _last_of_branches((*line.registers, *column.registers, *found[own]))
            with nullcontext() if last is None else ir.InsertionPoint.after(ends.get(last, last)):
                for left_part, right_part in zip(line.parts(), column.parts(), strict=True):
                    found[own] = DpasOp.of(line.kind, left_part, right_part, found[own])
            if last is not None:
                ends[last] = found[own][0].owner.operation
    return found


@dataclass
class _Operand:
    """Operand registers of one instruction, or two, if it is of 8-bit floats: widened at the first read."""

    b: Builder
    registers: Registers
    element: str
    word: int
    made: list[Registers] = field(default_factory=list)

    @classmethod
    def of(
        cls, b: Builder, dot: ir.Operation, index: int, registers: Registers, count: int
    ) -> list[_Operand]:
        """The ``count`` parts of ``registers`` of operand ``index``; neighbours along k are words as wide as DPAS has them."""
        encoding = decode(dot.results[0].type.encoding)
        assert isinstance(encoding, Dpas)
        element = str(dot.operands[index].type.element_type)
        word, size = 32 if index else 8 * encoding.left_width, len(registers) // count
        return [cls(b, registers[i * size : (i + 1) * size], element, word) for i in range(count)]

    @property
    def kind(self) -> str:
        """The element type of the instruction."""
        return "f16" if self.element in SMALL_FLOATS else self.element

    def parts(self) -> Sequence[Registers]:
        """For each instruction."""
        if not self.made:
            is_small = self.element in SMALL_FLOATS
            self.made = list(
                widened(self.b, self.registers, self.element, self.word) if is_small else [self.registers]
            )
        return self.made


def _last_of_branches(operands: Registers) -> ir.Operation | None:
    """Defining op of the last of ``operands`` to be made, if that is loaded in a branch; None: DPAS stays at
    its dot.

    What is loaded after it needs no registers yet: compilers of machine code do not move instructions over branches.
    """
    block = ir.InsertionPoint.current.block
    made = (v.owner.operation for v in operands if not isinstance(v.owner, ir.Block))
    last = None
    for op in dict.fromkeys(op for op in made if op.block == block):
        if last is None or last.is_before_in_block(op):
            last = op
    return None if last is None or not _of_a_branch(last) else last


def _of_a_branch(op: ir.Operation) -> bool:
    """True if a branch yields the word that ``op`` is a part of."""
    while not len(op.regions) and len(op.operands) and not isinstance(op.operands[0].owner, ir.Block):
        if op.name not in ("llvm.bitcast", "llvm.extractelement"):
            return False
        op = op.operands[0].owner.operation
    return bool(len(op.regions))
