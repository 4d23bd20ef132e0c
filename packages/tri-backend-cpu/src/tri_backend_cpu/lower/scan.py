"""Inclusive scans of tensors in the arena.

Along the last dimension a vector is scanned in registers, by doubling distances, and the last lane is
carried to the next vector.  Along another dimension, whole vectors of neighbours are carried.
"""

from __future__ import annotations

import math

from tri_backend_cpu.analysis.plan import Scan, View
from tri_backend_cpu.builder import I1, Builder
from tri_backend_cpu.lower.context import Context
from tri_backend_cpu.lower.loops import Loop
from tri_backend_cpu.lower.regions import apply_region
from tri_core.mlir import ir
from tri_core.ttir import DType

__all__ = ["emit_scan"]


def emit_scan(context: Context, scan: Scan) -> None:
    """Emit ``scan`` at the builder's insertion point."""
    _Emitter(context, scan).emit()


class _Emitter:
    """Tensors are taken as [outer, length, inner], the scan running along the middle."""

    def __init__(self, context: Context, scan: Scan) -> None:
        self.context = context
        self.b: Builder = context.b
        op = scan.op
        self.region = op.blocks[0]
        self.sources: list[View] = [context.plan.views[v] for v in op.operands]
        self.targets: list[View] = scan.views
        self.dtypes: list[DType] = [v.dtype for v in op.operands]
        self.reverse = bool(op.attributes["reverse"])
        shape, axis = op.operands[0].shape, op.attributes["axis"]
        self.outer, self.length = math.prod(shape[:axis]), shape[axis]
        self.inner = math.prod(shape[axis + 1 :])

    def emit(self) -> None:
        """Elements along the scan are neighbours (inner is 1), or whole rows are."""
        width = math.gcd(self.length if self.inner == 1 else self.inner, self.context.native_lanes)
        with Loop(self.b, self.outer) as outer:
            if self.inner == 1:
                self.along_vectors(outer, width)
            else:
                with Loop(self.b, self.inner, width) as inner:
                    self.across_vectors(outer, inner, width)

    # --- vectors lie along the scan -----------------------------------------------------------------------

    def along_vectors(self, outer: ir.Value, width: int) -> None:
        b = self.b
        carried = [b.undefined(d) for d in self.dtypes]
        _, block = b.loop(b.i64(0), b.i64(self.length), b.i64(width), carried)
        with b.inside(block):
            step, *before = block.arguments
            start = self.forward(step, self.length - width)
            index = self.flat(outer, start, None)
            values = self.within(self.load(index, width), width)
            first = b.cmp("eq", step, b.i64(0))
            joined = self.combine([b.splat(v, width) for v in before], values)
            values = [b.select(first, v, j) for v, j in zip(values, joined, strict=True)]
            self.store(index, values)
            b.yield_(*(b.extract(v, 0 if self.reverse else width - 1) for v in values))

    def within(self, values: list[ir.Value], width: int) -> list[ir.Value]:
        """The scan of one vector: after the step of distance d, lane i holds the last 2 d elements up to i."""
        b, distance = self.b, 1
        while distance < width:
            lanes = range(width)
            if self.reverse:
                source = [min(i + distance, width - 1) for i in lanes]
                valid = [i + distance < width for i in lanes]
            else:
                source = [max(i - distance, 0) for i in lanes]
                valid = [i >= distance for i in lanes]
            shifted = [b.shuffle(v, v, source) for v in values]
            mask = b.lanes([int(v) for v in valid], I1)
            joined = self.combine(shifted, values)
            values = [b.select(mask, j, v) for j, v in zip(joined, values, strict=True)]
            distance *= 2
        return values

    # --- vectors lie across the scan ----------------------------------------------------------------------

    def across_vectors(self, outer: ir.Value, inner: ir.Value, width: int) -> None:
        b = self.b
        carried = [b.undefined(d, width) for d in self.dtypes]
        _, block = b.loop(b.i64(0), b.i64(self.length), b.i64(1), carried)
        with b.inside(block):
            step, *before = block.arguments
            index = self.flat(outer, self.forward(step, self.length - 1), inner)
            values = self.load(index, width)
            first = b.cmp("eq", step, b.i64(0))
            joined = self.combine(list(before), values)
            values = [b.select(first, v, j) for v, j in zip(values, joined, strict=True)]
            self.store(index, values)
            b.yield_(*values)

    # --- shared ------------------------------------------------------------------------------------------

    def forward(self, step: ir.Value, last: int) -> ir.Value:
        """The place of ``step`` along the scan, from the end when it is reversed."""
        return self.b.same("arith.subi", self.b.i64(last), step) if self.reverse else step

    def flat(self, outer: ir.Value, place: ir.Value, inner: ir.Value | None) -> ir.Value:
        b = self.b
        index = b.same("arith.addi", b.same("arith.muli", outer, b.i64(self.length)), place)
        if inner is None:
            return index
        return b.same("arith.addi", b.same("arith.muli", index, b.i64(self.inner)), inner)

    def load(self, index: ir.Value, width: int) -> list[ir.Value]:
        b = self.b
        return [
            b.load(b.offset(self.context.base(s.buffer), index, d), d, width)
            for s, d in zip(self.sources, self.dtypes, strict=True)
        ]

    def store(self, index: ir.Value, values: list[ir.Value]) -> None:
        b = self.b
        for target, dtype, value in zip(self.targets, self.dtypes, values, strict=True):
            b.store(b.offset(self.context.base(target.buffer), index, dtype), value, dtype)

    def combine(self, left: list[ir.Value], right: list[ir.Value]) -> list[ir.Value]:
        return apply_region(self.b, self.region, [*left, *right], self.context.scalars)
