"""Where the totals of warps go: what lanes hold is next to each other, so that no two of a warp are in one bank."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_gpu_dialect.encodings import Blocked
from tri_gpu_dialect.layouts import LANE, LinearLayout, layout_for
from tri_gpu_dialect.plans.scanning import ScanPlan, WarpStep, plan_scan

SHAPE = (64, 64)
POWERS = st.integers(0, 3).map(lambda n: 1 << n)


def warp_steps(plan: ScanPlan) -> list[WarpStep]:
    return [step for step in plan.steps if isinstance(step, WarpStep)]


def lanes(slot: LinearLayout) -> set[int]:
    """The slots of the lanes of a warp, of its first registers."""
    return set(slot.images(LANE))


@pytest.mark.parametrize(("per_thread", "threads"), [((1, 4), (2, 16)), ((1, 8), (4, 8)), ((1, 1), (1, 32))])
def test_lanes_are_next_to_each_other(per_thread: tuple[int, int], threads: tuple[int, int]) -> None:
    """Columns of a block that lanes share, down which four warps scan: a slot of four totals for each of them."""
    (step,) = warp_steps(plan_scan(layout_for(Blocked(per_thread, threads, (4, 1), (1, 0)), SHAPE), 0))
    assert step.bits == 2
    assert lanes(step.slot) == {4 * lane for lane in range(threads[1])}


@given(
    st.tuples(POWERS, POWERS),
    st.integers(0, 5),
    st.integers(0, 3),
    st.integers(0, 1),
    st.permutations((0, 1)),
)
def test_each_total_has_a_slot_of_its_own(
    per_thread: tuple[int, int], lane_bits: int, warp_bits: int, axis: int, order: list[int]
) -> None:
    """As many as there are blocks and other coordinates; the blocks that are joined follow each other."""
    threads, warps = (1 << lane_bits, 32 >> lane_bits), (1 << warp_bits, 8 >> warp_bits)
    layout = layout_for(Blocked(per_thread, threads, warps, tuple(order)), SHAPE)
    for step in warp_steps(plan_scan(layout, axis)):
        columns = [column for column in step.slot.columns if column]
        assert sorted(set(columns)) == [1 << bit for bit in range(step.slot.out_bits)]
        assert step.bits <= step.slot.out_bits
