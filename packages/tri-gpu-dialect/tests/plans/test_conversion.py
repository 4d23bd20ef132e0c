from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_gpu_dialect.encodings import Blocked, DotOperand
from tri_gpu_dialect.layouts import LANE, REGISTER, WARP, LinearLayout, bank_conflicts, gf2, vector_access
from tri_gpu_dialect.layouts.distributed import blocked
from tri_gpu_dialect.plans import Exchange, ThroughShared, in_words, plan_conversion
from tri_gpu_dialect.testing import distributed

Array = npt.NDArray[np.int64]


def held(layout: LinearLayout) -> Array:
    """The element that each (warp, lane, register) holds."""
    sizes = [layout.in_size(d) for d in (WARP, LANE, REGISTER)]
    return layout.transpose_ins((REGISTER, LANE, WARP, "block")).table().reshape(sizes)


def run_exchange(plan: Exchange, values: Array) -> Array:
    """What an exchange does, by its definition."""
    warps, lanes, _ = values.shape
    result = np.empty((warps, lanes, len(plan.expand)), np.int64)
    for w in range(warps):
        got = np.empty((lanes, len(plan.rounds)), np.int64)
        for t, (a, constant) in enumerate(plan.rounds):
            for lane in range(lanes):
                s = gf2.apply(plan.lane_of_lane, lane) ^ constant ^ gf2.apply(plan.lane_of_warp, w)
                sent = a ^ gf2.apply(plan.send_lane, s) ^ gf2.apply(plan.send_warp, w)
                got[lane, t] = values[w, s, sent]
        for lane in range(lanes):
            shift = gf2.apply(plan.receive_lane, lane)
            result[w, lane] = [got[lane, t ^ shift] for t in plan.expand]
    return result


def run_shared(plan: ThroughShared, values: Array, destination: LinearLayout) -> Array:
    result = np.full((*values.shape[:2], destination.in_size(REGISTER)), -1, np.int64)
    for piece in plan.pieces:
        memory = np.full(1 << plan.shared.in_bits, -1, np.int64)
        to, fro = (side.invert_and_compose(plan.shared) for side in (plan.source, plan.destination))
        memory[held(to)] = values[:, :, list(piece.source)]
        result[:, :, list(piece.destination)] = memory[held(fro)]
    return result


@st.composite
def pairs(draw: st.DrawFn) -> tuple[LinearLayout, LinearLayout]:
    rank = draw(st.integers(1, 3))
    shape = tuple(draw(st.sampled_from([1, 2, 4, 8, 16])) for _ in range(rank))
    lanes, warps = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    return draw(distributed(shape, lanes, warps)), draw(distributed(shape, lanes, warps))


@settings(max_examples=300)
@given(pairs())
def test_every_conversion_brings_every_element_home(pair: tuple[LinearLayout, LinearLayout]) -> None:
    source, destination = pair
    plan = plan_conversion(source, destination, 32)
    values = held(source)
    if isinstance(plan, Exchange):
        assert (run_exchange(plan, values) == held(destination)).all()
    else:
        assert (run_shared(plan, values, destination) == held(destination)).all()


@given(pairs(), st.permutations(range(3)))
def test_conversions_within_a_thread_make_no_code(
    pair: tuple[LinearLayout, LinearLayout], order: list[int]
) -> None:
    source = pair[0]
    registers = list(source.packed(REGISTER))[::-1]
    shuffled = LinearLayout(source.ins, source.outs, (*registers, *source.columns[len(registers) :]))
    plan = plan_conversion(source, shuffled, 32)
    assert isinstance(plan, Exchange)
    assert plan.only_renames


def test_a_transpose_of_lanes_and_registers_is_an_exchange() -> None:
    rows = LinearLayout.from_bases(
        {"register": [(1,), (2,)], "lane": [(4,), (8,), (16,), (32,), (64,)], "warp": [], "block": []},
        {"dim0": 128},
    )
    columns = LinearLayout.from_bases(
        {"register": [(32,), (64,)], "lane": [(1,), (2,), (4,), (8,), (16,)], "warp": [], "block": []},
        {"dim0": 128},
    )
    plan = plan_conversion(rows, columns, 32)
    assert isinstance(plan, Exchange)
    assert plan.shuffles
    assert len(plan.rounds) == 4
    assert (run_exchange(plan, held(rows)) == held(columns)).all()


def test_large_conversions_go_in_pieces() -> None:
    bits = 14
    units = [(1 << i,) for i in range(bits)]
    source = LinearLayout.from_bases(
        {"register": units[7:], "lane": units[:5], "warp": units[5:7], "block": []}, {"dim0": 1 << bits}
    )
    destination = LinearLayout.from_bases(
        {"register": units[7:], "lane": units[2:7], "warp": units[:2], "block": []}, {"dim0": 1 << bits}
    )
    plan = plan_conversion(source, destination, 32)
    assert isinstance(plan, ThroughShared)
    assert len(plan.pieces) == 2
    assert plan.scratch_bytes == 32 * 1024
    assert (run_shared(plan, held(source), destination) == held(destination)).all()


@settings(max_examples=200)
@given(pairs(), st.sampled_from([2, 4]))
def test_neighbours_travel_as_words(pair: tuple[LinearLayout, LinearLayout], count: int) -> None:
    """Layouts of words, taken apart again: registers ``count * i`` on hold the elements of word i, in order, on both sides."""
    narrow = [_with_low_registers(side, count.bit_length() - 1) for side in pair]
    found = in_words(*narrow, count)
    assert found is not None
    plan = plan_conversion(*found, 32)
    sides = [held(side).reshape(*held(side).shape[:2], -1, count) for side in narrow]
    if isinstance(plan, Exchange):
        words, wanted = (side[..., 0] for side in sides)
        assert (run_exchange(plan, words) == wanted).all()
    for side in sides:
        assert (side - side[..., :1] == np.arange(count)).all()


def _with_low_registers(layout: LinearLayout, bits: int) -> LinearLayout:
    """``layout`` of elements each of which is ``2 ** bits`` neighbours, in a thread's first registers."""
    layout = layout.flatten_outs("index")
    grown = [(name, n + bits if name == REGISTER else n) for name, n in layout.ins]
    columns = {name: [c << bits for c in layout.packed(name)] for name, _ in layout.ins}
    columns[REGISTER] = [*(1 << i for i in range(bits)), *columns[REGISTER]]
    flat = tuple(c for name, _ in grown for c in columns[name])
    return LinearLayout(tuple(grown), (("index", layout.out_bits + bits),), flat)


def test_others_are_no_words() -> None:
    """Registers that a lane holds on the other side, or that are in another order."""
    units = [(1 << i,) for i in range(7)]
    low = LinearLayout.from_bases(
        {"register": units[:2], "lane": units[2:], "warp": [], "block": []}, {"dim0": 128}
    )
    high = LinearLayout.from_bases(
        {"register": units[5:], "lane": units[:5], "warp": [], "block": []}, {"dim0": 128}
    )
    transposed = LinearLayout.from_bases(
        {"register": units[1::-1], "lane": units[2:], "warp": [], "block": []}, {"dim0": 128}
    )
    assert in_words(low, low, 4) is not None
    assert in_words(low, high, 2) is None
    assert in_words(low, transposed, 2) is None


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_a_row_that_threads_need_much_of_is_read_in_wide_accesses(bits: int) -> None:
    """One element a thread, written; 32 of a row of 128 for each, read in as few accesses as their bytes take."""
    source = blocked((128,), (1,), (32,), (4,), (0,))
    # a row of the accumulators of mma: pairs of neighbours, every eighth, in lanes 0 to 3, copied to all others
    wide = LinearLayout(
        ((REGISTER, 5), (LANE, 5), (WARP, 2), ("block", 0)),
        source.outs,
        (1, 8, 16, 32, 64, 2, 4, 0, 0, 0, 0, 0),
    )
    plan = plan_conversion(source, wide, bits)
    assert isinstance(plan, ThroughShared)
    access = vector_access(plan.destination, plan.shared, 128 // bits)
    assert len(access.groups) == 32 * bits // 128
    assert bank_conflicts(plan.destination, plan.shared, bits) == 1


@pytest.mark.parametrize("index", [0, 1])
def test_operands_of_which_threads_need_copies_are_read_from_memory(index: int) -> None:
    """16x16, of which a thread has 8 elements in a warp: a dot by multiply-add needs two rows or four columns."""
    parent = Blocked((1, 4), (8, 4), (1, 1), (1, 0))
    destination = DotOperand(index, parent, 0).linear_layout((16, 16))
    assert destination.in_size(REGISTER) == (64 if index else 32)
    assert isinstance(plan_conversion(parent.linear_layout((16, 16)), destination, 32), ThroughShared)


def test_few_copies_are_exchanged() -> None:
    parent = Blocked((1, 4), (8, 4), (2, 1), (1, 0))
    destination = DotOperand(0, parent, 0).linear_layout((16, 16))
    assert destination.in_size(REGISTER) == 16
    assert isinstance(plan_conversion(parent.linear_layout((16, 16)), destination, 32), Exchange)
