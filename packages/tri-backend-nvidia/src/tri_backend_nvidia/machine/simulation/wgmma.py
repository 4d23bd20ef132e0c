"""Simulation of ``wgmma``, in NumPy: from the manual's figures alone, through matrix descriptors, and late.

PTX ISA 9.7.15: fragments of the registers (9.7.15.5.1, "Register Fragments and Shared Memory Matrix Layouts"), the
canonical layouts, the matrix descriptor.  None of it is shared with the layouts that the compiler uses, so a wrong
descriptor, swizzle or fragment gives wrong numbers.

Operands in memory are read through the asynchronous proxy (9.7.15.6.4, "Async Proxy"): what ordinary code wrote there must
be followed by a fence of the threads that wrote.  A dot reads its operands when it starts, and again when it is waited for: memory that has changed in between is an
error.  Its results come with the wait; before, they are undefined, by which a following dot or wait knows them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from tri_backend_nvidia.machine.simulation.fp8_accumulation import FP8, accumulate
from tri_core import ring
from tri_core.api import DeviceError
from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.lowering import SimulatedCTA
from tri_runtime.simulator import as_cta

if TYPE_CHECKING:
    from tri_backend_nvidia.machine.ops.wgmma import WgmmaShape

__all__ = ["MatrixDescriptor", "a_places", "accumulator_places", "operand_values", "start", "wait"]

Array = npt.NDArray[Any]
#: (tile, offset of A, offset of B) per instruction
Plan = Sequence[tuple[int, int, int]]

_SHARED = 3
_ROWS, _THREADS = 64, 128
#: bytes that lie together whatever the swizzle
_PIECE = 16
#: bytes that an address field of a descriptor can reach
_WINDOW = 1 << 18
#: bytes along k of one instruction, for every type
_K_BYTES = 32


def _e4m3(raw: Array) -> Array:
    exponent, fraction = raw >> 3 & 15, raw & 7
    size = np.where(exponent == 0, fraction * 2.0**-9, (8 + fraction) * 2.0 ** (exponent.astype(float) - 10))
    size = np.where(raw & 127 == 127, np.nan, size)
    return np.where(raw & 128, -size, size)


#: bytes of PTX's types, and their values in double precision (integers: int64)
_VALUES: dict[str, tuple[int, Callable[[Array], Array]]] = {
    "f16": (2, lambda raw: raw.view(np.float16).astype(np.float64)),
    "bf16": (
        2,
        lambda raw: (raw.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64),
    ),
    "tf32": (4, lambda raw: (raw.view(np.uint32) & 0xFFFFE000).view(np.float32).astype(np.float64)),
    "e4m3": (1, _e4m3),
    "e5m2": (1, lambda raw: (raw.astype(np.uint16) << 8).view(np.float16).astype(np.float64)),
    "s8": (1, lambda raw: raw.view(np.int8).astype(np.int64)),
    "u8": (1, lambda raw: raw.astype(np.int64)),
}


#: the same where floats are integers modulo a power of two
_EXACT: dict[str, tuple[int, Callable[[Array], Array]]] = {
    **_VALUES,
    **{
        kind: (_VALUES[kind][0], partial(ring.elements, kind=kind))
        for kind in _VALUES
        if kind not in ("s8", "u8")
    },
}


def operand_values(kind: str) -> tuple[int, Callable[[Array], Array]]:
    """Bytes of an element of a PTX type, and what makes values in double precision (integers: int64) of bytes."""
    return _VALUES[kind]


# --- the manual's figures ---------------------------------------------------------------------------------


def accumulator_places(n: int) -> tuple[Array, Array]:
    """Row and column of each (thread, register) of an accumulator of ``64 x n``, ``(128, n / 2)``."""
    t, i = np.arange(_THREADS)[:, None], np.arange(n // 2)[None, :]
    return 16 * (t // 32) + t % 32 // 4 + 8 * (i // 2 % 2), 8 * (i // 4) + 2 * (t % 4) + i % 2


def a_places(size: int) -> tuple[Array, Array]:
    """Row and column of each (thread, element) of A in registers, elements of ``size`` bytes: four words a thread."""
    per = 4 // size
    t, i = np.arange(_THREADS)[:, None], np.arange(4 * per)[None, :]
    word, element = i // per, i % per
    return 16 * (t // 32) + t % 32 // 4 + 8 * (word % 2), per * (t % 4) + element + 4 * per * (word // 2)


@dataclass(frozen=True)
class MatrixDescriptor:
    """A matrix descriptor decoded; addresses and strides in bytes, ``swizzle`` the width in bytes (16: none)."""

    address: int
    leading: int
    stride: int
    swizzle: int

    @classmethod
    def of(cls, low: int, high: int) -> MatrixDescriptor:
        """From its two words; DeviceError where fields are set that must not be."""
        word = low | high << 32
        if word >> 49 & 7:
            raise DeviceError(f"matrix descriptor {word:#018x} has a base offset; atoms are aligned here")
        width = {0: 16, 1: 128, 2: 64, 3: 32}[word >> 62 & 3]
        address, leading, stride = ((word >> at & 0x3FFF) << 4 for at in (0, 16, 32))
        return cls(address, leading, stride, width)

    def pieces(self, extent: int, *, along_k: bool) -> Array:
        """Byte addresses of a matrix's pieces of 16 bytes: ``extent`` rows of 32 bytes, or 16 rows of ``extent`` x 2."""
        if along_k:
            row, piece = np.arange(extent)[:, None], np.arange(_K_BYTES // _PIECE)[None, :]
            plain = row // 8 * self.stride + row % 8 * self.swizzle
            across = self.leading if self.swizzle == _PIECE else _PIECE
            return self._swizzled(self.address + plain + piece * across)
        k, piece = np.arange(16)[:, None], np.arange(extent * 2 // _PIECE)[None, :] * _PIECE
        plain = k // 8 * self.stride + k % 8 * self.swizzle
        return self._swizzled(
            self.address + plain + piece // self.swizzle * self.leading + piece % self.swizzle
        )

    def _swizzled(self, address: Array) -> Array:
        mask = self.swizzle // _PIECE - 1
        return address ^ (address >> 7 & mask) << 4


# --- dots under way ---------------------------------------------------------------------------------------


@dataclass
class _Dot:
    """A dot under way: what it read, the registers of its results, and the undefined value that stands for them."""

    addresses: Array
    read: Array
    results: list[Array]
    undefined: list[Array]


@dataclass
class _Group:
    """The dots of one warp group, the oldest first; ``done``: the latest whose results nobody may have asked for."""

    under_way: list[_Dot] = field(default_factory=list)
    done: deque[_Dot] = field(default_factory=lambda: deque(maxlen=8))


@dataclass
class _State:
    groups: dict[int, _Group] = field(default_factory=dict)
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(9))


_states: WeakKeyDictionary[SimulatedCTA, _State] = WeakKeyDictionary()


def _groups(cta: SimulatedCTA) -> Iterator[tuple[slice, _Group, _State]]:
    """The warp groups that are here, whole: DeviceError for a part of one."""
    state = _states.setdefault(cta, _State())
    for first in range(0, cta.num_threads, _THREADS):
        here = cta.active[first : first + _THREADS]
        if here.any():
            if not here.all() or len(here) < _THREADS:
                raise DeviceError("a warp group's instruction that only some of its threads reach")
            yield slice(first, first + _THREADS), state.groups.setdefault(first, _Group()), state


def _read(cta: SimulatedCTA, threads: slice, addresses: Array, *, fenced: bool = True) -> Array:
    """The pieces at ``addresses``, ``(pieces, 16)`` bytes, read by the group's threads in turn; they must be ``fenced``."""
    base = int(getattr(cta, "symbols", {}).get("tri_shared", 0))
    flat = base + (addresses.reshape(-1) - base) % _WINDOW
    found = np.zeros((len(flat), _PIECE), np.uint8)
    for first in range(0, len(flat), _THREADS):
        part = flat[first : first + _THREADS]
        places, active = np.zeros(cta.num_threads, np.int64), np.zeros(cta.num_threads, np.bool_)
        places[threads.start : threads.start + len(part)] = part
        active[threads.start : threads.start + len(part)] = True
        memory = as_cta(cta).memory(_SHARED)
        if fenced:
            memory.check_fenced(places, active, _PIECE)
        words = memory.load(places, np.dtype(np.uint8), active, _PIECE, _PIECE, ordinary=False)
        found[first : first + len(part)] = np.asarray(words)[active]
    return found


@dataclass
class _Operand:
    """An operand of every instruction of a dot, from memory: where its pieces are, and what they held."""

    addresses: list[Array]
    along_k: bool

    def matrices(self, pieces: Array, values: Callable[[Array], Array]) -> list[Array]:
        """The operand of each instruction as (m or n, k), from the pieces of all of them."""
        found, first = [], 0
        for addresses in self.addresses:
            count = addresses.size
            rows = pieces[first : first + count].reshape(addresses.shape[0], -1)
            matrix = values(np.ascontiguousarray(rows)).reshape(addresses.shape[0], -1)
            found.append(matrix if self.along_k else matrix.T)
            first += count
        return found


def _from_memory(
    low: int, high: int, offsets: Sequence[int], extent: int, kind: str, *, along_k: bool
) -> _Operand:
    if not along_k and _VALUES[kind][0] != 2:
        raise DeviceError(f"wgmma reads {kind} along k only")
    descriptors = [MatrixDescriptor.of(low + offset, high) for offset in offsets]
    return _Operand([d.pieces(extent, along_k=along_k) for d in descriptors], along_k)


def _from_registers(
    words: Array, offsets: Sequence[int], size: int, values: Callable[[Array], Array]
) -> list[Array]:
    """A of each instruction, 64 x k, from the words ``(128, n)`` of a group's threads."""
    rows, columns = a_places(size)
    found = []
    for offset in offsets:
        own = np.ascontiguousarray(words[:, offset : offset + 4]).view(np.uint8)
        made = values(own).reshape(_THREADS, -1)
        matrix = np.zeros((_ROWS, _K_BYTES // size), made.dtype)
        matrix[rows, columns] = made
        found.append(matrix)
    return found


def start(
    cta: SimulatedCTA,
    shape: WgmmaShape,
    plan: Plan,
    counts: tuple[int, int],
    highs: tuple[int, int],
    operands: Sequence[Array],
    *,
    exact: bool = False,
) -> list[Array]:
    """Start a dot in every warp group that is here; gives undefined values of the shape of the accumulators.

    ``exact``: floats are integers modulo a power of two.
    """
    total, a = counts
    meanings = _EXACT if exact else _VALUES
    made = [np.array(v) for v in operands[:total]]
    accumulators, left = np.stack(operands[:total], axis=1), np.stack(operands[total : total + a], axis=1)
    b_low, add = operands[total + a], operands[total + a + 1]
    for threads, group, state in _groups(cta):
        own = _arrived(group, accumulators[threads])
        lows = _uniform(left[threads, 0]) if a == 1 else 0, _uniform(b_low[threads])
        b = _from_memory(lows[1], highs[1], [s[2] for s in plan], shape.n, shape.b, along_k=shape.b_rows)
        memory = [b]
        if a == 1:
            memory.insert(
                0, _from_memory(lows[0], highs[0], [s[1] for s in plan], _ROWS, shape.a, along_k=shape.a_rows)
            )
        addresses = np.concatenate([x.reshape(-1) for operand in memory for x in operand.addresses])
        distinct, where = np.unique(addresses, return_inverse=True)
        read = _read(cta, threads, distinct)
        pieces, right = read[where], b
        b_first = 0 if a != 1 else sum(x.size for x in memory[0].addresses)
        rights = right.matrices(pieces[b_first:], meanings[shape.b][1])
        lefts = (
            memory[0].matrices(pieces, meanings[shape.a][1])
            if a == 1
            else _from_registers(left[threads], [s[1] for s in plan], *meanings[shape.a])
        )
        results = _multiplied(shape, plan, own, lefts, rights, bool(_uniform(add[threads])), exact=exact)
        undefined = [state.random.integers(1 << 31, size=_THREADS).astype(np.int32) for _ in range(total)]
        undefined = [r.view(accumulators.dtype) for r in undefined]
        group.under_way.append(_Dot(distinct, read, [results[:, i] for i in range(total)], undefined))
        for i in range(total):
            made[i][threads] = undefined[i]
    return made


def _uniform(values: Array) -> int:
    """The value that all threads of a warp group have."""
    if (values != values[0]).any():
        raise DeviceError("the threads of a warp group have different matrix descriptors")
    return int(values[0]) & 0xFFFFFFFF


def _same(one: Array, other: Array) -> bool:
    return bool(
        (np.ascontiguousarray(one).view(np.int32) == np.ascontiguousarray(other).view(np.int32)).all()
    )


def _arrived(group: _Group, accumulators: Array) -> Array:
    """``accumulators`` (128, n): those of a dot under way where its undefined value is given, which the hardware takes in order."""
    found = accumulators.copy()
    for dot in reversed([*group.done, *group.under_way]):
        undefined = np.stack(dot.undefined, axis=1)
        if undefined.shape == accumulators.shape and _same(undefined, accumulators):
            found = np.stack(dot.results, axis=1)
            break
    return found


def _multiplied(
    shape: WgmmaShape,
    plan: Plan,
    own: Array,
    lefts: list[Array],
    rights: list[Array],
    add: bool,
    *,
    exact: bool,
) -> Array:
    """The accumulator's registers (128, n): 8-bit floats as Hopper adds them, others in double precision, rounded once.

    Sums in f16, two in a register, are rounded by every instruction.
    """
    rows, columns = accumulator_places(shape.n)
    add_up, given = _exactly, own
    if exact and shape.accumulator != "s32":
        add_up = _modulo
        given = np.ascontiguousarray(own).view(np.int16 if shape.accumulator == "f16" else np.int32)
    elif shape.accumulator == "f16":
        add_up, given = _in_halves, np.ascontiguousarray(own).view(np.float16)
    elif shape.a in FP8 and shape.accumulator == "f32":
        add_up = accumulate
    count = shape.n // 2
    wide: Any = np.int64 if shape.accumulator == "s32" else np.float64
    if add_up is _modulo:
        wide = given.dtype
    tiles: dict[int, Array] = {}
    with np.errstate(all="ignore"):
        for (tile, _, _), left, right in zip(plan, lefts, rights, strict=True):
            if tile not in tiles:
                registers = given[:, tile * count : (tile + 1) * count]
                tiles[tile] = np.zeros((_ROWS, shape.n), wide)
                if add:
                    tiles[tile][rows, columns] = registers.astype(wide)
            tiles[tile] = add_up(tiles[tile], left, right)
        result = given.copy()
        for tile, matrix in tiles.items():
            place = slice(tile * count, (tile + 1) * count)
            result[:, place] = matrix[rows, columns].astype(given.dtype)
    return result.view(own.dtype)


def _exactly(accumulator: Array, left: Array, right: Array) -> Array:
    found: Array = accumulator + left @ right.T
    return found


def _modulo(accumulator: Array, left: Array, right: Array) -> Array:
    return ring.product_sum(left, right.T, accumulator)


def _in_halves(accumulator: Array, left: Array, right: Array) -> Array:
    return _exactly(accumulator, left, right).astype(np.float16).astype(np.float64)


def wait(cta: SimulatedCTA, pendings: int, operands: Sequence[Array]) -> list[Array]:
    """Let all but the last ``pendings`` dots of each warp group here be done; results in place of their undefined value."""
    made = [np.array(v) for v in operands]
    for threads, group, _ in _groups(cta):
        count = max(len(group.under_way) - pendings, 0)
        for dot in group.under_way[:count]:
            if (_read(cta, threads, dot.addresses, fenced=False) != dot.read).any():
                raise _overwritten(cta, threads.start)
        group.done.extend(group.under_way[:count])
        known = {r.tobytes(): v for d in group.done for r, v in zip(d.undefined, d.results, strict=True)}
        for values in made:
            result = known.get(np.ascontiguousarray(values[threads]).tobytes())
            if result is not None:
                values[threads] = result.view(values.dtype)
        del group.under_way[:count]
    return made


def _overwritten(cta: SimulatedCTA, thread: int) -> Exception:
    message = "shared memory that a dot reads was overwritten before the dot was waited for"
    scene = getattr(cta, "scene", None)
    if scene is None:
        return DeviceError(message)
    error: Exception = scene.error(
        "asynchronous", message, thread=thread, remedy="wait for the dot, then pass a barrier"
    )
    return error
