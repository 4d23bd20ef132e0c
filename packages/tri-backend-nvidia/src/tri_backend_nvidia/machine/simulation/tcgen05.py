"""Simulation of ``tcgen05``, in NumPy: from the manual's tables alone, through matrix descriptors, and late.

PTX ISA 9.0, 9.7.16: "Tensor Memory" (addresses, which warp may access which lanes), "Shared memory descriptor", "Data Path
Layout Organization" (layout D: row i of an accumulator of 128 rows is in lane i), "Memory Consistency Model".  Nothing
is shared with the layouts that the compiler uses.

A dot reads its operands when it starts: they must stay until somebody has waited for the barrier that it was
committed to.  Until then its accumulator must not be touched, but by dots of the same shape that the same thread starts.
Data moved between registers and tensor memory is there after the wait of the kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tri_backend_nvidia.machine.simulation.mbarrier import used
from tri_backend_nvidia.machine.simulation.tcgen05_tracking import (
    COLUMNS,
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
    everyone,
    state_of,
    whole_warps,
)
from tri_backend_nvidia.machine.simulation.wgmma import operand_values
from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.lowering import SimulatedCTA
from tri_runtime.simulator import CTA

if TYPE_CHECKING:
    from tri_backend_nvidia.machine.ops.tcgen05 import InstructionDescriptor

__all__ = [
    "Reading",
    "SharedDescriptor",
    "accumulate",
    "alloc",
    "check_accumulators",
    "commit",
    "dealloc",
    "fence",
    "in_shared_memory",
    "load",
    "multiply",
    "operand_matrices",
    "read_pieces",
    "shared_descriptor",
    "single_thread",
    "started",
    "store",
    "wait",
]

Array = npt.NDArray[Any]
#: (column of the accumulator, offset of A, offset of B) per instruction
Plan = Sequence[tuple[int, int, int]]

_SHARED = 3
_LEAST = 32
#: bytes that lie together whatever the swizzle, and those along k of one instruction
_PIECE, _K_BYTES = 16, 32
#: bytes that an address field of a descriptor can reach
_WINDOW = 1 << 18
#: swizzling modes of a descriptor, as widths in bytes; 1 (of 32-byte pieces) is not known here
_SWIZZLES = {0: 16, 2: 128, 4: 64, 6: 32}


# --- descriptors ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SharedDescriptor:
    """A shared memory descriptor decoded; addresses and strides in bytes, ``swizzle`` the width in bytes (16: none)."""

    address: int
    leading: int
    stride: int
    swizzle: int

    @classmethod
    def of(cls, low: int, high: int) -> SharedDescriptor:
        """From its two words; ValueError where a field is not what PTX ISA 9.7.16.4.1 says."""
        word = (low & 0xFFFFFFFF) | (high & 0xFFFFFFFF) << 32
        if word >> 46 & 7 != 1 or word >> 53 & 255:
            raise ValueError(f"{word:#018x} lacks the constants of a tcgen05 descriptor")
        if word >> 49 & 7 or word >> 52 & 1:
            raise ValueError(f"{word:#018x} has a base offset or an absolute address; atoms are aligned here")
        width = _SWIZZLES.get(word >> 61)
        if width is None:
            raise ValueError(f"{word:#018x} has swizzling mode {word >> 61}")
        address, leading, stride = ((word >> at & 0x3FFF) << 4 for at in (0, 16, 32))
        return cls(address, leading, stride, width)

    def pieces(self, extent: int, size: int, *, along_k: bool) -> Array:
        """Byte addresses of a matrix's pieces of 16 bytes, elements of ``size``.

        ``extent`` rows of 32 bytes along k; else ``32 / size`` rows of ``extent`` elements.
        """
        if along_k:
            row, piece = np.arange(extent)[:, None], np.arange(_K_BYTES // _PIECE)[None, :]
            across = self.leading if self.swizzle == _PIECE else _PIECE
            plain = row // 8 * self.stride + row % 8 * self.swizzle + piece * across
        else:
            k, byte = (
                np.arange(_K_BYTES // size)[:, None],
                np.arange(extent * size // _PIECE)[None, :] * _PIECE,
            )
            rows = k // 8 * self.stride + k % 8 * self.swizzle
            plain = rows + byte // self.swizzle * self.leading + byte % self.swizzle
        address = self.address + plain
        return address ^ (address >> 7 & (self.swizzle // _PIECE - 1)) << 4


# --- allocation -------------------------------------------------------------------------------------------


def alloc(cta: SimulatedCTA, address: Array, predicate: Array, columns: int) -> None:
    """The first free columns, aligned to their number; the address goes to shared memory."""
    real, state = state_of(cta)
    for warp in whole_warps(real, predicate):
        thread = warp * WARP
        if columns & (columns - 1) or not _LEAST <= columns <= COLUMNS:
            message = f"{columns} columns of tensor memory are allocated: powers of two from 32 to 512 can be"
            raise error(real, "tensor-memory", message, thread, "round up")
        if state.gave_up:
            message = "tensor memory is allocated after the permit was relinquished"
            raise error(real, "tensor-memory", message, thread, "allocate all at once")
        taken = [range(s, s + count) for s, (count, _, _) in state.allocated.items()]
        free = [s for s in range(0, COLUMNS, columns) if not any(_overlap(s, columns, t) for t in taken)]
        if not free:
            message = f"{columns} columns of tensor memory are not free: the CTA waits for itself"
            raise error(real, "tensor-memory", message, thread, "allocate fewer")
        state.allocated[free[0]] = (columns, warp, real.scene.site)
        state.defined[:, free[0] : free[0] + columns] = False
        first = np.arange(real.num_threads) == thread
        words = np.full(real.num_threads, free[0], np.int32)
        real.memory(_SHARED).store(address, words, first & real.active)
        state.gave_up = True


def _overlap(start: int, count: int, taken: range) -> bool:
    return start < taken.stop and taken.start < start + count


def dealloc(cta: SimulatedCTA, address: Array, predicate: Array, columns: int) -> None:
    """An allocation ends: by the warp that made it, whole, when nothing is under way there."""
    real, state = state_of(cta)
    for warp in whole_warps(real, predicate):
        thread = warp * WARP
        start = int(address[thread])
        count, owner, site = state.allocated.get(start, (0, -1, -1))
        if (count, owner) != (columns, warp):
            message = f"warp {warp} deallocates {columns} columns at {start}; allocated are {count}, by warp {owner}"
            raise error(
                real, "tensor-memory", message, thread, "deallocate as allocated, by the same warp", site
            )
        place = np.s_[:, start : start + columns]
        check_dots(real, state, thread, np.arange(start, start + columns), "deallocates", None)
        check_stamps(real, state, thread, state.writes, place, "deallocates")
        check_stamps(real, state, thread, state.reads, place, "deallocates")
        del state.allocated[start]


# --- registers --------------------------------------------------------------------------------------------


def _place(
    cta: CTA, state: State, warp: int, address: Array, count: int, *, writes: bool
) -> tuple[slice, slice]:
    """The lanes and columns that ``warp`` accesses: its own quarter."""
    thread = warp * WARP
    given = np.unique(address[thread : thread + WARP])
    if len(given) > 1:
        message = f"the lanes of warp {warp} give {len(given)} addresses in tensor memory"
        raise error(cta, "tensor-memory", message, thread, "give one")
    found = int(given[0])
    lane, column = found >> 16, found & 0xFFFF
    if lane != warp % QUARTERS * WARP:
        message = f"warp {warp} accesses lanes {lane} to {lane + 31} of tensor memory"
        own = warp % QUARTERS * WARP
        raise error(cta, "tensor-memory", message, thread, f"its own are {own} to {own + 31}")
    columns = allocated_columns(cta, state, thread, column, count)
    check_dots(cta, state, thread, columns, "accesses", None, writes=writes)
    return slice(lane, lane + WARP), slice(column, column + count)


def load(cta: SimulatedCTA, address: Array, count: int) -> list[Array]:
    """Read ``count`` columns; gives undefined values, by which the wait knows what it stands for."""
    real, state = state_of(cta)
    made = [np.zeros(real.num_threads, np.int32) for _ in range(count)]
    for warp in whole_warps(real, everyone(real)):
        thread = warp * WARP
        lanes, columns = _place(real, state, warp, address, count, writes=False)
        place = (warp % QUARTERS, columns)
        check_stores(real, state, thread, place, "reads")
        check_stamps(real, state, thread, state.writes, place, "reads")
        check_defined(real, state, thread, place, "reads")
        state.reads.touch((warp, columns), thread, real.clocks.now, state.tick, real.scene.site)
        known = state.loads.setdefault(warp, {})
        for i, column in enumerate(range(columns.start, columns.stop)):
            undefined = state.random.integers(1 << 31, size=WARP).astype(np.int32)
            known[undefined.tobytes()] = state.words[lanes, column].view(np.int32).copy()
            made[i][thread : thread + WARP] = undefined
    return made


def store(cta: SimulatedCTA, address: Array, values: Sequence[Array]) -> None:
    """Write columns; others may see them after the wait."""
    real, state = state_of(cta)
    for warp in whole_warps(real, everyone(real)):
        thread = warp * WARP
        lanes, columns = _place(real, state, warp, address, len(values), writes=True)
        place = (warp % QUARTERS, columns)
        check_stamps(real, state, thread, state.writes, place, "overwrites")
        readers = (slice(warp % QUARTERS, None, QUARTERS), columns)
        check_stamps(real, state, thread, state.reads, readers, "overwrites")
        rows = np.stack(
            [np.ascontiguousarray(v[thread : thread + WARP]).view(np.uint32) for v in values], axis=1
        )
        state.words[lanes, columns] = rows
        state.defined[place] = True
        state.storing[place] = warp
        state.writes.touch(place, thread, real.clocks.now, state.tick, real.scene.site)


def wait(cta: SimulatedCTA, kind: str, operands: Sequence[Array]) -> list[Array]:
    """Loads give what they read in place of undefined values; stores are done."""
    real, state = state_of(cta)
    made = [np.array(v) for v in operands]
    for warp in whole_warps(real, everyone(real)):
        if kind == "st":
            state.storing[state.storing == warp] = -1
            continue
        known, place = state.loads.pop(warp, {}), slice(warp * WARP, (warp + 1) * WARP)
        for value in made:
            found = known.get(np.ascontiguousarray(value[place]).tobytes())
            if found is not None:
                value[place] = found.view(value.dtype)
    return made


# --- dots -------------------------------------------------------------------------------------------------


def single_thread(cta: CTA, predicate: Array) -> int | None:
    """The one active thread that has ``predicate``; None without one."""
    threads = np.flatnonzero(cta.active & predicate)
    if len(threads) > 1:
        message = f"{len(threads)} threads start the same dot of matrices"
        raise error(cta, "asynchronous", message, int(threads[0]), "elect one")
    return int(threads[0]) if len(threads) else None


def multiply(
    cta: SimulatedCTA,
    shape: InstructionDescriptor,
    plan: Plan,
    highs: tuple[int | None, int],
    operands: Sequence[Array],
) -> None:
    """Start the instructions of ``plan``; without a high word, A is in tensor memory, ``a_low`` its address."""
    real, state = state_of(cta)
    total, a_low, b_low, add, predicate = operands
    thread = single_thread(real, predicate)
    if thread is None:
        return
    base = int(total[thread])
    if shape.m != LANES or base >> 16:
        message = f"an accumulator of {shape.m} rows at lane {base >> 16}; 128 rows at lane 0 are known here"
        raise error(real, "tensor-memory", message, thread, "use m = 128")
    starts = sorted({base + column for column, _, _ in plan})
    columns = np.concatenate([allocated_columns(real, state, thread, s, shape.n) for s in starts])
    key = (shape.kind, shape.m, shape.n)
    check_accumulators(real, state, thread, columns, key, adds=bool(add[thread]))
    reads, a = np.zeros(0, np.int64), list[Callable[[], None]]()
    if highs[0] is None:
        left, reads = _from_tensor_memory(
            real, state, thread, int(a_low[thread]), [s[1] for s in plan], shape
        )
    else:
        words = (int(a_low[thread]), highs[0])
        left, a = operand_matrices(real, thread, words, [s[1] for s in plan], Reading.of(shape, 0))
    right, b = operand_matrices(
        real, thread, (int(b_low[thread]), highs[1]), [s[2] for s in plan], Reading.of(shape, 1)
    )
    held = (np.int32, np.int64) if shape.kind == "i8" else (np.float32, np.float64)
    accumulate(state, shape.n, held, [base + s[0] for s in plan], left, right, add=bool(add[thread]))
    started(real, state, Dot(thread, columns, key, [*a, *b], real.scene.site, reads))


def _from_tensor_memory(
    cta: CTA, state: State, thread: int, base: int, offsets: Sequence[int], shape: InstructionDescriptor
) -> tuple[list[Array], Array]:
    """A of each instruction as (m, k), row i from lane i (PTX ISA 9.7.16.10.5), and the columns that they are read from."""
    if base >> 16 or not shape.a_rows:
        message = f"A at lane {base >> 16} of tensor memory, rows {'along' if shape.a_rows else 'across'} k"
        raise error(cta, "tensor-memory", message, thread, "lane 0, and rows along k")
    size, values = operand_values(shape.a)
    matrices, used = [], []
    for offset in offsets:
        columns = allocated_columns(cta, state, thread, base + offset, _K_BYTES // 4)
        place = (slice(None), columns)
        check_dots(cta, state, thread, columns, "multiplies", None, writes=False)
        check_stores(cta, state, thread, place, "multiplies")
        check_stamps(cta, state, thread, state.writes, place, "multiplies")
        check_defined(cta, state, thread, place, "multiplies")
        raw = np.ascontiguousarray(state.words[:, columns]).view(np.uint8)
        matrices.append(values(raw).reshape(LANES, _K_BYTES // size))
        used.append(columns)
    return matrices, np.unique(np.concatenate(used))


def started(cta: CTA, state: State, dot: Dot) -> None:
    """``dot`` is under way: what it writes is defined, for those who wait for it."""
    place = (slice(None), dot.columns)
    state.defined[place] = True
    state.writes.touch(place, dot.thread, cta.clocks.now, state.tick, dot.site)
    state.dots.append(dot)


def check_accumulators(
    cta: CTA, state: State, thread: int, columns: Array, key: tuple[str, int, int], *, adds: bool
) -> None:
    """A dot of shape ``key`` may begin on ``columns``, and ``adds`` to what is there."""
    place = (slice(None), columns)
    check_dots(cta, state, thread, columns, "adds to", key)
    check_stores(cta, state, thread, place, "adds to")
    check_stamps(cta, state, thread, state.writes, place, "adds to")
    check_stamps(cta, state, thread, state.reads, place, "overwrites")
    if adds:
        check_defined(cta, state, thread, place, "adds to")


@dataclass(frozen=True)
class Reading:
    """Memory layout of an operand of ``extent`` rows (m or n): elements of ``size`` bytes, rows ``along_k``
    or across.

    ``values`` makes numbers of bytes; of each 16 bytes the first ``piece`` are read.
    """

    extent: int
    size: int
    along_k: bool
    values: Callable[[Array], Array]
    piece: int = _PIECE

    @classmethod
    def of(cls, shape: InstructionDescriptor, index: int) -> Reading:
        """Operand ``index`` of ``shape``."""
        kind, along_k = ((shape.a, shape.a_rows), (shape.b, shape.b_rows))[index]
        return cls((shape.m, shape.n)[index], operand_values(kind)[0], along_k, operand_values(kind)[1])


def operand_matrices(
    cta: CTA, thread: int, words: tuple[int, int], offsets: Sequence[int], reading: Reading
) -> tuple[list[Array], list[Callable[[], None]]]:
    """An operand of each instruction as (m or n, k), and what to call once they are read.

    ``words``: of the matrix descriptor to whose low one ``offsets`` are added.
    """
    if not reading.along_k and reading.size == 4:
        message = "tf32 across rows of memory: it takes swizzles of 32-byte pieces, which are not known here"
        raise error(cta, "tensor-memory", message, thread, "let rows run along k")
    found = []
    for offset in offsets:
        descriptor = shared_descriptor(cta, thread, words[0] + offset, words[1])
        address = descriptor.pieces(reading.extent, reading.size, along_k=reading.along_k)
        found.append(in_shared_memory(cta, address))
    places = np.unique(np.concatenate([f.reshape(-1) for f in found]))
    memory, done = read_pieces(cta, thread, places, reading.piece)
    matrices = []
    for address in found:
        raw = np.stack([memory[place] for place in address.reshape(-1)]).reshape(address.shape[0], -1)
        matrix = reading.values(np.ascontiguousarray(raw)).reshape(address.shape[0], -1)
        matrices.append(matrix if reading.along_k else matrix.T)
    return matrices, done


def shared_descriptor(cta: CTA, thread: int, low: int, high: int) -> SharedDescriptor:
    """The descriptor of two words; SimulationError for one that is none."""
    try:
        return SharedDescriptor.of(low, high)
    except ValueError as wrong:
        raise error(cta, "tensor-memory", str(wrong), thread, "see PTX ISA 9.7.16.4.1") from wrong


def in_shared_memory(cta: CTA, address: Array) -> Array:
    """``address`` as a descriptor has it, of which higher bits are lost, as one of this CTA's shared memory."""
    base = int(cta.symbols.get("tri_shared", 0))
    return base + (address - base) % _WINDOW


def read_pieces(
    cta: CTA, thread: int, places: Array, piece: int
) -> tuple[dict[int, Array], list[Callable[[], None]]]:
    """``piece`` bytes at each of ``places``, sorted, by address: they must stay until what is returned is called."""
    runs = np.split(places, np.flatnonzero(np.diff(places) != piece) + 1)
    memory, done = dict[int, Array](), []
    for run in runs:
        raw, left = cta.memory(_SHARED).start_source_copy(int(run[0]), len(run) * piece, thread)
        done.append(left)
        memory.update(zip(run.tolist(), raw.reshape(-1, piece), strict=True))
    return memory, done


def accumulate(
    state: State,
    n: int,
    types: tuple[type, type],
    columns: Sequence[int],
    left: Sequence[Array],
    right: Sequence[Array],
    *,
    add: bool,
) -> None:
    """Accumulators of ``n`` columns, held and added in ``types`` (double precision; integers: exactly), rounded once."""
    held, exact = types
    accumulators: dict[int, Array] = {}
    with np.errstate(all="ignore"):
        for column, a, b in zip(columns, left, right, strict=True):
            if column not in accumulators:
                old: Array = np.ascontiguousarray(state.words[:, column : column + n]).view(held)
                accumulators[column] = old.astype(exact) if add else np.zeros(old.shape, exact)
            accumulators[column] = accumulators[column] + a @ b.T
        for column, total in accumulators.items():
            state.words[:, column : column + n] = total.astype(held).view(np.uint32)


def commit(cta: SimulatedCTA, address: Array, predicate: Array) -> None:
    """An arrival, with which all dots of the thread land."""
    real, state = state_of(cta)
    thread = single_thread(real, predicate)
    if thread is None:
        return
    alone = np.arange(real.num_threads) == thread
    mine = [p for p in state.dots if p.thread == thread]

    def land() -> None:
        for dot in mine:
            if dot in state.dots:
                state.dots.remove(dot)
                _landed(real, state, dot)

    active, real.active = real.active, alone
    try:
        place = used(cta, address, alone)
        real.phases.add_copy(place, 0, land, owed=False)
        real.phases.arrive(place, alone)
    finally:
        real.active = active


def _landed(cta: CTA, state: State, dot: Dot) -> None:
    """Its operands are read; its accumulator is written now, as far as others are concerned, and fenced by the commit."""
    for done in dot.left:
        done()
    state.tick += 1
    stamp = (slice(None), dot.columns)
    state.writes.touch(stamp, dot.thread, cta.clocks.now, state.tick, dot.site)
    if len(dot.reads):  # by all quarters: a row of the table for each
        place = (slice(0, QUARTERS), dot.reads)
        state.reads.touch(place, dot.thread, cta.clocks.now, state.tick, dot.site)
    state.tick += 1
    state.before[dot.thread] = state.tick


def fence(cta: SimulatedCTA, kind: str) -> None:
    """Order the active threads' earlier accesses before later ones of others, and the same for their own
    later ones.
    """
    real, state = state_of(cta)
    (state.before if kind == "before_thread_sync" else state.after)[real.active] = state.tick
