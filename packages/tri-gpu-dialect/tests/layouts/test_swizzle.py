"""A swizzle made for two layouts is proven by counting the bank conflicts of both accesses."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_gpu_dialect.layouts import (
    Banks,
    LinearLayout,
    bank_conflicts,
    distributed,
    optimal_swizzle,
    shared,
    vector_access,
)

ROWS = distributed.blocked((64, 64), (1, 4), (2, 16), (4, 1), (1, 0))
COLUMNS = distributed.blocked((64, 64), (4, 1), (16, 2), (1, 4), (0, 1))


def test_the_counter_sees_the_classic_conflicts() -> None:
    plain = shared.row_major((64, 64), (1, 0))
    scalar_columns = distributed.blocked((64, 64), (1, 1), (32, 1), (1, 1), (0, 1))
    # 32 lanes down a column of rows of 64 words: all in one bank
    assert bank_conflicts(scalar_columns, plain, 32, max_vector_bits=32) == 32
    # with vectors of four words a phase has 8 lanes
    assert bank_conflicts(scalar_columns, plain, 32) == 8
    assert bank_conflicts(ROWS, plain, 32) == 1
    swizzled = shared.swizzled((64, 64), 1, 1, 32, (1, 0))
    assert bank_conflicts(scalar_columns, swizzled, 32, max_vector_bits=32) == 1
    assert bank_conflicts(scalar_columns, plain, 32, Banks(count=64), max_vector_bits=32) == 32
    assert bank_conflicts(scalar_columns, plain, 16, max_vector_bits=16) == 32


@pytest.mark.parametrize("bitwidth", [8, 16, 32, 64])
def test_transposition_through_the_swizzle_is_free_of_conflicts(bitwidth: int) -> None:
    memory = optimal_swizzle(ROWS, COLUMNS, bitwidth)
    assert memory.is_invertible
    assert bank_conflicts(ROWS, memory, bitwidth) == 1
    assert bank_conflicts(COLUMNS, memory, bitwidth) == 1


def test_vectors_are_as_wide_as_both_sides_allow() -> None:
    # four along the row, and twice as many as registers of both repeat along it
    narrow = distributed.blocked((64, 64), (1, 4), (8, 4), (1, 4), (1, 0))
    memory = optimal_swizzle(ROWS, narrow, 16)
    assert vector_access(ROWS, memory, 8).width == 8
    assert vector_access(narrow, memory, 8).width == 8


@st.composite
def bijections(draw: st.DrawFn, bits: int = 12) -> LinearLayout:
    """Blocked layouts of 64 x 64, or ones with their bits shuffled and mixed."""
    columns = list(draw(st.permutations([1 << i for i in range(bits)])))
    for i, j in draw(st.lists(st.tuples(*[st.integers(0, bits - 1)] * 2), max_size=6)):
        if i != j:
            columns[i] ^= columns[j]
    registers = bits - 7
    return LinearLayout(
        (("register", registers), ("lane", 5), ("warp", 2)), (("dim0", 6), ("dim1", 6)), tuple(columns)
    )


@settings(max_examples=60, deadline=None)
@given(bijections(), bijections(), st.sampled_from([8, 16, 32, 64]))
def test_no_conflicts_between_any_two_layouts(a: LinearLayout, b: LinearLayout, bitwidth: int) -> None:
    memory = optimal_swizzle(a, b, bitwidth)
    assert memory.is_invertible
    assert bank_conflicts(a, memory, bitwidth) == 1
    assert bank_conflicts(b, memory, bitwidth) == 1


@settings(max_examples=30, deadline=None)
@given(bijections(), bijections())
def test_vector_groups_are_aligned_runs_on_every_thread(a: LinearLayout, b: LinearLayout) -> None:
    memory = optimal_swizzle(a, b, 16)
    access = vector_access(a, memory, 8)
    for lane, warp in ((0, 0), (13, 2), (31, 3)):
        for group in access.groups:
            offsets = [
                access.conversion.apply({"register": r, "lane": lane, "warp": warp})["offset"] for r in group
            ]
            assert offsets[0] % access.width == 0
            assert offsets == list(range(offsets[0], offsets[0] + access.width))
    assert sorted(r for group in access.groups for r in group) == list(range(a.in_size("register")))


def test_copies_are_left_out_of_the_groups() -> None:
    layout = LinearLayout.from_bases(
        {"register": [(1,), (0,), (2,)], "lane": [(4,)], "warp": []}, {"dim0": 8}
    )
    access = vector_access(layout, shared.row_major((8,), (0,)), 8)
    assert access.width == 4
    assert access.groups == ((0, 1, 4, 5),)


def test_different_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="outputs differ"):
        optimal_swizzle(ROWS, distributed.blocked((64,), (1,), (32,), (4,), (0,)), 32)
