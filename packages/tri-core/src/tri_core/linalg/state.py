"""State of a lowering: counterparts of values, and the places that pointers have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import NoReturn

from tri_core.dialects import tt
from tri_core.errors import Unsupported
from tri_core.ir.rewriting import terminator
from tri_core.lazy_dataclasses import dataclass
from tri_core.linalg import indices
from tri_core.linalg.boxes import Box
from tri_core.linalg.build import materialize
from tri_core.linalg.strides import Strided
from tri_core.locations import located
from tri_core.mlir import ir
from tri_core.ttir import Rules

__all__ = ["RULES", "Lowering", "Pointer", "Rule", "is_pointer", "refuse", "shape_of"]


@dataclass(frozen=True)
class Pointer:
    """Pointers into ``base``, an unranked memref: how many elements on, as a :class:`Strided` or a tensor of ``index``."""

    base: ir.Value
    offset: Strided | ir.Value

    def moved(self, offset: Strided | ir.Value) -> Pointer:
        """Pointers to other elements of the same memory."""
        return Pointer(self.base, offset)

    def offsets(self) -> ir.Value:
        """The offsets as a value: ``index``, or a tensor of them."""
        if not isinstance(self.offset, Strided):
            return self.offset
        return materialize(self.offset) if self.offset.shape else indices.as_value(self.offset.offset)


@dataclass(frozen=True)
class Lowering:
    """Values of TTIR, by what has been made for them.

    ``strided`` and ``boxes`` hold what is known beside the values: integers whose places say them, masks that are boxes.
    ``programs`` are the counts of programs and the program's numbers, i32, along x, y and z.
    """

    programs: Sequence[ir.Value]
    values: dict[ir.Value, ir.Value] = field(default_factory=dict)
    pointers: dict[ir.Value, Pointer] = field(default_factory=dict)
    strided: dict[ir.Value, Strided] = field(default_factory=dict)
    boxes: dict[ir.Value, Box] = field(default_factory=dict)

    def integers(self, value: ir.Value) -> Strided | None:
        """Place of ``value``, integers; a scalar is its own offset."""
        if isinstance(value.type, ir.RankedTensorType):
            return self.strided.get(value)
        return Strided(indices.as_index(self.values[value]))

    def block(self, block: ir.Block) -> ir.Operation:
        """Lower the ops of ``block`` at the ambient insertion point, but the terminator, which is given."""
        end = terminator(block)
        for view in block.operations:
            op = view.operation
            if op != end:
                with op.location:
                    RULES.of(op)(self, op)
        return end

    def inline(self, block: ir.Block, arguments: Sequence[ir.Value]) -> list[ir.Value]:
        """Results of ``block``, of scalars, for ``arguments``."""
        self.values.update(zip(block.arguments, arguments, strict=True))
        return [self.values[value] for value in self.block(block).operands]


Rule = Callable[[Lowering, ir.Operation], None]
RULES: Rules[Rule] = Rules("the lowering to linalg")


def is_pointer(value: ir.Value) -> bool:
    """True if ``value`` is a pointer or a tensor of pointers."""
    type_ = value.type.element_type if isinstance(value.type, ir.RankedTensorType) else value.type
    return isinstance(type_, tt.PointerType)


def shape_of(value: ir.Value) -> tuple[int, ...]:
    """The shape of a tensor; ``()`` for a scalar."""
    return tuple(value.type.shape) if isinstance(value.type, ir.RankedTensorType) else ()


def refuse(op: ir.Operation, what: str, remedy: str) -> NoReturn:
    """Unsupported at the place of ``op``."""
    raise located(Unsupported, op.location, f"the lowering to linalg has no form for {what}", remedy)
