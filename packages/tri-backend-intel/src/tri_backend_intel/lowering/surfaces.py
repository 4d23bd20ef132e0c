"""Descriptors as what 2D blocks and accesses by elements need of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from tri_backend_intel.transforms.surfaces import ANY, BASE, MOST
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Lowered, Lowering

__all__ = ["Surface", "make_surface"]


@dataclass(frozen=True)
class Surface:
    """A descriptor of rank 2.

    ``base``, ``width``, ``height`` and ``pitch`` are those of 2D blocks (i32, bytes; a base of 64 bytes), whose first element is
    ``shift`` elements from there on.  ``pointer``, ``rows``, ``columns`` (i32) and ``stride`` (i64) are as the source has them,
    in elements.
    """

    base: ir.Value
    width: ir.Value
    height: ir.Value
    pitch: ir.Value
    shift: ir.Value
    pointer: ir.Value
    rows: ir.Value
    columns: ir.Value
    stride: ir.Value

    def parts(self) -> list[ir.Value]:
        """All of it."""
        return [getattr(self, f.name) for f in fields(self)]

    def rebuilt(self, parts: list[ir.Value]) -> Surface:
        """Of other values."""
        return Surface(*parts)


def make_surface(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.make_tensor_descriptor``: a base within 64 bytes is met by moving x.

    Whether hardware takes the surface is asked elsewhere (:mod:`tri_backend_intel.transforms.version_tiles`).
    """
    b = ctx.b
    pointer, rows, columns, stride, _ = (ctx.scalar(v) for v in op.operands)
    size = op.results[0].type.block_type.element_type.width // 8
    address = b.ptr_to_int(pointer)
    over = b.and_(address, b.int_(BASE - 1, 64))
    base = b.int_to_ptr(b.sub(address, over), pointer.type)
    beyond = b.int_cast(over, b.i32)
    pitch = b.int_cast(b.mul(b.int_cast(stride, b.i64, signed=True), b.int_(size, 64)), b.i32)
    width = pitch if b.known(columns) == ANY else b.add(b.mul(columns, b.int_(size)), beyond)
    height = b.int_(MOST) if b.known(rows) == ANY else rows
    shift = b.lshr(beyond, size.bit_length() - 1)
    wide = b.int_cast(stride, b.i64, signed=True)
    return [Surface(base, width, height, pitch, shift, pointer, rows, columns, wide)]
