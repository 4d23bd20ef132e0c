"""Simulation of the machine ops of matrices, in NumPy, over all threads of a CTA at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_nvidia.machine.simulation.matrix_fragments import LANES, A, B, C, places
from tri_core import ring
from tri_gpu_dialect.lowering import SimulatedCTA

__all__ = ["fragments", "given_out", "load_matrices", "multiply", "multiply_exactly", "store_matrices"]

Array = npt.NDArray[Any]

_SHARED = 3


def _float8(exponent: int, mantissa: int, *, infinities: bool) -> Array:
    """All values of an 8-bit float, by their bits."""
    bits = np.arange(256)
    e, f = bits >> mantissa & (1 << exponent) - 1, bits & (1 << mantissa) - 1
    bias = (1 << exponent - 1) - 1
    size = np.where(e == 0, f * 2.0 ** (1 - bias - mantissa), (1 + f / (1 << mantissa)) * 2.0 ** (e - bias))
    top = e == (1 << exponent) - 1
    if infinities:
        size = np.where(top, np.where(f == 0, np.inf, np.nan), size)
    else:
        size = np.where(top & (f == (1 << mantissa) - 1), np.nan, size)
    return np.where(bits >> 7 == 1, -size, size)


_E4M3 = _float8(4, 3, infinities=False)
_E5M2 = _float8(5, 2, infinities=True)
_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])

#: words of a thread -> its elements
_DECODE: dict[str, Callable[[Array], Array]] = {
    "f16": lambda w: w.view(np.float16).astype(np.float64),
    "bf16": lambda w: (w.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64),
    "tf32": lambda w: (w.view(np.uint32) & 0xFFFFE000).view(np.float32).astype(np.float64),
    "s8": lambda w: w.view(np.int8).astype(np.int64),
    "u8": lambda w: w.view(np.uint8).astype(np.int64),
    "e4m3": lambda w: _E4M3[w.view(np.uint8)],
    "e5m2": lambda w: _E5M2[w.view(np.uint8)],
    # the first of two numbers in the low bits
    "e2m1": lambda w: _E2M1[np.stack([w.view(np.uint8) & 15, w.view(np.uint8) >> 4], axis=-1)],
    "f64": lambda w: w,
}
#: bits of an operand's element
_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8, "e2m1": 4, "f64": 64}


def _gathered(values: Array, rows: Array, columns: Array, shape: tuple[int, int]) -> Array:
    """The matrices of all warps, from each thread's registers."""
    per_warp = values.reshape(-1, LANES, rows.shape[1])
    matrix = np.zeros((len(per_warp), *shape), values.dtype)
    matrix[:, rows, columns] = per_warp
    return matrix


def fragments(
    cta: SimulatedCTA,
    shape: str,
    kinds: tuple[str, str],
    counts: tuple[int, int, int],
    operands: Sequence[Array],
    total: str = "",
    decode: Callable[[Array, str], Array] | None = None,
) -> list[Array]:
    """A, B and the accumulator, (warps, rows, columns) each, from the registers of all threads.

    ``total``: the accumulator's PTX type where its registers hold several elements.  ``decode``: instead of the numbers of PTX's types.
    """
    m, n, k = map(int, re.findall(r"\d+", shape))
    first, second, _ = counts
    parts = (operands[:first], operands[first : first + second], operands[first + second :])
    sizes = ((m, k), (k, n), (m, n))
    matrices = []
    for role, registers, kind, size in zip((A, B, C), parts, (*kinds, total), sizes, strict=True):
        words = np.ascontiguousarray(np.stack(registers, axis=1))
        values = (decode(words, kind) if decode else _DECODE[kind](words)) if kind else words
        place = places(shape, _BITS[kinds[0]], role)
        matrices.append(_gathered(values.reshape(cta.num_threads, -1), *place, size))
    return matrices


def given_out(cta: SimulatedCTA, shape: str, kind: str, made: Array) -> list[Array]:
    """The registers of all threads for accumulators ``made``, (warps, rows, columns); ``kind`` is A's."""
    rows, columns = places(shape, _BITS[kind], C)
    dealt = made[:, rows, columns].reshape(cta.num_threads, -1)
    return [dealt[:, i] for i in range(dealt.shape[1])]


def multiply(
    cta: SimulatedCTA,
    shape: str,
    kinds: Sequence[str],
    counts: tuple[int, int, int],
    operands: Sequence[Array],
) -> list[Array]:
    """The accumulators of every thread; exact products, added in double precision (integers: exactly).

    Each instruction rounds once: of sums in f16 the PTX ISA asks for half precision at least, in an order that it leaves open.
    """
    left, right, total = kinds
    is_half = total == "f16"
    a, b, c = fragments(cta, shape, (left, right), counts, operands, total if is_half else "")
    with np.errstate(all="ignore"):
        if total == "s32":
            made = (a @ b + c.astype(np.int64)).astype(np.int32)
        else:
            made = (a @ b + c.astype(np.float64)).astype(np.float16 if is_half else c.dtype)
    given = given_out(cta, shape, left, made)
    return _in_words(given) if is_half else given


def multiply_exactly(
    cta: SimulatedCTA,
    shape: str,
    kinds: Sequence[str],
    counts: tuple[int, int, int],
    operands: Sequence[Array],
) -> list[Array]:
    """:func:`multiply` where floats are integers modulo a power of two."""
    left, right, total = kinds
    a, b, c = fragments(cta, shape, (left, right), counts, operands, total, ring.elements)
    made = ring.product_sum(a, b, c)
    given = given_out(cta, shape, left, made)
    return _in_words(given) if total == "f16" else [each.view(operands[-1].dtype) for each in given]


def _in_words(halves: Sequence[Array]) -> list[Array]:
    """``halves``, arrays of f16 by element, in pairs as words of 32 bits, the first of a pair in the low bits."""
    words = np.ascontiguousarray(np.stack(halves, axis=1)).view(np.int32)
    return [words[:, i] for i in range(words.shape[1])]


def load_matrices(cta: SimulatedCTA, pointer: Array, count: int, transposed: bool) -> list[Array]:
    """Word j of each thread, from matrix j of its warp."""
    lane = np.arange(cta.num_threads) % LANES
    reading = np.logical_and(cta.active, lane < 8 * count)
    memory, half = cta.memory(_SHARED), np.dtype(np.uint64)
    if (pointer[reading] % 16).any():
        raise ValueError("ldmatrix reads rows at multiples of 16 bytes")
    words = np.stack([memory.load(pointer + 8 * i, half, reading) for i in range(2)], axis=1)
    matrices = np.ascontiguousarray(words).view(np.uint16).reshape(-1, 4, 8, 8)
    if transposed:
        matrices = matrices.swapaxes(2, 3)
    own = np.ascontiguousarray(matrices).view(np.int32).reshape(-1, 4, LANES)
    return [own[:, j].reshape(-1) for j in range(count)]


def store_matrices(cta: SimulatedCTA, pointer: Array, words: Sequence[Array], transposed: bool) -> None:
    """Word j of each thread goes to matrix j of its warp; lane i of the first ones writes row ``i % 8``."""
    lane = np.arange(cta.num_threads) % LANES
    writing = np.logical_and(cta.active, lane < 8 * len(words))
    if (pointer[writing] % 16).any():
        raise ValueError("stmatrix writes rows at multiples of 16 bytes")
    given = np.zeros((cta.num_threads, 4), np.int32)
    given[:, : len(words)] = np.stack(words, axis=1)
    dealt = np.ascontiguousarray(given.reshape(-1, LANES, 4).swapaxes(1, 2))
    matrices = dealt.view(np.uint16).reshape(-1, 4, 8, 8)
    if transposed:
        matrices = matrices.swapaxes(2, 3)
    rows = np.ascontiguousarray(matrices).reshape(cta.num_threads, 8)
    cta.memory(_SHARED).store(pointer, rows, writing, 16)
