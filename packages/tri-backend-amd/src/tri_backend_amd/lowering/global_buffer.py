"""One array in global memory behind a buffer descriptor: loads and stores by 32-bit offsets in bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from tri_backend_amd.dialect import BufferLoadOp, BufferStoreOp, MakeBufferOp
from tri_backend_amd.dialect.buffers import OUT_OF_BOUNDS, descriptor_flags
from tri_core.errors import InternalError
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder

__all__ = ["GlobalBuffer"]

_DYNAMIC = -(1 << 31)
_DESCRIPTOR_SPACE = 8


@dataclass(frozen=True)
class GlobalBuffer:
    """``base`` is a uniform pointer, ``descriptor`` the buffer descriptor made of it."""

    base: ir.Value
    descriptor: ir.Value

    @classmethod
    def make(cls, b: Builder, base: ir.Value, family: str) -> Self:
        """A descriptor for ``base`` on a processor of ``family``."""
        flags = {"flags": ir.IntegerAttr.get(b.i32, descriptor_flags(family))}
        return cls(base, MakeBufferOp.build([base], [b.ptr(_DESCRIPTOR_SPACE)], flags)[0])

    def load(
        self,
        b: Builder,
        pointer: ir.Value,
        type_: ir.Type,
        predicate: ir.Value | None,
        other: ir.Value | None,
    ) -> ir.Value:
        """A scalar or vector of ``type_``; zero, or ``other``, where ``predicate`` is false."""
        words = _carrier(b, type_)
        attributes = {"cache": ir.IntegerAttr.get(b.i32, 0)}
        offset = self._offset(b, pointer, predicate)
        loaded = b.bitcast(BufferLoadOp.build([self.descriptor, offset], [words], attributes)[0], type_)
        if predicate is None or other is None:
            return loaded
        return b.select(predicate, loaded, other)

    def store(self, b: Builder, pointer: ir.Value, value: ir.Value, predicate: ir.Value | None) -> None:
        """Write ``value``, a scalar or vector, where ``predicate`` is true."""
        words = b.bitcast(value, _carrier(b, value.type))
        attributes = {"cache": ir.IntegerAttr.get(b.i32, 0)}
        BufferStoreOp.build([words, self.descriptor, self._offset(b, pointer, predicate)], [], attributes)

    def _offset(self, b: Builder, pointer: ir.Value, predicate: ir.Value | None) -> ir.Value:
        total = b.int_(0)
        while pointer != self.base:
            pointer, bytes_ = _step(b, pointer)
            total = b.add(total, bytes_)
        return total if predicate is None else b.select(predicate, total, b.int_(OUT_OF_BOUNDS))


def _step(b: Builder, pointer: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The pointer that ``pointer`` was moved from, and by how many bytes."""
    if isinstance(pointer, ir.BlockArgument) or pointer.owner.name != "llvm.getelementptr":
        raise InternalError(f"{pointer} is not its base plus offsets")
    op = pointer.owner
    size = (ir.TypeAttr(op.attributes["elem_type"]).value.width + 7) // 8
    (constant,) = ir.DenseI32ArrayAttr(op.attributes["rawConstantIndices"])
    if constant != _DYNAMIC:
        return op.operands[0], b.int_(constant * size)
    return op.operands[0], b.mul(b.int_cast(op.operands[1], b.i32, signed=True), b.int_(size))


def _carrier(b: Builder, type_: ir.Type) -> ir.Type:
    """The type that a buffer instruction moves for ``type_``: 8, 16 or 32 bits, or vectors of 32."""
    count = type_.shape[0] if isinstance(type_, ir.VectorType) else 1
    bits = count * (type_.element_type if count > 1 else type_).width
    return b.int_type(bits) if bits <= 32 else b.vector_type(b.i32, bits // 32)
