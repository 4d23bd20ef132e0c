from __future__ import annotations

import pytest

from tri_gpu_dialect.analysis.access import stores_as_well
from tri_gpu_dialect.encodings import Blocked, Slice

CHOSEN = Blocked((1, 8), (4, 8), (4, 1), (1, 0))


@pytest.mark.parametrize(
    ("candidate", "bits", "good"),
    [
        (CHOSEN, 16, True),
        # vectors of 8 bytes and whole lines
        (Blocked((8, 4), (2, 16), (4, 1), (1, 0)), 16, True),
        # rows of 32 bytes only
        (Blocked((8, 4), (8, 4), (4, 1), (1, 0)), 16, False),
        # one element per thread
        (Blocked((1, 1), (1, 32), (4, 1), (1, 0)), 16, False),
        # down the columns
        (Blocked((8, 1), (8, 4), (1, 4), (0, 1)), 16, False),
        # 32 bytes per thread: two stores with gaps
        (Blocked((4, 8), (4, 8), (4, 1), (1, 0)), 32, False),
    ],
)
def test_layouts_are_judged_by_what_memory_sees(candidate: Blocked, bits: int, good: bool) -> None:
    chosen = CHOSEN if bits == 16 else Blocked((1, 4), (2, 16), (4, 1), (1, 0))
    assert stores_as_well(candidate, chosen, (64, 64), bits) is good


def test_copies_in_threads_count_against_a_layout() -> None:
    half = Blocked((1, 8), (4, 8), (2, 2), (1, 0))
    assert not stores_as_well(half, CHOSEN, (16, 64), 16)


@pytest.mark.parametrize(
    ("columns", "rows", "good"),
    [
        # 8 lanes side by side, two elements each, copies in 4 lanes
        ((2, 1), 64, True),
        # the same of four times as many rows: 8 stores a thread
        ((2, 1), 256, False),
        # one element in each of two lanes side by side: 8 bytes of a sector
        ((1, 16), 8, False),
    ],
)
def test_a_number_for_each_row_is_stored_as_it_lies(columns: tuple[int, int], rows: int, good: bool) -> None:
    chosen = Blocked((1,), (32,), (4,), (0,))
    lanes = (8, 4) if columns[1] == 1 else (2, 16)
    parent = Blocked((columns[0], 1), lanes, (4, 1), (0, 1))
    assert stores_as_well(Slice(1, parent), chosen, (rows,), 32) is good
