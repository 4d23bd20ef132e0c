"""Simulation of the machine ops, in NumPy, over all threads of a CTA at once.

Apart from the ops, because importing NumPy takes longer than compiling a kernel.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_nvidia.machine.base import numpy_type
from tri_backend_nvidia.machine.simulation.updates import UPDATES
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import SimulatedCTA
from tri_runtime.races import Semantics
from tri_runtime.simulator import CTA
from tri_runtime.simulator.values import to_bf16, to_f32

__all__ = [
    "approximate",
    "atomic_cas",
    "atomic_load",
    "atomic_rmw",
    "divide",
    "elect",
    "fence",
    "load",
    "nanoseconds",
    "permute_bytes",
    "read_register",
    "shuffle",
    "store",
]

Array = npt.NDArray[Any]

_GLOBAL = 1


# --- threads --------------------------------------------------------------------------------------------


def read_register(cta: SimulatedCTA, register: str) -> Array:
    """The thread's index, or a number that is the same for all threads."""
    name, _, axis = register.partition(".")
    if name == "tid":
        return np.arange(cta.num_threads, dtype=np.int32)
    number = _clustered(cta)[register] if name == "cluster" or axis == "x" else None
    if number is None:
        numbers = cta.num_programs if name.startswith("n") else cta.program_id
        number = numbers["xyz".index(axis)]
    return np.full(cta.num_threads, number, np.int32)


def _clustered(cta: SimulatedCTA) -> dict[str, int]:
    """Registers that depend on the cluster, whose CTAs are neighbours along x; a program is a cluster's."""
    rank, size = _place(cta)
    program, programs = cta.program_id[0], cta.num_programs[0]
    return {
        "cluster.ctarank": rank,
        "clusterid.x": program,
        "nclusterid.x": programs,
        "ctaid.x": program * size + rank,
        "nctaid.x": programs * size,
    }


def _place(cta: object) -> tuple[int, int]:
    """The number of a CTA in its cluster, and the cluster's size."""
    return (cta.rank, len(cta.cluster.members)) if isinstance(cta, CTA) else (0, 1)


def elect(cta: SimulatedCTA) -> Array:
    """The first lane of each warp."""
    return np.arange(cta.num_threads) % cta.threads_per_warp == 0


def shuffle(cta: SimulatedCTA, value: Array, other: Array, mode: str) -> Array:
    """A gather within each warp; a lane that does not exist gives the thread's own value."""
    threads = np.arange(cta.num_threads)
    lane = threads % cta.threads_per_warp
    sources: dict[str, Array] = {
        "bfly": lane ^ other,
        "idx": other % cta.threads_per_warp,
        "up": lane - other,
        "down": lane + other,
    }
    source = sources[mode]
    source = np.where((source < 0) | (source >= cta.threads_per_warp), lane, source)
    shuffled: Array = value[threads - lane + source]
    return shuffled


# --- memory ---------------------------------------------------------------------------------------------


def load(
    cta: SimulatedCTA,
    type_: ir.Type,
    pointer: Array,
    predicate: Array,
    other: Array,
    *,
    volatile: bool = False,
) -> Array:
    """A vector, aligned to its size; lanes whose predicate is false keep ``other``."""
    active = cta.active & predicate
    memory, dtype = cta.memory(_GLOBAL), numpy_type(type_)
    columns = other.reshape(cta.num_threads, -1)
    count = columns.shape[1]
    size = dtype.itemsize * count
    with _volatile(cta, pointer, active, size) if volatile else nullcontext():
        loaded = memory.load(pointer, dtype, active, count, size)
    merged = np.where(active[:, None], loaded.reshape(columns.shape), columns)
    return merged.astype(dtype).reshape(other.shape)


def store(
    cta: SimulatedCTA,
    type_: ir.Type,
    pointer: Array,
    value: Array,
    predicate: Array,
    *,
    volatile: bool = False,
) -> None:
    """A vector, aligned to its size, where the predicate is true."""
    size = numpy_type(type_).itemsize * value.reshape(cta.num_threads, -1).shape[1]
    with _written_through(cta) if volatile else nullcontext():
        cta.memory(_GLOBAL).store(pointer, value, cta.active & predicate, size)


# --- atomics --------------------------------------------------------------------------------------------


def atomic_rmw(
    cta: SimulatedCTA, combine: str, kind: str, order: str, pointer: Array, value: Array, predicate: Array
) -> Array:
    """One thread after another, in the order of their numbers."""
    function = UPDATES[combine]
    number = np.dtype(value.dtype.str.replace("i", "u")) if kind.startswith("u") else value.dtype

    def step(old: Array, new: Array) -> Array:
        if ".bf16" in kind:  # its bits, as integers
            return to_bf16(function(to_f32(old), to_f32(new))).view(value.dtype)
        return function(old.view(number), new.view(number)).astype(number).view(value.dtype)

    return _in_turn(cta, order, pointer, predicate, step, value)


def atomic_cas(
    cta: SimulatedCTA, order: str, pointer: Array, compare: Array, value: Array, predicate: Array
) -> Array:
    """One thread after another, in the order of their numbers."""

    def step(old: Array, expected: Array, new: Array) -> Array:
        return new if old.tobytes() == expected.tobytes() else old

    return _in_turn(cta, order, pointer, predicate, step, compare, value)


def atomic_load(cta: SimulatedCTA, order: str, type_: ir.Type, pointer: Array, predicate: Array) -> Array:
    """Element by element where the predicate is true."""
    dtype = numpy_type(type_)
    active = cta.active & predicate
    threads = np.flatnonzero(active)
    with _atomic(cta, pointer[threads], threads, dtype.itemsize, order):
        return cta.memory(_GLOBAL).load(pointer, dtype, active)


def fence(cta: object, order: str) -> None:
    """Tells a simulator that looks for races of a fence of ``order``."""
    if isinstance(cta, CTA) and cta.active.any():
        cta.memory(_GLOBAL).order(_semantics(order))


def _in_turn(
    cta: SimulatedCTA,
    order: str,
    pointer: Array,
    predicate: Array,
    step: Callable[..., Array],
    *values: Array,
) -> Array:
    """The old values when each active thread replaces what it finds by ``step(old, *its values)``.

    ``order`` is the instruction's memory order and scope (``.acq_rel.gpu``).
    """
    memory, dtype = cta.memory(_GLOBAL), values[0].dtype
    result = np.zeros_like(values[0])
    count = result.size // len(result)
    nbytes = count * dtype.itemsize
    threads = np.flatnonzero(cta.active & predicate)
    with _atomic(cta, pointer[threads], threads, nbytes, order):
        for thread in threads:
            alone = np.arange(cta.num_threads) == thread
            one = slice(thread, thread + 1)
            found: Array = memory.load(pointer, dtype, alone, count, nbytes).reshape(result.shape)
            result[one] = found[one]
            found[one] = step(result[one], *(v[one] for v in values))
            memory.store(pointer, found, alone, nbytes)
    return result


def _atomic(
    cta: object, addresses: Array, threads: Array, nbytes: int, order: str
) -> AbstractContextManager[None]:
    """Tells a simulator that looks for races that an atomic of ``order`` is done inside."""
    if not isinstance(cta, CTA):
        return nullcontext()
    return cta.memory(_GLOBAL).atomic(addresses, threads, nbytes, _semantics(order))


def _semantics(order: str) -> Semantics:
    """Semantics between programs of an instruction with memory order and scope ``order``."""
    names = order.strip(".").split(".")
    return Semantics.named(names[0], names[-1])


def _volatile(cta: object, pointer: Array, active: Array, nbytes: int) -> AbstractContextManager[None]:
    """Tells a simulator that looks for races that a volatile load is done inside."""
    return cta.memory(_GLOBAL).volatile(pointer, active, nbytes) if isinstance(cta, CTA) else nullcontext()


def _written_through(cta: object) -> AbstractContextManager[None]:
    """Tells a simulator whose stores are seen late that those inside are not."""
    return cta.memory(_GLOBAL).written_through() if isinstance(cta, CTA) else nullcontext()


# --- arithmetic -----------------------------------------------------------------------------------------

_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "ex2.approx.ftz.f32": np.exp2,
    "ex2.approx.f32": np.exp2,
    "lg2.approx.f32": np.log2,
    "rcp.approx.f32": np.reciprocal,
    "rsqrt.approx.f32": lambda x: 1 / np.sqrt(x),
    "sqrt.approx.f32": np.sqrt,
    "sqrt.rn.f32": np.sqrt,
    "tanh.approx.f32": np.tanh,
}


def approximate(instruction: str, value: Array) -> Array:
    """The function itself, in double precision, rounded; with ``ftz`` subnormal numbers are zeros, in and out."""
    with np.errstate(all="ignore"):
        if ".ftz" not in instruction:
            return _FUNCTIONS[instruction](value.astype(np.float64)).astype(np.float32)
        found = _FUNCTIONS[instruction](_flushed(value).astype(np.float64)).astype(np.float32)
        return _flushed(found)


def _flushed(value: Array) -> Array:
    """``value`` with zeros, of the same sign, for subnormal numbers."""
    small = np.abs(value) < np.finfo(np.float32).smallest_normal
    return np.where(small, np.copysign(np.float32(0), value), value)


def divide(a: Array, b: Array) -> Array:
    """The exact quotient, rounded."""
    with np.errstate(all="ignore"):
        quotient: Array = (a.astype(np.float64) / b).astype(np.float32)
    return quotient


def permute_bytes(low: Array, high: Array, selector: Array) -> Array:
    """A gather of bytes of ``high:low``; bit 3 of a selector's digit repeats the sign of the byte."""
    given = np.ascontiguousarray(np.stack([low, high], axis=1)).view(np.uint8)
    digits = selector.view(np.uint32)[:, None] >> 4 * np.arange(4, dtype=np.uint32) & 15
    found = np.take_along_axis(given, (digits & 7).astype(np.intp), axis=1)
    chosen = np.where(digits & 8, np.where(found >= 128, 255, 0), found).astype(np.uint8)
    words: Array = np.ascontiguousarray(chosen).view(np.int32)[:, 0]
    return words


def nanoseconds(cta: SimulatedCTA) -> Array:
    """The host's clock, for every thread."""
    return np.full(cta.num_threads, time.perf_counter_ns(), np.int64)
