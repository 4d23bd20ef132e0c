"""Cost of a dot by one kind of instruction: busy time of the matrix unit, then reads."""

from __future__ import annotations

import math

from tri_gpu_dialect.policies.matrix import split_warps

__all__ = ["work"]


def work(
    shape: tuple[int, ...], depth: int, instruction: tuple[int, int, int], passes: int, warps: int
) -> tuple[int, int]:
    """Passes of a wavefront's share of a dot with a result of ``shape`` over ``depth``, and the elements that it reads.

    ``instruction`` is m, n, k of one of ``passes``; ``warps`` wavefronts share the dot.
    """
    m, n, k = instruction
    *batch, rows, columns = split_warps(shape, (m, n), warps, whole_rows=False)
    down, across = (
        max(size // (split * own), 1)
        for size, split, own in zip(shape[-2:], (rows, columns), (m, n), strict=True)
    )
    alone = math.prod(max(size // split, 1) for size, split in zip(shape[:-2], batch, strict=True))
    return alone * down * across * (depth // k) * passes, alone * (down * m + across * n) * depth
