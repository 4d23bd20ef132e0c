"""Transposing reads: what lanes address gives the reader its elements, by the instruction's definition carried out lane by lane."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tri_gpu_dialect.layouts import LANE, OFFSET, REGISTER, WARP, LinearLayout, TransposingRead

READ = TransposingRead()
BITS, LANE_BITS, WARP_BITS = 12, 6, 1


@st.composite
def readers(draw: st.DrawFn) -> LinearLayout:
    """Bijections of registers, 64 lanes and two warps onto 4096 places."""
    columns = list(draw(st.permutations([1 << i for i in range(BITS)])))
    for i, j in draw(st.lists(st.tuples(*[st.integers(0, BITS - 1)] * 2), max_size=4)):
        if i != j:
            columns[i] ^= columns[j]
    registers = BITS - LANE_BITS - WARP_BITS
    ins = ((REGISTER, registers), (LANE, LANE_BITS), (WARP, WARP_BITS))
    return LinearLayout(ins, (("dim0", BITS),), tuple(columns))


def memory_for(reader: LinearLayout, count: int) -> LinearLayout:
    """A memory whose vectors are what ``count`` lanes of ``reader`` have, all else behind them in some order."""
    lanes, width = reader.packed(LANE), count.bit_length() - 1
    rest = [*lanes[width:], *reader.packed(WARP), *reader.packed(REGISTER)]
    return LinearLayout(((OFFSET, BITS),), reader.outs, (*lanes[:width], *rest))


def read_lane_by_lane(
    addressed: LinearLayout, memory: LinearLayout, count: int
) -> dict[tuple[int, int, int], int]:
    """(warp, lane, register) to the place whose element that register gets; vectors lie whole in memory."""
    where = {place: offset for offset, place in enumerate(memory.images(OFFSET))}
    places, got = memory.images(OFFSET), {}
    for warp in range(1 << WARP_BITS):
        for first in range(0, addressed.in_size(REGISTER), count):
            rows = []
            for lane in range(1 << LANE_BITS):
                start = where[addressed.apply({REGISTER: first, LANE: lane, WARP: warp})["dim0"]]
                assert start % count == 0
                rows += places[start : start + count]
            for lane in range(1 << LANE_BITS):
                group = rows[lane // 16 * 16 * count :][: 16 * count]
                for row in range(count):
                    got[warp, lane, first + row] = group[row * 16 + lane % 16]
    return got


@given(reader=readers(), bits=st.sampled_from([8, 16]))
def test_lanes_get_what_the_reader_wants(reader: LinearLayout, bits: int) -> None:
    count = READ.count(bits)
    memory = memory_for(reader, count)
    assert READ.suits(reader, memory, bits)
    addressed = READ.addressed(reader, bits)
    assert addressed is not None
    got = read_lane_by_lane(addressed, memory, count)
    for (warp, lane, register), place in got.items():
        assert place == reader.apply({REGISTER: register, LANE: lane, WARP: warp})["dim0"]
    assert len(got) == 1 << BITS


@given(reader=readers(), order=st.permutations(range(BITS)), bits=st.sampled_from([8, 16]))
def test_only_memories_suit_whose_vectors_are_a_row_s_lanes(
    reader: LinearLayout, order: list[int], bits: int
) -> None:
    memory = LinearLayout(((OFFSET, BITS),), reader.outs, tuple(1 << i for i in order))
    count = READ.count(bits)
    wanted = [reader.packed(LANE)[i] for i in range(count.bit_length() - 1)]
    starts = list(memory.packed(OFFSET)[: len(wanted)]) == wanted
    assert starts or not READ.suits(reader, memory, bits)


def test_elements_that_it_does_not_know() -> None:
    registers = LinearLayout.identity1d(16, REGISTER, "dim0") * LinearLayout.identity1d(64, LANE, "dim0")
    assert READ.addressed(registers, 32) is None
    assert READ.addressed(registers, 4) is None
    assert READ.addressed(registers, 8) is not None


def test_too_few_registers_or_lanes() -> None:
    few = LinearLayout.identity1d(2, REGISTER, "dim0") * LinearLayout.identity1d(64, LANE, "dim0")
    narrow = LinearLayout.identity1d(16, REGISTER, "dim0") * LinearLayout.identity1d(8, LANE, "dim0")
    assert READ.addressed(few, 16) is None
    assert READ.addressed(narrow, 16) is None


def test_lanes_that_hold_the_same_have_no_columns() -> None:
    copies = LinearLayout.zeros1d(4, LANE, "dim0") * LinearLayout.identity1d(16, LANE, "dim0")
    assert READ.addressed(LinearLayout.identity1d(16, REGISTER, "dim0") * copies, 16) is None
