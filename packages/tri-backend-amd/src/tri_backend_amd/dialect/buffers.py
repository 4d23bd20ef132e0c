"""Buffer access: a uniform base with bounds, 32-bit byte offsets per lane; what lies out of bounds is masked.

A load out of bounds gives zero and a store does nothing, both without touching memory.  So a mask costs one
select of the offset instead of a branch.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_amd.dialect.amdg import AMDG
from tri_core.ir.traits import Pure
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["NUM_RECORDS", "OUT_OF_BOUNDS", "BufferLoadOp", "BufferStoreOp", "MakeBufferOp"]

_In = ext.Operand[Any]
_Out = ext.Result[Any]
Array = npt.NDArray[np.generic]

#: bytes that every buffer descriptor covers: all of a 31-bit offset
NUM_RECORDS = 0x7FFFFFFE
#: an offset (unsigned) that lies beyond any descriptor's bounds, also with a vector's width added
OUT_OF_BOUNDS = -(1 << 31)

_BUFFER_SPACE = 8
#: word 3 of a descriptor: 32-bit elements; on RDNA bounds are checked for raw offsets (28, 29 set), bit 24 is reserved
_FLAGS = {"cdna": 0x00027000, "rdna2": 0x31014000, "rdna": 0x31004000}


def descriptor_flags(family: str) -> int:
    """Word 3 of a buffer descriptor for a processor of ``family`` (``"cdna3"``, ``"rdna4"``)."""
    return _FLAGS.get(family) or _FLAGS[family.rstrip("0123456789")]


class MakeBufferOp(MachineOp, dialect=AMDG, name="make_buffer", traits=[Pure]):
    """A buffer descriptor for ``base``, a uniform pointer to global memory."""

    base: _In
    flags: ir.IntegerAttr
    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """No stride, all of a 31-bit offset."""
        operands = [
            self.base,
            b.const(b.i16, 0),
            b.const(b.i64, NUM_RECORDS),
            b.int_(self.flags.value),
        ]
        return b.intrinsic("llvm.amdgcn.make.buffer.rsrc.p8.p1", operands, [b.ptr(_BUFFER_SPACE)])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The base itself stands for the descriptor."""
        return [operands[0]]


def _suffix(type_: ir.Type) -> str:
    """How LLVM spells ``type_`` in the name of an overloaded intrinsic."""
    if isinstance(type_, ir.VectorType):
        return f"v{type_.shape[0]}{_suffix(type_.element_type)}"
    return str(type_)


def _in_bounds(offset: Array) -> Array:
    return offset.astype(np.uint32) < np.uint32(NUM_RECORDS)


class BufferLoadOp(MachineOp, dialect=AMDG, name="raw_buffer_load"):
    """A scalar or vector at ``offset`` bytes of ``buffer``; zero out of bounds.  ``cache`` is LLVM's aux word."""

    buffer: _In
    offset: _In
    cache: ir.IntegerAttr
    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """An intrinsic."""
        type_ = self.result.type
        operands = [self.buffer, self.offset, b.int_(0), b.int_(self.cache.value)]
        return b.intrinsic(f"llvm.amdgcn.raw.ptr.buffer.load.{_suffix(type_)}", operands, [type_])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """A load where in bounds."""
        base, offset = operands
        dtype, count = _numpy_type(self.result.type)
        inside = cta.active & _in_bounds(offset)
        address = base.astype(np.int64) + np.where(inside, offset, 0)
        values = cta.memory(1).load(address, dtype, inside, count).reshape(cta.num_threads, count)
        return [values if isinstance(self.result.type, ir.VectorType) else values[:, 0]]


class BufferStoreOp(MachineOp, dialect=AMDG, name="raw_buffer_store"):
    """Writes a scalar or vector at ``offset`` bytes of ``buffer``, nothing out of bounds."""

    value: _In
    buffer: _In
    offset: _In
    cache: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """An intrinsic."""
        name = f"llvm.amdgcn.raw.ptr.buffer.store.{_suffix(self.value.type)}"
        b.intrinsic(name, [self.value, self.buffer, self.offset, b.int_(0), b.int_(self.cache.value)], [])
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """A store where in bounds."""
        value, base, offset = operands
        inside = cta.active & _in_bounds(offset)
        address = base.astype(np.int64) + np.where(inside, offset, 0)
        cta.memory(1).store(address, value, inside)
        return []


def _numpy_type(type_: ir.Type) -> tuple[np.dtype[np.generic], int]:
    """The array type of a scalar or of a vector's elements, and their number."""
    if isinstance(type_, ir.VectorType):
        return _numpy_type(type_.element_type)[0], type_.shape[0]
    names = {"f16": "float16", "bf16": "uint16", "f32": "float32", "f64": "float64"}
    return np.dtype(names.get(str(type_), f"int{getattr(type_, 'width', 64)}")), 1
