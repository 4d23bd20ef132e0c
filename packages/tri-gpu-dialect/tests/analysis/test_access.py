from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_core.api import Memory, Target, TargetKey, TargetSpec
from tri_gpu_dialect.analysis.access import Lines, stores_as_well, within_warps
from tri_gpu_dialect.encodings import Blocked, Linear, Slice
from tri_gpu_dialect.layouts import LANE, REGISTER, WARP, LinearLayout, layout_for
from tri_gpu_dialect.plans import Exchange, plan_conversion

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


@pytest.mark.parametrize(("line", "good"), [(128, False), (64, True), (32, True)])
def test_lines_are_as_long_as_the_target_says(line: int, good: bool) -> None:
    """Rows of 64 bytes."""
    memory = Memory(name="global", address_space=1, line_bytes=line)
    target = Target(key=TargetKey("made-up", "m1"), spec=TargetSpec(memories=(memory,)))
    candidate = Blocked((4, 4), (4, 8), (2, 2), (1, 0))
    assert stores_as_well(candidate, CHOSEN, (64, 64), 16, Lines.of(target)) is good


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


#: 16 rows of a warp: pairs of columns in four lanes, eight rows, as sums of ``mma`` have them
_SUMS = {
    "register": ((0, 1), (8, 0), (0, 8), (0, 16), (0, 32)),
    "lane": ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0)),
    "warp": ((16, 0), (32, 0)),
}


def _vector(layout: LinearLayout) -> int:
    """How many neighbours of a row a thread's first registers hold."""
    found = 0
    for basis in layout.bases[REGISTER]:
        if basis != (0, 1 << found):
            break
        found += 1
    return 1 << found


@pytest.mark.parametrize(("bits", "vector"), [(16, 8), (32, 4), (8, 16)])
def test_sums_are_stored_in_vectors_without_leaving_their_warp(bits: int, vector: int) -> None:
    made = Linear(2, **_SUMS)
    chosen = Blocked((1, vector), (32 * vector // 64, 64 // vector), (4, 1), (1, 0))
    found = layout_for(within_warps(made, chosen, (64, 64), bits), (64, 64))
    before = layout_for(made, (64, 64))
    assert _vector(found) == vector
    assert found.packed(WARP) == before.packed(WARP)
    # lanes that are neighbours hold neighbouring vectors: whole sectors
    assert (0, vector) in found.bases[LANE]
    assert isinstance(plan_conversion(before, found, bits), Exchange)


@given(st.permutations(range(12)), st.sampled_from([8, 16, 32]))
def test_warps_keep_their_elements(order: list[int], bits: int) -> None:
    """Any layout of 64x64: the elements of a warp are those that it had; what takes more than single bits is left alone."""
    units = [(1 << i, 0) for i in range(6)] + [(0, 1 << i) for i in range(6)]
    shuffled = tuple(units[i] for i in order)
    made = Linear(2, register=shuffled[:5], lane=shuffled[5:10], warp=shuffled[10:])
    wide = 128 // bits
    chosen = Blocked((1, wide), (32 * wide // 64, 64 // wide), (4, 1), (1, 0))
    before, after = (layout_for(e, (64, 64)) for e in (made, within_warps(made, chosen, (64, 64), bits)))
    assert after.packed(WARP) == before.packed(WARP)
    assert set(after.columns) == set(before.columns)
    held = [(0, 1 << i) in (*before.bases[REGISTER], *before.bases[LANE]) for i in range(6)]
    assert after == before or (_vector(after) >= wide and all(held[: wide.bit_length() - 1]))
