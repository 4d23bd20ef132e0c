"""Simulation of block-scaled dots of ``tcgen05``, in NumPy: scales are in tensor memory as in the manual's
figures.

PTX ISA 9.0, 9.7.16.10.7, "Block Scaling" (figures "Layout of scale factor A/B matrix"), and 9.7.16.4.3, "Packing formats of
elements in shared memory": e2m1 beside other types takes 8 bytes of each 16.  Nothing is shared with the compiler's layouts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_nvidia.machine.scaled_formats import SCALED_KINDS, ScaledDescriptor, ScaledStep
from tri_backend_nvidia.machine.simulation.tcgen05 import (
    Reading,
    accumulate,
    check_accumulators,
    in_shared_memory,
    operand_matrices,
    shared_descriptor,
    single_thread,
    started,
)
from tri_backend_nvidia.machine.simulation.tcgen05_tracking import (
    LANES,
    QUARTERS,
    WARP,
    Dot,
    State,
    allocated_columns,
    check_defined,
    check_dots,
    check_stamps,
    check_stores,
    error,
    state_of,
)
from tri_backend_nvidia.machine.simulation.wgmma import operand_values
from tri_gpu_dialect.lowering import SimulatedCTA
from tri_runtime.simulator import CTA

__all__ = ["COPY", "copy", "multiply", "scale_values"]

Array = npt.NDArray[Any]

_SHARED = 3
#: rows and columns of one copy, bytes of its row; bytes that a row of a matrix has of padded e2m1
_COPY_COLUMNS, _COPY_BYTES, _PADDED = 4, 16, 8
#: the shape by which dots know copies of their own thread, which they follow
COPY = ("cp", 0, 0)
#: the numbers of 4 bits
_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def _e2m1(raw: Array) -> Array:
    """Two numbers of each byte, the first in the low bits."""
    return _E2M1[np.stack([raw & 15, raw >> 4], axis=-1)]


def _reading(shape: ScaledDescriptor, index: int) -> Reading:
    kind, along_k = ((shape.a, shape.a_rows), (shape.b, shape.b_rows))[index]
    extent = (shape.m, shape.n)[index]
    if kind in ("e2m1", "e2m1p"):
        return Reading(extent, 1, along_k, _e2m1, _COPY_BYTES if kind == "e2m1" else _PADDED)
    return Reading(extent, 1, along_k, operand_values(kind)[1])


def scale_values(kind: str, raw: Array) -> Array:
    """Operands of the bytes of scales: ``ue8m0``, where 255 is NaN, or ``ue4m3``, whose sign must be 0 (ValueError)."""
    if kind == "ue8m0":
        return np.where(raw == 255, np.nan, 2.0 ** (raw.astype(np.float64) - 127))
    if (raw & 128).any():
        raise ValueError("a scale of type ue4m3 is negative")
    return operand_values("e4m3")[1](raw)


# --- copies ----------------------------------------------------------------------------------------------


def copy(cta: SimulatedCTA, plan: Sequence[tuple[int, int]], high: int, operands: Sequence[Array]) -> None:
    """32 rows of 16 bytes, each to 4 columns of a lane of every quarter; bytes that nobody wrote stay undefined."""
    real, state = state_of(cta)
    address, source, predicate = operands
    thread = single_thread(real, predicate)
    if thread is None:
        return
    for column, offset in plan:
        first = int(address[thread]) + column
        if first >> 16:
            message = f"scales are copied to lane {first >> 16} of tensor memory"
            raise error(real, "tensor-memory", message, thread, "copy to lane 0: every quarter gets them")
        columns = allocated_columns(real, state, thread, first, _COPY_COLUMNS)
        _check_copy(real, state, thread, columns)
        words, defined, done = _source(real, thread, int(source[thread]) + offset, high)
        state.words[:, columns] = np.tile(words, (QUARTERS, 1))
        started(real, state, Dot(thread, columns, COPY, done, real.scene.site))
        state.defined[:, columns] = defined


def _check_copy(cta: CTA, state: State, thread: int, columns: Array) -> None:
    """Nothing under way may be there: copies do not follow dots in order."""
    place = (slice(None), columns)
    check_dots(cta, state, thread, columns, "copies to", None)
    check_stores(cta, state, thread, place, "copies to")
    check_stamps(cta, state, thread, state.writes, place, "copies to")
    check_stamps(cta, state, thread, state.reads, place, "overwrites")


def _source(cta: CTA, thread: int, low: int, high: int) -> tuple[Array, Array, list[Callable[[], None]]]:
    """The words (32, 4) that a copy reads, whether each column was written, and what to call when it is done."""
    descriptor = shared_descriptor(cta, thread, low, high)
    if descriptor.swizzle != _COPY_BYTES:
        message = f"a copy of scales from rows that are swizzled by {descriptor.swizzle} bytes"
        raise error(cta, "tensor-memory", message, thread, "lay them out without")
    row = np.arange(WARP)
    places = descriptor.address + row // 8 * descriptor.stride + row % 8 * _COPY_BYTES
    memory = cta.memory(_SHARED)
    rows, defined, done = np.zeros((WARP, _COPY_BYTES), np.uint8), np.zeros((WARP, _COPY_BYTES), bool), []
    for i, place in enumerate(in_shared_memory(cta, places).tolist()):
        defined[i] = memory.written(place, _COPY_BYTES)
        known = np.flatnonzero(defined[i])
        for run in np.split(known, np.flatnonzero(np.diff(known) > 1) + 1) if len(known) else []:
            rows[i, run], left = memory.start_source_copy(place + int(run[0]), len(run), thread)
            done.append(left)
    whole = np.asarray(defined.reshape(WARP, _COPY_COLUMNS, 4).all(axis=(0, 2)))
    return rows.view(np.uint32), whole, done


# --- dots ------------------------------------------------------------------------------------------------


def multiply(
    cta: SimulatedCTA,
    shape: ScaledDescriptor,
    plan: Sequence[ScaledStep],
    highs: tuple[int, int],
    operands: Sequence[Array],
) -> None:
    """Start the instructions of ``plan``."""
    real, state = state_of(cta)
    thread = single_thread(real, operands[6])
    if thread is None:
        return
    base, a_low, b_low, a_scale, b_scale = (int(v[thread]) for v in operands[:5])
    add = bool(operands[5][thread])
    if shape.m != LANES or base >> 16:
        message = f"an accumulator of {shape.m} rows at lane {base >> 16}; 128 rows at lane 0 are known here"
        raise error(real, "tensor-memory", message, thread, "use m = 128")
    starts = sorted({base + step.column for step in plan})
    columns = np.concatenate([allocated_columns(real, state, thread, s, shape.n) for s in starts])
    key = (shape.kind, shape.m, shape.n)
    check_accumulators(real, state, thread, columns, key, adds=add)
    left, a = operand_matrices(real, thread, (a_low, highs[0]), [s.a for s in plan], _reading(shape, 0))
    right, b = operand_matrices(real, thread, (b_low, highs[1]), [s.b for s in plan], _reading(shape, 1))
    reads = list[Array]()
    for i, step in enumerate(plan):
        for matrices, extent, place, number in (
            (left, shape.m, a_scale + step.a_scale, step.a_id),
            (right, shape.n, b_scale + step.b_scale, step.b_id),
        ):
            scales, used = _scales_of(real, state, thread, shape, extent, place, number)
            with np.errstate(all="ignore"):
                matrices[i] = matrices[i] * scales
            reads.append(used)
    accumulate(
        state, shape.n, (np.float32, np.float64), [base + s.column for s in plan], left, right, add=add
    )
    dot = Dot(thread, columns, key, [*a, *b], real.scene.site, np.unique(np.concatenate(reads)))
    started(real, state, dot)


def _scales_of(
    cta: CTA, state: State, thread: int, shape: ScaledDescriptor, extent: int, place: int, number: int
) -> tuple[Array, Array]:
    """The scale of each element of an operand, (extent, k), and the columns that they came from."""
    kind = SCALED_KINDS[shape.kind]
    if place >> 16 or number % kind.scales or number + kind.scales > _COPY_COLUMNS:
        message = f"{kind.scales} scales of each row at {place:#x} from byte {number} on"
        remedy = "lane 0, and bytes that begin at a multiple of their number"
        raise error(cta, "tensor-memory", message, thread, remedy)
    columns = allocated_columns(cta, state, thread, place, -(-extent // WARP))
    everywhere = (slice(None), columns)
    check_dots(cta, state, thread, columns, "takes for scales", COPY, writes=False)
    check_stores(cta, state, thread, everywhere, "takes for scales")
    check_stamps(cta, state, thread, state.writes, everywhere, "takes for scales")
    check_defined(cta, state, thread, everywhere, "takes for scales")
    quarters = state.words.reshape(QUARTERS, WARP, -1)[:, :, columns]
    if (quarters != quarters[0]).any():
        message = "the quarters of tensor memory have different scales"
        raise error(
            cta, "tensor-memory", message, thread, "copy them with .warpx4, or store them from every warp"
        )
    # row i: lane i % 32 of column i / 32
    words = np.ascontiguousarray(quarters[0].T.reshape(-1)[:extent])
    raw = words.view(np.uint8).reshape(extent, 4)[:, number : number + kind.scales]
    try:
        values = scale_values(shape.scale, raw)
    except ValueError as wrong:
        raise error(cta, "tensor-memory", str(wrong), thread, "give scales without a sign") from wrong
    return np.repeat(values, kind.group, axis=1), columns
