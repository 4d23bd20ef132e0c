"""The lowering of block-scaled dots to ``mma.sync``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from tri_backend_nvidia.machine import SCALED_KINDS, ScaledMmaOp
from tri_backend_nvidia.mma.mma_scales import THREADS, WORD, lane_of
from tri_backend_nvidia.mma.scaled_table import ROWS, ScaledOperands
from tri_core.api import InternalError, Unsupported
from tri_core.ir.dots import Dot
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.layouts import BLOCK, LANE, REGISTER, WARP
from tri_gpu_dialect.lowering import Builder, Lowered, Lowering
from tri_gpu_dialect.lowering.rules.matrix import by_tiles

__all__ = ["dot"]

#: where the scale of (row, group along k) is: number of the word, byte, ``thread-id``
_Place = tuple[int, int, int]


@dataclass
class _Scales:
    """The scales of an operand as words, and what selects one: read off the layout."""

    value: ir.Value
    registers: Sequence[ir.Value]
    places: dict[tuple[int, int], _Place]
    words: dict[int, ir.Value] = field(default_factory=dict)

    @classmethod
    def of(cls, ctx: Lowering, value: ir.Value, operand: int) -> _Scales:
        """Those of operand 0 or 1."""
        layout, places = ctx.layout(value.type), dict[tuple[int, int], _Place]()
        for thread in range(THREADS[operand]):
            for register in range(layout.in_size(REGISTER)):
                inputs = {REGISTER: register, LANE: lane_of(operand, thread), WARP: 0, BLOCK: 0}
                at = layout.apply(inputs)
                places.setdefault((int(at["dim0"]), int(at["dim1"])), (*divmod(register, WORD), thread))
        return cls(value, ctx.registers(value), places)

    def at(self, b: Builder, row: int, group: int) -> tuple[ir.Value, int, int]:
        """The word, byte and ``thread-id`` of an instruction's first scale; Unsupported for another layout than the instruction's."""
        if (row, group) not in self.places:
            raise Unsupported(
                f"a matrix instruction's scales of type {self.value.type}",
                remedy="give them the dot_scale encoding of the result",
            )
        number, byte, thread = self.places[row, group]
        if number not in self.words:
            held = list(self.registers[number * WORD : (number + 1) * WORD])
            held += [held[0]] * (WORD - len(held))  # bytes that nothing selects
            self.words[number] = b.bitcast(b.pack(held), b.i32)
        return self.words[number], byte, thread


def dot(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.dot_scaled`` of registers."""
    scaled = ScaledOperands.of(op)
    row = scaled.row(ROWS)
    if row is None or scaled.scales is None:
        raise InternalError(f"no instruction for {op}")
    kind = SCALED_KINDS[row.kind]
    scales = [_Scales.of(ctx, value, operand) for operand, value in enumerate(scaled.scales)]
    # places along k are counted in bytes of a fragment, in which e2m1 is packed
    packed = scaled.shape[2] // Dot(op).a.type.shape[1]
    kinds = " ".join((scaled.a.name.lower(), scaled.b.name.lower(), row.scale_name))

    def multiply(
        place: tuple[int, ...], left: Sequence[ir.Value], right: Sequence[ir.Value], total: Sequence[ir.Value]
    ) -> Sequence[ir.Value]:
        m, n, k = place
        group = k * packed // kind.group
        (a, *a_at), (b, *b_at) = (s.at(ctx.b, at, group) for s, at in zip(scales, (m, n), strict=True))
        attributes = {
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(left), len(right), len(total), 1, 1]),
            "kind": ir.StringAttr.get(row.kind),
            "kinds": ir.StringAttr.get(kinds),
            "selectors": ir.DenseI32ArrayAttr.get([*a_at, *b_at]),
        }
        return ScaledMmaOp.build([*left, *right, *total, a, b], [t.type for t in total], attributes)

    return by_tiles(ctx, op, multiply)
