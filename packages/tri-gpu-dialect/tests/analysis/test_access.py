from __future__ import annotations

import pytest

from tri_gpu_dialect.analysis.access import stores_as_well
from tri_gpu_dialect.encodings import Blocked

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
