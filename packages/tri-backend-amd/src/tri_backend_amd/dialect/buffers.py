"""Buffer access: a uniform base with bounds, 32-bit byte offsets per lane; what lies out of bounds is masked.

A load out of bounds gives zero and a store does nothing, both without touching memory.  So a mask costs one
select of the offset instead of a branch.

The address is the descriptor's base, plus the lane's offset, plus a uniform one from a scalar register, both unsigned.
What is known of the check, and from where: accesses of several words are checked word by word, on the lane's offset, unsigned and without
coming around (LLVM's "User Guide for AMDGPU Backend", relaxed out-of-bounds mode); atomics are checked as a whole, and the check is chosen
by a field of the descriptor on RDNA (text of AMD's RDNA guide, section on range checking).  Whether the uniform offset counts is reported in
two ways: LLVM's intrinsics leave it out, MLIR's ``amdgpu.raw_buffer_load`` says that it may count, and emulators of GCN compare the lane's
offset with the size less the uniform one.  The CDNA3 guide was not at hand.  So what is masked is out of bounds either way here, and what
is not is in bounds either way.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_amd.dialect import bf16
from tri_backend_amd.dialect.amdg import AMDG
from tri_core.dialects.tt.enums import AtomicOp
from tri_core.ir.traits import Pure
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA
from tri_runtime.simulator import CTA, SubwordMemory

__all__ = [
    "AHEAD",
    "AROUND",
    "ATOMICS",
    "FORWARD",
    "BufferAtomicOp",
    "BufferLoadOp",
    "BufferStoreOp",
    "MakeBufferOp",
    "Window",
    "resolved",
]

_In = ext.Operand[Any]
_Out = ext.Result[Any]
Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class Window:
    """The bytes that a descriptor covers: ``size`` of them, ``before`` of which lie in front of the pointer.

    ``masked``: an unsigned offset of a lane that lies behind them, and does not come around with a vector's width added.
    """

    before: int
    size: int
    masked: int


#: what a 31-bit offset reaches
FORWARD = Window(before=0, size=(1 << 31) - 2, masked=1 << 31)
#: what an unsigned offset reaches: an array of less than 2 GiB from any pointer that is no further than 2 GiB before it, less the
#: 4 KiB of a constant that goes into the instruction
AHEAD = Window(before=0, size=(1 << 32) - 16, masked=(1 << 32) - 16)
#: all that an array of less than 2 GiB can have, wherever in it the pointer points.  LLVM moves constants that are added
#: to offsets into the instruction, and the hardware's sum of both has no end at 32 bits: in the middle of the window nothing
#: comes near that, and 2**31 has no bits that could be moved
AROUND = Window(before=1 << 31, size=(1 << 32) - 16, masked=(1 << 32) - 16)

_BUFFER_SPACE = 8
#: word 3 of a descriptor: 32-bit elements; on RDNA bounds are checked for raw offsets (28, 29 set), bit 24 is reserved.
#: Of CDNA5's LLVM takes the upper 4 bits from here: no swizzle, offsets are held against the size (LLVM's ``AMDGPUToROCDL.cpp``)
_FLAGS = {"gcn": 0x00027000, "cdna": 0x00027000, "cdna5": 0, "rdna2": 0x31014000, "rdna": 0x31004000}
#: bits of an address in a descriptor, where its size begins right above them (LLVM: ``Feature45BitNumRecordsBufferResource``)
_ADDRESS_BITS = {"cdna5": 57}


def descriptor_flags(family: str) -> int:
    """Word 3 of a buffer descriptor for a processor of ``family`` (``"cdna3"``, ``"rdna4"``)."""
    return _FLAGS[family] if family in _FLAGS else _FLAGS[family.rstrip("0123456789")]


def address_bits(family: str) -> int:
    """Bits to which a base must be cut for a descriptor; 64 where LLVM and the hardware take any address."""
    return _ADDRESS_BITS.get(family, 64)


class MakeBufferOp(MachineOp, dialect=AMDG, name="make_buffer", traits=[Pure]):
    """A buffer descriptor for ``records`` bytes from ``base`` on, a uniform pointer to global memory.

    The base is cut to ``address_bits``: what is before an address that is near zero, of an empty array, say, must not spill into the size.
    """

    base: _In
    flags: ir.IntegerAttr
    address_bits: ir.IntegerAttr
    records: ir.IntegerAttr
    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """No stride."""
        base, bits = self.base, self.address_bits.value
        if bits < 64:
            mask = b.const(b.i64, (1 << bits) - 1)
            (base,) = b.intrinsic("llvm.ptrmask.p1.i64", [base, mask], [b.ptr(1)])
        operands = [
            base,
            b.const(b.i16, 0),
            b.const(b.i64, self.records.value),
            b.int_(self.flags.value),
        ]
        return b.intrinsic("llvm.amdgcn.make.buffer.rsrc.p8.p1", operands, [b.ptr(_BUFFER_SPACE)])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Base and size of every thread."""
        base = operands[0].astype(np.int64)
        return [np.stack([base, np.full_like(base, self.records.value)], axis=1)]


def _suffix(type_: ir.Type) -> str:
    """Spelling of ``type_`` in the name of one of LLVM's overloaded intrinsics."""
    if isinstance(type_, ir.VectorType):
        return f"v{type_.shape[0]}{_suffix(type_.element_type)}"
    return str(type_)


def resolved(cta: SimulatedCTA, descriptor: Array, offset: Array, uniform: Array) -> tuple[Array, Array]:
    """The address of every thread, and where it is in bounds on all chips."""
    lane, same = (v.astype(np.uint32).astype(np.int64) for v in (offset, uniform))
    inside = cta.active & (lane < descriptor[:, 1] - same)
    return descriptor[:, 0] + np.where(inside, lane + same, 0), inside


class BufferLoadOp(MachineOp, dialect=AMDG, name="raw_buffer_load"):
    """A scalar or vector at ``offset`` plus ``uniform`` bytes of ``buffer``; zero out of bounds.

    ``uniform`` is the same in all lanes.  ``cache`` is LLVM's aux word.
    """

    buffer: _In
    offset: _In
    uniform: _In
    cache: ir.IntegerAttr
    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """An intrinsic."""
        type_ = self.result.type
        operands = [self.buffer, self.offset, self.uniform, b.int_(self.cache.value)]
        return b.intrinsic(f"llvm.amdgcn.raw.ptr.buffer.load.{_suffix(type_)}", operands, [type_])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """A load where in bounds."""
        address, inside = resolved(cta, *operands)
        dtype, count = _numpy_type(self.result.type)
        with _volatile(cta, self.cache.value, address, inside, dtype.itemsize * count):
            values = cta.memory(1).load(address, dtype, inside, count).reshape(cta.num_threads, count)
        return [values if isinstance(self.result.type, ir.VectorType) else values[:, 0]]


class BufferStoreOp(MachineOp, dialect=AMDG, name="raw_buffer_store"):
    """Writes a scalar or vector at ``offset`` plus ``uniform`` bytes of ``buffer``, nothing out of bounds."""

    value: _In
    buffer: _In
    offset: _In
    uniform: _In
    cache: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """An intrinsic."""
        name = f"llvm.amdgcn.raw.ptr.buffer.store.{_suffix(self.value.type)}"
        operands = [self.value, self.buffer, self.offset, self.uniform, b.int_(self.cache.value)]
        b.intrinsic(name, operands, [])
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """A store where in bounds."""
        value, *place = operands
        address, inside = resolved(cta, *place)
        written = isinstance(cta, CTA) and _is_volatile(self.cache.value)
        with cta.memory(1).written_through() if written else nullcontext():
            cta.memory(1).store(address, value, inside)
        return []


#: LLVM's names of read-modify-writes of 32 bits
ATOMICS = {
    AtomicOp.XCHG: "swap", AtomicOp.ADD: "add", AtomicOp.AND: "and", AtomicOp.OR: "or", AtomicOp.XOR: "xor", AtomicOp.MAX: "smax",
    AtomicOp.MIN: "smin", AtomicOp.UMAX: "umax", AtomicOp.UMIN: "umin", AtomicOp.FADD: "fadd",
}  # fmt: skip
_UPDATES: dict[AtomicOp, Callable[[Array, Array], Array]] = {
    AtomicOp.XCHG: lambda _, new: new, AtomicOp.ADD: np.add, AtomicOp.AND: np.bitwise_and, AtomicOp.OR: np.bitwise_or,
    AtomicOp.XOR: np.bitwise_xor, AtomicOp.MAX: np.maximum, AtomicOp.MIN: np.minimum, AtomicOp.FADD: np.add,
    AtomicOp.UMAX: lambda a, b: np.maximum(a.view(np.uint32), b.view(np.uint32)).view(np.int32),
    AtomicOp.UMIN: lambda a, b: np.minimum(a.view(np.uint32), b.view(np.uint32)).view(np.int32),
}  # fmt: skip


class BufferAtomicOp(MachineOp, dialect=AMDG, name="raw_buffer_atomic"):
    """Read-modify-write (``kind``, an ``AtomicOp``) of i32 or f32, or an addition of two f16 or bf16 in a word, at ``offset`` plus ``uniform`` bytes, relaxed; gives the old value.

    Out of bounds nothing is done, and the old value is zero.

    Where the word is that around a float without a neighbour, ``element`` is the offset of this, and ``element_bytes`` its size: the
    rest of the word, to which negative zero is added, may lie behind the user's array.  Elsewhere they are ``offset`` and the word's.
    """

    computes_floats = True

    value: _In
    buffer: _In
    offset: _In
    uniform: _In
    element: _In
    kind: ir.IntegerAttr
    cache: ir.IntegerAttr
    element_bytes: ir.IntegerAttr
    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """An intrinsic."""
        name = ATOMICS[AtomicOp(self.kind.value)]
        operands = [self.value, self.buffer, self.offset, self.uniform, b.int_(self.cache.value)]
        type_ = self.value.type
        return b.intrinsic(f"llvm.amdgcn.raw.ptr.buffer.atomic.{name}.{_suffix(type_)}", operands, [type_])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """One thread after the other, where in bounds."""
        value, buffer, offset, uniform, element = operands
        address, inside = resolved(cta, buffer, offset, uniform)
        update, memory = _UPDATES[AtomicOp(self.kind.value)], cta.memory(1)
        if str(getattr(self.value.type, "element_type", "")) == "bf16":
            update = _on_bf16(update)
        word = value.dtype if value.ndim == 1 else np.dtype(np.int32)
        old = np.zeros_like(value)
        threads, elements, nbytes = np.flatnonzero(inside), address, self.element_bytes.value
        if nbytes < word.itemsize:
            elements = address + (element.astype(np.int64) - offset.astype(np.int64)) % word.itemsize
            memory = SubwordMemory(memory, elements, nbytes)
        with _atomic(cta, elements[threads], threads, nbytes), np.errstate(over="ignore"):
            for thread in threads:
                alone = np.arange(cta.num_threads) == thread
                loaded = memory.load(address, word, alone)[thread : thread + 1]
                old[thread] = loaded.view(value.dtype) if value.ndim > 1 else loaded[0]
                after = np.ascontiguousarray(update(old[thread : thread + 1], value[thread : thread + 1]))
                memory.store(address, np.broadcast_to(after.reshape(-1).view(word), len(value)), alone)
        return [old]


def _on_bf16(update: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """``update`` of f32 for bits of bf16."""
    return lambda old, new: bf16.from_f32(update(bf16.to_f32(old), bf16.to_f32(new)))


def _atomic(cta: object, addresses: Array, threads: Array, nbytes: int) -> AbstractContextManager[None]:
    """Tells a simulator that looks for races that relaxed atomics are done inside."""
    return cta.memory(1).atomic(addresses, threads, nbytes) if isinstance(cta, CTA) else nullcontext()


def _volatile(
    cta: object, cache: int, addresses: Array, inside: Array, nbytes: int
) -> AbstractContextManager[None]:
    """Tells a simulator that loads inside go to memory, where the aux word ``cache`` says so."""
    if not isinstance(cta, CTA) or not _is_volatile(cache):
        return nullcontext()
    return cta.memory(1).volatile(addresses, inside, nbytes)


def _is_volatile(cache: int) -> bool:
    """True if LLVM's aux word has its bit for volatile accesses, the highest."""
    return bool(cache & 1 << 31)


def _numpy_type(type_: ir.Type) -> tuple[np.dtype[np.generic], int]:
    """The array type of a scalar or of a vector's elements, and their number."""
    if isinstance(type_, ir.VectorType):
        return _numpy_type(type_.element_type)[0], type_.shape[0]
    names = {"f16": "float16", "bf16": "uint16", "f32": "float32", "f64": "float64"}
    return np.dtype(names.get(str(type_), f"int{getattr(type_, 'width', 64)}")), 1
