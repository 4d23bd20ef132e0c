"""Conversions and reductions across the blocks of a cluster, by their plans alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_gpu_dialect.encodings import Blocked
from tri_gpu_dialect.layouts import BLOCK, OFFSET, REGISTER, LinearLayout, gf2
from tri_gpu_dialect.plans import Exchange, ThroughShared, plan_conversion, plan_reduction
from tri_gpu_dialect.plans.conversion import normalized

#: (register, lane, warp, block), the slowest first, as arrays have them
_AXES = (BLOCK, "warp", "lane", REGISTER)


@st.composite
def layouts(draw: st.DrawFn, shape: tuple[int, ...], ctas: int, warps: int) -> LinearLayout:
    """A blocked layout whose cluster splits any dimensions, or holds copies."""
    rank = len(shape)
    order = tuple(draw(st.permutations(range(rank))))
    size = tuple(draw(st.sampled_from([1, 2, 4])) for _ in range(rank))
    blocks, counts = [], [1] * rank
    for _ in range(ctas.bit_length() - 1):
        d = draw(st.integers(-1, rank - 1))
        blocks.append(tuple(counts[d] if i == d else 0 for i in range(rank)))
        if d >= 0:
            counts[d] *= 2
    made = Blocked.make(shape, size, order, warps, 8, blocks=tuple(blocks))
    return normalized(made.linear_layout(shape))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[LinearLayout, LinearLayout]:
    shape = tuple(draw(st.sampled_from([1, 4, 16, 32])) for _ in range(draw(st.integers(1, 2))))
    ctas, warps = draw(st.sampled_from([1, 2, 4, 8])), draw(st.sampled_from([1, 4]))
    return draw(layouts(shape, ctas, warps)), draw(layouts(shape, ctas, warps))


def held(layout: LinearLayout) -> np.ndarray:
    """What each (block, warp, lane, register) holds, or where it is."""
    return layout.transpose_ins(_AXES[::-1]).table().reshape([layout.in_size(d) for d in _AXES])


@settings(max_examples=200, deadline=None)
@given(pairs())
def test_every_element_is_where_its_reader_looks(pair: tuple[LinearLayout, LinearLayout]) -> None:
    source, destination = pair
    plan = plan_conversion(source, destination, 32)
    if isinstance(plan, Exchange):
        own = held(source)
        np.testing.assert_array_equal(np.sort(np.unique(own)), np.unique(held(destination)))
        return
    got = np.full(held(destination).shape, -1)
    for piece in plan.pieces:
        memory = np.full((source.in_size(BLOCK), plan.shared.in_size(OFFSET)), -1)
        place = held(plan.source.invert_and_compose(plan.shared))
        for block in range(len(memory)):
            # every block writes into its own memory
            assert (place[block] // memory.shape[1] == block).all()
            memory[block, place[block] % memory.shape[1]] = held(source)[block][..., list(piece.source)]
        where = held(plan.reads)
        got[..., list(piece.destination)] = memory[where // memory.shape[1], where % memory.shape[1]]
    np.testing.assert_array_equal(got, held(destination))


@settings(max_examples=100, deadline=None)
@given(pairs())
def test_what_a_block_has_it_reads_from_itself(pair: tuple[LinearLayout, LinearLayout]) -> None:
    source, destination = pair
    plan = plan_conversion(source, destination, 16)
    have, want = held(source), held(destination)
    at_home = all(np.isin(want[block], have[block]).all() for block in range(len(want)))
    zeros = not any(source.packed(BLOCK)) or source.packed(BLOCK) == destination.packed(BLOCK)
    if at_home and zeros and isinstance(plan, ThroughShared):
        assert not plan.crosses_blocks


@settings(max_examples=100, deadline=None)
@given(pairs(), st.integers(0, 1))
def test_blocks_that_contribute_have_all_of_the_axis(
    pair: tuple[LinearLayout, LinearLayout], axis: int
) -> None:
    layout = pair[0]
    axis = min(axis, len(layout.out_dims) - 1)
    plan = plan_reduction(layout, axis)
    size = layout.out_size(f"dim{axis}")
    rows = layout.transpose_ins(_AXES[::-1]).table()
    along = np.array([layout.unpack_out(int(r))[axis] for r in rows]).reshape(layout.in_size(BLOCK), -1)
    for block in range(len(along)):
        peers = [block ^ gf2.apply(plan.block_masks, n) for n in range(1 << len(plan.block_masks))]
        assert set(along[peers].ravel()) == set(range(size))
        index = [gf2.apply(plan.block_partial.packed(BLOCK), p) for p in peers]
        assert sorted(index) == list(range(len(peers)))
