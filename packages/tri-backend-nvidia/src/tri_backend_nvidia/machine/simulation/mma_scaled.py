"""Simulation of ``mma.sync`` with block scales, in NumPy: scales are in lanes as in the manual's figures.

PTX ISA, section "Block Scaling for mma.sync".  Nothing is shared with the compiler's layouts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_nvidia.machine.scaled_formats import SCALED_KINDS
from tri_backend_nvidia.machine.simulation.matrix import fragments, given_out
from tri_backend_nvidia.machine.simulation.matrix_fragments import LANES, A
from tri_backend_nvidia.machine.simulation.tcgen05_scaled import scale_values
from tri_gpu_dialect.lowering import SimulatedCTA

__all__ = ["multiply", "scale_matrix"]

Array = npt.NDArray[Any]

_ROWS, _BYTES = (16, 8), 4


def scale_matrix(words: Array, role: int, count: int, selector: tuple[int, int]) -> Array:
    """The bytes of the scales of each warp, (warps, rows, ``count``), from a word of every thread.

    ``role`` is A or B; ``selector`` byte-id and thread-id.
    """
    byte, thread = selector
    held = np.ascontiguousarray(words).view(np.uint8).reshape(-1, LANES, _BYTES)
    row = np.arange(_ROWS[role])
    lanes = 4 * (row % 8) + (2 * thread + row // 8 if role == A else thread)
    return held[:, lanes, byte : byte + count]


def multiply(
    cta: SimulatedCTA,
    kind: str,
    kinds: Sequence[str],
    selectors: tuple[tuple[int, int], tuple[int, int]],
    counts: tuple[int, int, int],
    operands: Sequence[Array],
) -> list[Array]:
    """The accumulators of every thread; exact dots of scaled operands, added in double precision, rounded once."""
    row, (left, right, scale) = SCALED_KINDS[kind], kinds
    shape, words = f"m16n8k{row.k}", operands[-2:]
    a, b, c = fragments(cta, shape, (left, right), counts, operands[:-2])
    scales = [
        np.repeat(scale_values(scale, scale_matrix(word, role, row.scales, selector)), row.group, axis=2)
        for role, (word, selector) in enumerate(zip(words, selectors, strict=True))
    ]
    with np.errstate(all="ignore"):
        made = ((a * scales[0]) @ (b * scales[1].swapaxes(1, 2)) + c.astype(np.float64)).astype(c.dtype)
    return given_out(cta, shape, left, made)
