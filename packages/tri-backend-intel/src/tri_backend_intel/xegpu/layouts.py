"""Who owns what of a dot: ``#xegpu.layout``.

Source: MLIR's XeGPU dialect, ``LayoutAttr``: sub-groups of a program, what each has, what one instruction takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tri_core.errors import Unsupported
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_gpu_dialect.policies.matrix import split_warps

__all__ = ["LANES", "REMEDY", "DotLayouts", "refusal"]

#: of a sub-group, on every device with 2D blocks
LANES = 16
#: rows of an instruction, bits of k that it takes
_ROWS, _DEPTH_BITS = 8, 256
#: rows of the largest block that is loaded
_LOADED_ROWS = 32

REMEDY = "use path='simt'"


def refusal(op: ir.Operation, why: str) -> Unsupported:
    """The SIMD path cannot carry ``op``."""
    return Unsupported(
        f"the SIMD path has no {op.name}: {why}", location=source_location(op.location), remedy=REMEDY
    )


@dataclass(frozen=True)
class DotLayouts:
    """Of a dot ``m x n x k`` whose result ``split`` sub-groups share: by operand, number 2 is the sum."""

    shape: tuple[int, int, int]
    split: tuple[int, int]
    depth: int

    @classmethod
    def of(cls, dot: ir.Operation, warps: int) -> DotLayouts:
        """Unsupported where the result does not go into whole instructions for each sub-group."""
        (m, n), k = dot.results[0].type.shape, dot.operands[0].type.shape[1]
        rows, columns = split_warps((m, n), (_ROWS, LANES), warps, whole_rows=False)
        depth = _DEPTH_BITS // dot.operands[0].type.element_type.width
        if m % (rows * _ROWS) or n % (columns * LANES) or k % depth:
            raise refusal(
                dot, f"{m}x{n}x{k} is no whole number of instructions for each of {warps} sub-groups"
            )
        return cls((m, n, k), (rows, columns), depth)

    def share(self, operand: int) -> list[int]:
        """What a sub-group has of ``operand``."""
        (m, n, k), (rows, columns) = self.shape, self.split
        return [[m // rows, k], [k, n // columns], [m // rows, n // columns]][operand]

    def computed(self, operand: int) -> ir.Attribute:
        """As instructions take it."""
        return self._layout(operand, [[_ROWS, self.depth], [self.depth, LANES], [_ROWS, LANES]][operand])

    def loaded(self, operand: int) -> ir.Attribute:
        """In the largest pieces that one load gives."""
        tall = min(_LOADED_ROWS, self.share(operand)[0])
        return self._layout(operand, [tall, LANES if operand else self.depth])

    def by_rows(self) -> ir.Attribute:
        """The sum, by rows of a sub-group's lanes."""
        return self._layout(2, [1, LANES])

    def _layout(self, operand: int, piece: list[int]) -> Any:
        return ir.Attribute.parse(
            f"#xegpu.layout<sg_layout = {list(self.split)}, sg_data = {self.share(operand)}, inst_data = {piece}>"
        )
