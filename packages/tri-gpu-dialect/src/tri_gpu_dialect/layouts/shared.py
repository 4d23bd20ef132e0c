"""Layouts of tensors in shared memory: from offset (in elements) to (dim0, dim1, ...)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tri_gpu_dialect.layouts.linear import OFFSET, LinearLayout, dim_names

__all__ = ["pad_offset", "padded_size", "row_major", "swizzled"]

Shape = tuple[int, ...]


def row_major(shape: Sequence[int], order: Sequence[int]) -> LinearLayout:
    """Elements one after the other, along dimension ``order[0]`` first."""
    layout = LinearLayout(((OFFSET, 0),), (), ())
    for dim in order:
        layout *= LinearLayout.identity1d(shape[dim], OFFSET, f"dim{dim}")
    return layout.transpose_outs(dim_names(len(shape)))


@lru_cache(maxsize=1024)
def swizzled(shape: Shape, vec: int, per_phase: int, max_phase: int, order: Shape) -> LinearLayout:
    """Rows whose groups of ``vec`` elements are permuted by xor with the row's phase.

    Along ``order[0]`` runs the row, along ``order[1]`` the row number; the phase is
    ``row // per_phase % max_phase``, and element (row, column) lies at column ``column ^ phase * vec``
    of its row.  All three numbers are powers of two.
    """
    plain = row_major(shape, order)
    if len(shape) < 2 or max_phase == 1:
        return plain
    columns, rows = shape[order[0]], shape[order[1]]
    start = columns.bit_length() - 1
    bases = list(plain.bases[OFFSET])
    for bit in range(rows.bit_length() - 1):
        phase = ((1 << bit) // per_phase) % max_phase
        basis = list(bases[start + bit])
        basis[order[0]] = (phase * vec) % columns
        bases[start + bit] = tuple(basis)
    return LinearLayout.from_bases({OFFSET: bases}, plain.out_sizes)


def pad_offset(offset: int, paddings: Sequence[tuple[int, int]]) -> int:
    """``offset`` (elements) with ``pad`` elements put in after every ``interval``, for each (interval, pad)."""
    return offset + sum((offset // interval) * pad for interval, pad in paddings)


def padded_size(numel: int, paddings: Sequence[tuple[int, int]]) -> int:
    """Elements that ``numel`` padded elements occupy."""
    return pad_offset(numel - 1, paddings) + 1 if numel else 0
