"""One array in global memory behind a buffer descriptor: loads, stores and atomics by 32-bit offsets in bytes."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Self

from tri_backend_amd.dialect import (
    BufferAtomicOp,
    BufferLoadLdsOp,
    BufferLoadOp,
    BufferStoreOp,
    MakeBufferOp,
)
from tri_backend_amd.dialect.buffers import Window, address_bits, descriptor_flags
from tri_backend_amd.dialect.copies import SCOPES
from tri_backend_amd.lowering.cache_policy import aux_word
from tri_core.dialects.tt.enums import AtomicOp
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Access, Builder, element_in_word

__all__ = ["GlobalBuffer"]

_DYNAMIC = -(1 << 31)
_DESCRIPTOR_SPACE = 8
#: aux bits of atomics for the device, by family; elsewhere atomics are done in the cache that all of it shares
_DEVICE = {"rdna4": 16, "cdna5": 16}


@dataclass(frozen=True)
class GlobalBuffer:
    """``descriptor`` covers ``window`` around ``base``, a uniform pointer, on a processor of ``family``.

    ``uniform``: offsets that all lanes have in common, none of them negative.
    """

    base: ir.Value
    descriptor: ir.Value
    window: Window
    uniform: AbstractSet[ir.Value]
    family: str

    @classmethod
    def make(
        cls, b: Builder, base: ir.Value, window: Window, uniform: AbstractSet[ir.Value], family: str
    ) -> Self:
        """A descriptor, made here."""
        attributes = {
            "flags": ir.IntegerAttr.get(b.i32, descriptor_flags(family)),
            "address_bits": ir.IntegerAttr.get(b.i32, address_bits(family)),
            "records": ir.IntegerAttr.get(b.i64, window.size),
        }
        begin = b.gep(base, b.int_(-window.before, 64), b.int_type(8)) if window.before else base
        made = MakeBufferOp.build([begin], [b.ptr(_DESCRIPTOR_SPACE)], attributes)[0]
        return cls(base, made, window, uniform, family)

    def load(
        self,
        b: Builder,
        pointer: ir.Value,
        type_: ir.Type,
        predicate: ir.Value | None,
        other: ir.Value | None,
        access: Access,
    ) -> ir.Value:
        """A scalar or vector of ``type_``; zero, or ``other``, where ``predicate`` is false."""
        place = [self.descriptor, *self._offsets(b, pointer, predicate)]
        cache = {"cache": ir.IntegerAttr.get(b.i32, aux_word(self.family, access, store=False))}
        loaded = b.bitcast(BufferLoadOp.build(place, [_carrier(b, type_)], cache)[0], type_)
        if predicate is None or other is None:
            return loaded
        return b.select(predicate, loaded, other)

    def store(
        self, b: Builder, pointer: ir.Value, value: ir.Value, predicate: ir.Value | None, access: Access
    ) -> None:
        """Write ``value``, a scalar or vector, where ``predicate`` is true."""
        words = b.bitcast(value, _carrier(b, value.type))
        place = [self.descriptor, *self._offsets(b, pointer, predicate)]
        cache = {"cache": ir.IntegerAttr.get(b.i32, aux_word(self.family, access, store=True))}
        BufferStoreOp.build([words, *place], [], cache)

    def copy(
        self,
        b: Builder,
        pointer: ir.Value,
        destination: ir.Value,
        width: int,
        predicate: ir.Value | None,
        access: Access,
        scopes: ir.Attribute,
    ) -> None:
        """Start a copy of ``width`` bytes a lane to LDS at ``destination``, the wavefront's; zeros where ``predicate`` is false.

        ``scopes``: the alias scopes of what it writes.
        """
        attributes = {
            "width": ir.IntegerAttr.get(b.i32, width),
            "cache": ir.IntegerAttr.get(b.i32, aux_word(self.family, access, store=False)),
            SCOPES: scopes,
        }
        place = [self.descriptor, destination, *self._offsets(b, pointer, predicate)]
        BufferLoadLdsOp.build(place, [], attributes)

    def atomic(
        self, b: Builder, kind: AtomicOp, pointer: ir.Value, value: ir.Value, predicate: ir.Value | None
    ) -> ir.Value:
        """A relaxed read-modify-write for all of the device, of i32, f32 or two floats of 16 bits, where ``predicate`` is true; gives the old value."""
        attributes = {
            "kind": ir.IntegerAttr.get(b.i32, kind),
            "cache": ir.IntegerAttr.get(b.i32, _DEVICE.get(self.family, 0)),
        }
        lane, same = self._offsets(b, pointer, predicate)
        element, nbytes = lane, 4
        if (narrow := element_in_word(pointer)) is not None:
            address, nbytes = narrow
            element, _ = self._offsets(b, address, predicate)
        attributes["element_bytes"] = ir.IntegerAttr.get(b.i32, nbytes)
        operands = [value, self.descriptor, lane, same, element]
        return BufferAtomicOp.build(operands, [value.type], attributes)[0]

    def _offsets(
        self, b: Builder, pointer: ir.Value, predicate: ir.Value | None
    ) -> tuple[ir.Value, ir.Value]:
        """A lane's offset from the descriptor's first byte on, and what all lanes have in common, in bytes.

        Modulo 2**32: exact wherever the access is in the window.
        """
        # the offset of the window goes to the one that all of a lane's accesses have in common: the innermost
        lane, same = b.int_(self.window.before), b.int_(0)
        for bytes_, is_uniform in reversed(list(self._steps(b, pointer))):
            lane, same = (lane, b.add(same, bytes_)) if is_uniform else (b.add(lane, bytes_), same)
        if predicate is not None:
            lane = b.select(predicate, lane, b.int_(self.window.masked - (1 << 32)))
        return lane, same

    def _steps(self, b: Builder, pointer: ir.Value) -> Iterator[tuple[ir.Value, bool]]:
        """The offsets in bytes that lead from the base to ``pointer``, the last one first, and which are uniform."""
        while pointer != self.base:
            moved = _moved(b, pointer)
            if moved is None:
                yield b.sub(*(b.int_cast(b.ptr_to_int(each), b.i32) for each in (pointer, self.base))), False
                return
            is_uniform = any(value in self.uniform for value in pointer.owner.operands)
            pointer, bytes_ = moved
            yield bytes_, is_uniform


def _moved(b: Builder, pointer: ir.Value) -> tuple[ir.Value, ir.Value] | None:
    """The pointer that ``pointer`` was moved from, and by how many bytes; None where it comes from elsewhere."""
    if isinstance(pointer, ir.BlockArgument) or pointer.owner.name != "llvm.getelementptr":
        return None
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
