"""Counted loops as ``with`` blocks."""

from __future__ import annotations

from tri_backend_cpu.builder import Builder
from tri_core.mlir import ir

__all__ = ["Loop"]


class Loop:
    """``for index in range(0, extent, step)``, as a ``with`` block; no loop where there is one iteration."""

    def __init__(self, b: Builder, extent: int, step: int = 1) -> None:
        self.b = b
        self.extent = extent
        self.step = step

    def __enter__(self) -> ir.Value:
        b = self.b
        self.before = b.ip
        if self.extent == self.step:
            return b.i64(0)
        _, block = b.loop(b.i64(0), b.i64(self.extent), b.i64(self.step))
        b.ip = ir.InsertionPoint(block)
        index: ir.Value = block.arguments[0]
        return index

    def __exit__(self, *_: object) -> None:
        if self.extent != self.step:
            self.b.yield_()
        self.b.ip = self.before
