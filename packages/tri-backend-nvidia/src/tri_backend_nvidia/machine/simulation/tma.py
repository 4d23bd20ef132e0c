"""The tensor memory accelerator in NumPy: boxes of a tensor, as the simulator's form of a tensor map describes them.

See :mod:`tri_runtime.simulator.tensor_map`.  In shared memory a box lies row by row; with a swizzle, 16-byte pieces are
permuted by their address: bits 4 to 6 by xor with bits 7 to 9 (128 bytes), bits 4 and 5 with 7 and 8 (64), bit 4 with
bit 7 (32).  CUDA C++ Programming Guide, "TMA swizzle".
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_nvidia.machine.simulation import map_tracking
from tri_backend_nvidia.machine.simulation.cluster import receivers
from tri_backend_nvidia.machine.simulation.mbarrier import uniform, used
from tri_backend_nvidia.machine.simulation.updates import UPDATES
from tri_core.errors import SimulationError
from tri_gpu_dialect.lowering import SimulatedCTA
from tri_runtime.simulator import CTA, as_cta
from tri_runtime.simulator.cluster import window
from tri_runtime.simulator.tensor_map import FIELDS, MAP_BYTES, TensorMap
from tri_runtime.simulator.values import to_bf16, to_f32

__all__ = ["load", "prefetch", "publish", "replace", "store", "swizzled_places"]

Array = npt.NDArray[Any]

_GLOBAL, _SHARED = 1, 3
#: the mask of CTAs has so many bits
_ALL_CTAS = 0xFFFF
#: a barrier in memory
_STATE = np.dtype(np.uint64)
#: what shared memory is aligned to for a copy
_ALIGNMENT = 128
#: bytes of what rows consist of
_PIECE = 16
#: every 32 bits outside of a tensor that is filled with NaN, as an H200 has it for f16: a NaN as f32, and as two f16 or
#: bf16; that it is the same word for other types is not measured
_NAN_WORD = 0x7FF77FF7
#: reductions that end in an illegal instruction for 64-bit integers with a sign
_NOT_SIGNED = frozenset({"add", "and", "or", "xor"})
#: bits of the address, from bit 7 on, that a swizzle xors onto bit 4 and following
_SWIZZLE_BITS = {0: 0, 32: 1, 64: 3, 128: 7}


def _error(cta: CTA, check: str, message: str, thread: int, remedy: str) -> SimulationError:
    return cta.scene.error(check, message, thread=thread, remedy=remedy)


def _copying(cta: SimulatedCTA, predicate: Array) -> tuple[CTA, int] | None:
    """The CTA and the one thread that copies; None when none does."""
    real, threads = as_cta(cta), np.flatnonzero(cta.active & predicate)
    if not len(threads):
        return None
    if len(threads) > 1:
        raise _error(
            real,
            "asynchronous",
            f"{len(threads)} threads start the same TMA copy",
            int(threads[0]),
            "elect one",
        )
    return real, int(threads[0])


def _map(cta: CTA, address: Array, thread: int) -> TensorMap:
    place = int(address[thread])
    if place % 64:
        raise _error(
            cta, "misaligned", f"a tensor map at {place:#x}", thread, "place it at a multiple of 64 bytes"
        )
    data = cta.memory(_GLOBAL).read_rows(np.array([place]), MAP_BYTES, thread)[0]
    try:
        return TensorMap.decode(data.tobytes())
    except ValueError as error:
        raise _error(
            cta, "asynchronous", f"at {place:#x} is no tensor map: {error}", thread, "make it first"
        ) from error


def swizzled_places(address: int, nbytes: int, swizzle: int) -> Array:
    """Places of the bytes of a box at ``address``, relative to it; ``swizzle`` in bytes, 0 for none."""
    at = address + np.arange(nbytes)
    return (at ^ (((at >> 7) & _SWIZZLE_BITS[swizzle]) << 4)) - address


def _place(cta: CTA, tensor: TensorMap, address: Array, thread: int) -> tuple[int, int]:
    """The address of a box in shared memory, and its bytes."""
    place = int(address[thread])
    if place % _ALIGNMENT:
        message = f"a TMA copy at shared address {place:#x}, which is no multiple of {_ALIGNMENT}"
        raise _error(cta, "misaligned", message, thread, "align the buffer")
    nbytes = int(np.prod(tensor.counts)) * tensor.element_bytes
    if tensor.swizzle and tensor.counts[0] * tensor.element_bytes != tensor.swizzle:
        message = f"a box with rows of {tensor.counts[0] * tensor.element_bytes} bytes and a swizzle of {tensor.swizzle}"
        raise _error(cta, "asynchronous", message, thread, "make rows as wide as the swizzle")
    return place, nbytes


def _rows(tensor: TensorMap, coordinates: Sequence[int]) -> tuple[Array, Array, slice]:
    """Addresses of the rows of a box at the first element inside, which rows are inside, and which elements."""
    axes = [
        start + step * np.arange(count)
        for start, step, count in zip(coordinates, tensor.steps, tensor.counts, strict=True)
    ]
    inside = [(axis >= 0) & (axis < size) for axis, size in zip(axes, tensor.dims, strict=True)]
    columns = np.flatnonzero(inside[0])
    first, last = (int(columns[0]), int(columns[-1]) + 1) if len(columns) else (0, 0)
    address = np.array(tensor.address + int(axes[0][first]) * tensor.element_bytes)
    mask = np.array(bool(len(columns)))
    for axis, inner, stride in zip(axes[1:], inside[1:], tensor.strides, strict=True):
        address = (axis * stride).reshape(-1, *([1] * address.ndim)) + address
        mask = inner.reshape(-1, *([1] * mask.ndim)) & mask
    return address.reshape(-1), mask.reshape(-1), slice(first, last)


def _checked(cta: CTA, tensor: TensorMap, thread: int) -> None:
    if tensor.steps[0] != 1:
        raise _error(cta, "asynchronous", "an element stride of the contiguous dimension", thread, "use 1")


def _numbers(cta: CTA, tensor: TensorMap, coordinates: Sequence[Array], thread: int) -> list[int]:
    """The coordinates; hardware takes those that are no multiple of 16 bytes for an illegal instruction."""
    found = [int(c[thread]) for c in coordinates]
    if found[0] * tensor.element_bytes % _PIECE:
        message = (
            f"a TMA copy at {found[0]} along rows of {tensor.element}, which is no multiple of {_PIECE} bytes"
        )
        raise _error(cta, "misaligned", message, thread, "begin at a multiple, or copy by pointers")
    return found


def load(
    cta: SimulatedCTA,
    destination: Array,
    source: Array,
    barrier: Array,
    predicate: Array,
    coordinates: Sequence[Array],
    mask: Array | None,
) -> None:
    """Fetch a box; it lands with the phase of ``barrier``, in this CTA or those of ``mask``."""
    found = _copying(cta, predicate)
    if found is None:
        return
    real, thread = found
    tensor = _map(real, source, thread)
    _checked(real, tensor, thread)
    place, nbytes = _place(real, tensor, destination, thread)
    at = _numbers(real, tensor, coordinates, thread)

    def fetched() -> Array:
        row = np.zeros((real.num_threads, nbytes), np.uint8)
        box = _fetched(real, tensor, at, thread)
        row[thread, swizzled_places(place, nbytes, tensor.swizzle)] = box.reshape(-1)
        return row

    def again() -> Array:
        with real.memory(_GLOBAL).untracked():
            return fetched()

    row, late = fetched(), again if real.is_late() else None
    alone = np.arange(real.num_threads) == thread
    counted = used(cta, barrier, alone)
    map_tracking.loads(real, int(source[thread]), counted)
    if mask is None:
        real.copies.start_with_barrier(real.memory(_SHARED), destination, row, alone, counted, again=late)
        return
    for peer in receivers(real, int(mask[thread]) & _ALL_CTAS):
        there = window(destination.astype(np.int64), peer.rank)
        real.memory(_SHARED).load(window(barrier.astype(np.int64), peer.rank), _STATE, alone)
        real.copies.start_with_barrier(real.memory(_SHARED), there, row, alone, counted, peer, again=late)


def _to_tf32(bits: Array) -> Array:
    """Words of f32 rounded to ten bits of fraction, halves to even: inferred from sums on an H200, not measured word by word."""
    rounded = (bits + np.uint32(0xFFF) + (bits >> 13 & 1)) & np.uint32(0xFFFFE000)
    return np.where(bits & 0x7F800000 == 0x7F800000, bits, rounded).astype(np.uint32)


def _fetched(cta: CTA, tensor: TensorMap, coordinates: Sequence[int], thread: int) -> Array:
    """The bytes of a box, (rows, bytes of a row)."""
    addresses, inside, columns = _rows(tensor, coordinates)
    box = np.broadcast_to(_fill(tensor), (len(addresses), tensor.counts[0], tensor.element_bytes)).copy()
    width = (columns.stop - columns.start) * tensor.element_bytes
    if inside.any() and width:
        rows = cta.memory(_GLOBAL).read_rows(addresses[inside], width, thread)
        if tensor.element == "tf32":
            rows = _to_tf32(np.ascontiguousarray(rows).view(np.uint32)).view(np.uint8)
        box[inside, columns] = rows.reshape(len(rows), -1, tensor.element_bytes)
    return box.reshape(len(addresses), -1)


def _fill(tensor: TensorMap) -> Array:
    """Fill value outside of the tensor: the bytes of a row of a box, (elements, bytes of an element)."""
    word = np.array([_NAN_WORD if tensor.nan else 0], "<u4").view(np.uint8)
    return np.resize(word, (tensor.counts[0], tensor.element_bytes))


_DTYPES = {
    "u8": "u1", "u16": "u2", "u32": "u4", "s32": "i4", "u64": "u8", "s64": "i8",
    "f16": "f2", "f32": "f4", "f64": "f8", "bf16": "u2",
}  # fmt: skip


def _combined(tensor: TensorMap, old: Array, new: Array, combine: str) -> Array:
    """Bytes combined as elements."""
    dtype, function = np.dtype(_DTYPES[tensor.element]), UPDATES[combine]
    left, right = np.ascontiguousarray(old).view(dtype), np.ascontiguousarray(new).view(dtype)
    with np.errstate(all="ignore"):
        if tensor.element == "bf16":
            return to_bf16(function(to_f32(left), to_f32(right))).view(np.uint8)
        return function(left, right).view(np.uint8)


def store(
    cta: SimulatedCTA,
    source: Array,
    target: Array,
    predicate: Array,
    coordinates: Sequence[Array],
    combine: str,
) -> None:
    """Write a box, what is inside of the tensor, and on to the end of the last 16 bytes of each row; shared memory is in use until the wait."""
    found = _copying(cta, predicate)
    if found is None:
        return
    real, thread = found
    tensor = _map(real, target, thread)
    _checked(real, tensor, thread)
    place, nbytes = _place(real, tensor, source, thread)
    done = map_tracking.stores(real, int(target[thread]))
    raw = real.stores.start(real.memory(_SHARED), place, nbytes, thread, done)
    at = _numbers(real, tensor, coordinates, thread)
    if min(at) < 0:
        message = f"a TMA copy to the negative coordinates {at}"
        raise _error(real, "asynchronous", message, thread, "store by pointers what begins before the tensor")
    if tensor.element == "s64" and combine in _NOT_SIGNED:
        message = f"a TMA reduction {combine} of s64, which the hardware does not have"
        raise _error(real, "asynchronous", message, thread, "let the map say u64")
    addresses, inside, columns = _rows(tensor, at)
    box = raw[swizzled_places(place, nbytes, tensor.swizzle)].reshape(len(addresses), tensor.counts[0], -1)
    if not inside.any() or columns.stop == columns.start:
        return
    new = box[inside, columns.start : _written_end(tensor, at[0])].reshape(int(inside.sum()), -1)
    memory, places = real.memory(_GLOBAL), addresses[inside]

    def write() -> None:
        if not combine:
            memory.write_rows(places, new, thread)
            return
        with memory.atomic(places, np.full(len(places), thread), new.shape[1]):
            old = memory.read_rows(places, new.shape[1], thread)
            memory.write_rows(places, _combined(tensor, old, new, combine), thread)

    real.stores.write(thread, write, is_late=real.is_late())


def _written_end(tensor: TensorMap, first: int) -> int:
    """The elements of a box that begins at element ``first`` of rows, up to the last that a store changes."""
    in_piece = _PIECE // tensor.element_bytes
    return min(tensor.counts[0], -(-tensor.dims[0] // in_piece) * in_piece - first)


# --- tensor maps ------------------------------------------------------------------------------------------


def prefetch(cta: SimulatedCTA, address: Array, predicate: Array) -> None:
    """Nothing, but there must be a map."""
    found = _copying(cta, predicate)
    if found is not None:
        _map(found[0], address, found[1])


def replace(
    cta: SimulatedCTA, address: Array, value: Array, predicate: Array, field: str, ordinal: int
) -> None:
    """Another value in a field of the map at ``address``."""
    active = cta.active & predicate
    if not active.any():
        return
    offset, code, _ = FIELDS[field]
    size = struct.calcsize(code)
    dtype = np.dtype(f"u{size}")
    cta.memory(_SHARED).store(address + offset + size * ordinal, value.astype(dtype), active)


def publish(cta: SimulatedCTA, target: Array, source: Array) -> None:
    """A map is copied, by each warp that does it."""
    real = as_cta(cta)
    place, at = (
        uniform(cta, target, cta.active, "the place of a map"),
        uniform(cta, source, cta.active, "a map"),
    )
    thread = int(np.flatnonzero(cta.active)[0])
    if map_tracking.reads_left(real, place, thread):
        message = "a tensor map is written while copies read it that this thread has not waited for"
        raise _error(real, "asynchronous", message, thread, "wait for them first")
    alone = np.arange(real.num_threads) == thread
    words = real.memory(_SHARED).load(
        np.full(real.num_threads, at), np.dtype("u4"), alone, MAP_BYTES // 4, 16
    )
    real.memory(_GLOBAL).write_rows(np.array([place]), words[thread].view(np.uint8)[None], thread)
