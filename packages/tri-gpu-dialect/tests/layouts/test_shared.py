from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tri_gpu_dialect.layouts import shared

sizes = st.sampled_from([1, 2, 4, 8])


@given(sizes, sizes, sizes, st.sampled_from([(0, 1), (1, 0)]))
def test_swizzle_formula(vec: int, per_phase: int, max_phase: int, order: tuple[int, int]) -> None:
    shape = (16, 32)
    layout = shared.swizzled(shape, vec, per_phase, max_phase, order)
    assert layout.is_invertible
    columns = shape[order[0]]
    for row in range(shape[order[1]]):
        phase = row // per_phase % max_phase
        for column in range(columns):
            offset = row * columns + (column ^ (phase * vec % columns))
            got = layout.apply({"offset": offset})
            assert (got[f"dim{order[1]}"], got[f"dim{order[0]}"]) == (row, column)


def test_row_major_of_three_dimensions() -> None:
    layout = shared.row_major((2, 4, 8), (2, 1, 0))
    assert layout.apply({"offset": 1 * 32 + 3 * 8 + 5}) == {"dim0": 1, "dim1": 3, "dim2": 5}


def test_padding() -> None:
    gaps = ((32, 4), (128, 8))
    assert [shared.pad_offset(i, gaps) for i in (31, 32, 128)] == [31, 36, 152]
    assert shared.padded_size(64, ((32, 4),)) == 68
    assert shared.padded_size(0, ()) == 0
