"""Dots of blocks in the arena.

Tiles of the accumulator stay in registers for the whole inner dimension: per step, one row of vectors of b
is loaded, and each of a few elements of a, spread over a vector, is multiplied with all of them.  Narrow
operands were widened to the accumulator's type when they were written to the arena.
"""

from __future__ import annotations

import math

from tri_backend_cpu.analysis.plan import Dot, View
from tri_backend_cpu.builder import Builder
from tri_backend_cpu.lower.context import Context
from tri_backend_cpu.lower.loops import Loop
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.ttir import DType

__all__ = ["Tile", "emit_dot"]


@dataclass(frozen=True)
class Tile:
    """A tile of the accumulator: ``rows`` times ``vectors`` vectors of ``width`` lanes."""

    rows: int
    vectors: int
    width: int

    @classmethod
    def of(cls, m: int, n: int, lanes: int, registers: int) -> Tile:
        """The best tile for an m x n block.

        It leaves registers for a row of b and an element of a, and loads as little as possible per multiplication.
        """
        width = math.gcd(n, lanes)
        choices = [
            cls(rows, vectors, width)
            for rows in (1, 2, 4, 8, 16)
            for vectors in (1, 2, 4, 8)
            if m % rows == 0 and n % (vectors * width) == 0 and rows * vectors + vectors + 1 <= registers
        ]
        return min(choices, key=lambda t: (1 / t.rows + 1 / t.vectors, t.rows))


def emit_dot(context: Context, dot: Dot) -> None:
    """Emit ``dot`` at the builder's insertion point."""
    _Emitter(context, dot).emit()


class _Emitter:
    def __init__(self, context: Context, dot: Dot) -> None:
        self.context = context
        self.b: Builder = context.b
        self.dot = dot
        op = dot.op
        self.dtype: DType = op.result.dtype
        self.a, self.b_view = (context.plan.views[v] for v in (dot.a, dot.b))
        self.c: View | None = None if dot.starts_at_zero else context.plan.views[dot.accumulator]
        *self.batch, self.m, self.n = op.result.shape
        self.k = dot.a.shape[-1]
        lanes = max(context.native_lanes * 32 // max(self.dtype.bits, 32), 1)
        self.tile = Tile.of(self.m, self.n, lanes, context.features.registers)

    def emit(self) -> None:
        b = self.b
        b.location = self.dot.op.location
        batches = math.prod(self.batch)
        columns = Loop(b, self.n, self.tile.vectors * self.tile.width)
        with Loop(b, batches) as batch, Loop(b, self.m, self.tile.rows) as row, columns as column:
            self.emit_tile(batch, row, column)

    def emit_tile(self, batch: ir.Value, row: ir.Value, column: ir.Value) -> None:
        b, tile = self.b, self.tile
        out = self.at(self.dot.view, batch, row, column, self.m, self.n)
        start = None if self.c is None else self.at(self.c, batch, row, column, self.m, self.n)
        left = self.at(self.a, batch, row, None, self.m, self.k)
        right = self.at(self.b_view, batch, None, column, self.k, self.n)
        zero = b.constant(0.0 if self.dtype.is_float else 0, self.dtype, tile.width)
        vectors = [(i, j) for i in range(tile.rows) for j in range(tile.vectors)]
        initial = [
            zero if start is None else b.load(self.vector_address(start, i, j), self.dtype, tile.width)
            for i, j in vectors
        ]
        loop, block = b.loop(b.i64(0), b.i64(self.k), b.i64(1), initial)
        with b.inside(block):
            index, *accumulators = block.arguments
            b.yield_(*self.step(left, right, index, accumulators))
        for (i, j), value in zip(vectors, loop.results, strict=True):
            b.store(self.vector_address(out, i, j), value, self.dtype)

    def step(
        self, left: ir.Value, right: ir.Value, index: ir.Value, accumulators: list[ir.Value]
    ) -> list[ir.Value]:
        """One step along the inner dimension."""
        b, tile = self.b, self.tile
        row = b.offset(right, b.same("arith.muli", index, b.i64(self.n)), self.dtype)
        vectors = [
            b.load(b.offset(row, j * tile.width, self.dtype), self.dtype, tile.width)
            for j in range(tile.vectors)
        ]
        column = b.offset(left, index, self.dtype)
        results = []
        for i in range(tile.rows):
            element = b.splat(b.load(b.offset(column, i * self.k, self.dtype), self.dtype), tile.width)
            for j, vector in enumerate(vectors):
                results.append(self.multiply_add(element, vector, accumulators[i * tile.vectors + j]))
        return results

    def multiply_add(self, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
        if not self.dtype.is_float:
            return self.b.same("arith.addi", self.b.same("arith.muli", x, y), z)
        if self.context.features.fma:
            return self.b.same("math.fma", x, y, z)
        return self.b.same("arith.addf", self.b.same("arith.mulf", x, y), z)

    def at(
        self,
        view: View,
        batch: ir.Value,
        row: ir.Value | None,
        column: ir.Value | None,
        rows: int,
        columns: int,
    ) -> ir.Value:
        """The address of element (batch, row, column) of a dense ``view`` of rows x columns matrices."""
        b = self.b
        index = b.same("arith.muli", batch, b.i64(rows * columns))
        if row is not None:
            index = b.same("arith.addi", index, b.same("arith.muli", row, b.i64(columns)))
        if column is not None:
            index = b.same("arith.addi", index, column)
        return b.offset(self.context.base(view.buffer), index, self.dtype)

    def vector_address(self, tile_address: ir.Value, i: int, j: int) -> ir.Value:
        """The address of a vector of an accumulator tile."""
        return self.b.offset(tile_address, i * self.n + j * self.tile.width, self.dtype)
