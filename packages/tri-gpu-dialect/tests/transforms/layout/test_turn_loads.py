"""Layouts of loads whose threads hold several rows: every element once, whole sectors, and widest writes that a swizzle has no conflicts of."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tri_gpu_dialect.analysis.access import MADE_UP_LINES
from tri_gpu_dialect.encodings import Blocked, SwizzledShared
from tri_gpu_dialect.layouts import Banks, bank_conflicts, layout_for, vector_access
from tri_gpu_dialect.transforms.layout.turn_loads import turned

sizes = st.sampled_from((16, 32, 64, 128))


@given(
    rows=sizes,
    columns=sizes,
    warps=st.sampled_from((1, 2, 4, 8)),
    bits=st.sampled_from((8, 16, 32)),
    along=st.sampled_from((0, 1)),
)
def test_each_holds_every_element_once_and_lanes_fill_sectors(
    rows: int, columns: int, warps: int, bits: int, along: int
) -> None:
    shape = (rows, columns) if along else (columns, rows)
    vector = 128 // bits
    assume(rows * columns >= 32 * warps * vector)
    per_thread = (1, vector) if along else (vector, 1)
    own = Blocked.make(shape, per_thread, (along, 1 - along), warps, 32, 1)
    for encoding in turned(own, shape, bits, bits, MADE_UP_LINES):
        layout = layout_for(encoding, shape)
        assert layout.is_injective
        assert layout.is_surjective
        run = {basis[along] for basis in (*encoding.register, *encoding.lane) if not basis[1 - along]}
        filled = min(MADE_UP_LINES.sector * 8 // bits, columns)
        assert run >= {1 << i for i in range(filled.bit_length() - 1)}


@pytest.mark.parametrize("shape", [(64, 64), (64, 128), (32, 64), (128, 128)])
@pytest.mark.parametrize("warps", [2, 4])
def test_one_writes_columns_in_the_widest_accesses_without_conflicts(
    shape: tuple[int, int], warps: int
) -> None:
    own = Blocked.make(shape, (1, 4), (1, 0), warps, 32, 1)
    memory = layout_for(SwizzledShared(4, 1, 8, (0, 1)), shape)
    before = layout_for(own, shape)
    assert vector_access(before, memory, 4).width == 1
    assert bank_conflicts(before, memory, 32, Banks()) > 1
    found = [layout_for(each, shape) for each in turned(own, shape, 32, 32, MADE_UP_LINES)]
    best = [
        e
        for e in found
        if vector_access(e, memory, 4).width == 4 and bank_conflicts(e, memory, 32, Banks()) == 1
    ]
    assert best
