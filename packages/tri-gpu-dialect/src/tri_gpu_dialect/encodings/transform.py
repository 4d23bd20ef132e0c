"""Encodings of results of transpose, reshape, join, split and concatenation.

Each function answers for any encoding, through its linear layout; the result is a ``Blocked`` encoding
where one says the same, so that encodings that mean the same mostly are the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import lru_cache

from tri_gpu_dialect.encodings.distributed import Blocked, Linear, Slice
from tri_gpu_dialect.layouts.cluster import permuted
from tri_gpu_dialect.layouts.encoding import Encoding, layout_for
from tri_gpu_dialect.layouts.linear import BLOCK, LANE, REGISTER, WARP, LinearLayout, dim_names

__all__ = ["concatenated", "expanded", "joined", "of_layout", "reshaped", "split", "transposed"]

Shape = tuple[int, ...]


def expanded(encoding: Encoding, axis: int) -> Encoding | None:
    """The encoding after a dimension of size 1 is put in at ``axis``, if it follows from ``encoding`` alone."""
    return encoding.parent if isinstance(encoding, Slice) and encoding.dim == axis else None


@lru_cache(maxsize=1024)
def transposed(encoding: Encoding, order: Shape, shape: Shape) -> Encoding:
    """Of a tensor of ``shape`` seen with result dimension i being source dimension ``order[i]``."""
    if isinstance(encoding, Blocked):
        return _transposed_blocked(encoding, order)
    names = {f"dim{d}": f"dim{i}" for i, d in enumerate(order)}
    return of_layout(layout_for(encoding, shape).rename_outs(names).transpose_outs(dim_names(len(order))))


def _transposed_blocked(encoding: Blocked, order: Shape) -> Blocked:
    def reordered(sizes: Shape) -> Shape:
        return tuple(sizes[d] for d in order)

    return Blocked(
        reordered(encoding.size_per_thread),
        reordered(encoding.threads_per_warp),
        reordered(encoding.warps_per_cta),
        tuple(order.index(d) for d in encoding.order),
        permuted(encoding.cga_layout, order),
    )


@lru_cache(maxsize=1024)
def reshaped(encoding: Encoding, source: Shape, result: Shape) -> Encoding:
    """Of a tensor of shape ``source`` read, row-major, in shape ``result``."""
    layout = layout_for(encoding, source)
    flat = layout.transpose_outs(layout.out_dims[::-1])
    names = dim_names(len(result))
    cut = flat.reshape_outs(dict(zip(names[::-1], result[::-1], strict=True)))
    return of_layout(cut.transpose_outs(names))


@lru_cache(maxsize=1024)
def joined(encoding: Encoding, shape: Shape) -> Encoding:
    """Of two tensors of ``shape`` and ``encoding`` along a new last dimension: neighbours in registers."""
    layout = layout_for(encoding, shape)
    last = f"dim{len(shape)}"
    pair = LinearLayout.identity1d(2, REGISTER, last)
    return of_layout((pair * layout).transpose_outs(dim_names(len(shape) + 1)))


@lru_cache(maxsize=1024)
def split(encoding: Encoding, shape: Shape) -> Encoding | None:
    """Of each half of a tensor of ``shape`` along its last dimension (of size 2); None if lanes share pairs."""
    layout = layout_for(encoding, shape)
    last = layout.out_dims[-1]
    unit = tuple(int(name == last) for name in layout.out_dims)
    registers = list(layout.bases[REGISTER])
    if unit not in registers:
        return None
    registers.remove(unit)
    bases = {**layout.bases, REGISTER: tuple(registers)}
    if any(basis[-1] for dim in bases.values() for basis in dim):
        return None
    cut = {dim: tuple(basis[:-1] for basis in given) for dim, given in bases.items()}
    return of_layout(LinearLayout.from_bases(cut, dict(zip(layout.out_dims[:-1], shape[:-1], strict=True))))


@lru_cache(maxsize=1024)
def concatenated(encoding: Encoding, shape: Shape) -> Encoding:
    """Of two tensors of ``shape`` one after the other along dimension 0: the second in further registers."""
    layout = layout_for(encoding, shape)
    return of_layout(layout * LinearLayout.identity1d(2, REGISTER, "dim0"))


@lru_cache(maxsize=1024)
def of_layout(layout: LinearLayout) -> Encoding:
    """An encoding with this very layout: blocked if there is one, else written out."""
    shape = tuple(layout.out_sizes.values())
    boxes = [_box(layout, shape, in_dim) for in_dim in (REGISTER, LANE, WARP)]
    cluster = _cluster(layout, shape)
    if cluster is None or len(shape) > 4:
        return Linear.of(layout)
    for order in itertools.permutations(reversed(range(len(shape)))):
        candidate = _candidate(boxes, order, layout, cluster)
        if candidate.linear_layout(shape) == layout:
            return candidate
    return Linear.of(layout)


def _sources(layout: LinearLayout, dim: int) -> Mapping[int, str]:
    """Input of each bit of ``dim`` whose basis is that bit alone."""
    found: dict[int, str] = {}
    for in_dim, bases in layout.bases.items():
        for basis in bases:
            if basis[dim] and not any(v for d, v in enumerate(basis) if d != dim):
                found.setdefault(basis[dim].bit_length() - 1, in_dim)
    return found


def _box(layout: LinearLayout, shape: Shape, in_dim: str) -> list[int]:
    """Extent of ``in_dim`` along each dimension, without registers that repeat above the threads."""
    sizes = []
    for d, size in enumerate(shape):
        sources = _sources(layout, d)
        bits = [sources.get(i) for i in range(size.bit_length() - 1)]
        if in_dim == REGISTER:
            run = len(list(itertools.takewhile(lambda s: s == REGISTER, bits)))
            # without threads along this dimension, all registers may as well be of the box
            sizes.append(1 << run)
        else:
            sizes.append(1 << bits.count(in_dim))
    return sizes


def _candidate(
    boxes: Sequence[Sequence[int]], order: Shape, layout: LinearLayout, cluster: tuple[Shape, ...]
) -> Blocked:
    registers, lanes, warps = (list(box) for box in boxes)
    for box, in_dim in ((lanes, LANE), (warps, WARP)):
        have = 1
        for n in box:
            have *= n
        # threads that hold copies go to the slowest dimension, as Blocked.make puts them
        box[order[-1]] *= max(layout.in_size(in_dim) // have, 1)
    return Blocked(tuple(registers), tuple(lanes), tuple(warps), tuple(order), cluster)


def _cluster(layout: LinearLayout, shape: Shape) -> tuple[Shape, ...] | None:
    """The block bases in units of a block's share; None when blocks do not split dimensions at the top."""
    bases = layout.bases.get(BLOCK, ())
    split_by = [1 << sum(1 for b in bases if b[d]) for d in range(len(shape))]
    scaled = []
    for basis in bases:
        shares = [v * n // size for v, n, size in zip(basis, split_by, shape, strict=True)]
        if any(v and not s for v, s in zip(basis, shares, strict=True)):
            return None
        scaled.append(tuple(shares))
    return tuple(scaled)
