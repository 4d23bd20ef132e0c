"""Layouts of shared memory by cycles: places stay one to one, and nothing costs more than rows would."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_core.api import Memory, Target, TargetKey, TargetSpec
from tri_gpu_dialect.encodings import Blocked, SharedLinear
from tri_gpu_dialect.layouts import (
    BLOCK,
    OFFSET,
    REGISTER,
    Banks,
    LinearLayout,
    TransposingRead,
    bank_conflicts,
    layout_for,
    vector_access,
)
from tri_gpu_dialect.plans.operand_memory import memory_by_cycles, operand_memory
from tri_gpu_dialect.plans.shared_cycles import (
    cost,
    cycles,
    fastest,
    for_transposing,
    transposing_cost,
)
from tri_gpu_dialect.testing.strategies import BOXES, ORDERS, of_boxes


@settings(deadline=None)
@given(
    sizes=st.tuples(BOXES, BOXES),
    orders=st.tuples(ORDERS, ORDERS),
    bits=st.sampled_from([8, 16, 32, 64]),
    banks=st.sampled_from([Banks(), Banks(64, 4)]),
    shape=st.sampled_from([(32, 32), (64, 32), (128, 64), (16, 128)]),
    run=st.sampled_from([1, 4, 8]),
)
def test_nothing_costs_more_than_rows(sizes, orders, bits, banks, shape, run) -> None:  # type: ignore[no-untyped-def]
    writer, reader = (of_boxes(shape, size, order) for size, order in zip(sizes, orders, strict=True))
    made = fastest(writer, reader, bits, banks, run)
    places = made.images(OFFSET)
    assert len(places) == len(set(places)) == shape[0] * shape[1]
    chosen = layout_for(memory_by_cycles(shape, bits, writer, reader, banks, run), shape)
    rows = layout_for(operand_memory(shape, bits, writer, (reader,), banks), shape)
    costs = [cost(writer, reader, one, bits, banks, run) for one in (chosen, rows)]
    assert costs[0] <= costs[1]


def test_what_an_instruction_takes_is_read_in_its_order() -> None:
    """Without ``run`` the widest access is of two rows of both sides, whose registers are far apart."""
    writer, reader = of_boxes((128, 32), (1, 8), (1, 0)), of_boxes((128, 32), (1, 4), (1, 0))

    def runs(run: int) -> bool:
        memory = layout_for(memory_by_cycles((128, 32), 16, writer, reader, Banks(), run), (128, 32))
        groups = vector_access(reader, memory, 8).groups
        return all(g[i] == g[0] + i for g in groups for i in range(len(g)))

    assert runs(8)
    costs = [
        cost(
            writer,
            reader,
            layout_for(memory_by_cycles((128, 32), 16, writer, reader, Banks(), r), (128, 32)),
            16,
            Banks(),
            8,
        )
        for r in (1, 8)
    ]
    assert costs[1] <= costs[0]


def test_a_transposition_is_read_in_the_widest_accesses() -> None:
    """Blocks of 4 x 8 written, 8 neighbours along the other dimension read: 16 bytes at a time on both sides."""
    writer, reader = of_boxes((64, 128), (4, 8), (1, 0)), of_boxes((64, 128), (8, 1), (0, 1))
    found = memory_by_cycles((64, 128), 16, writer, reader, Banks())
    assert isinstance(found, SharedLinear)
    layout = layout_for(found, (64, 128))
    # 8 elements an access, of four phases without conflicts: no layout can do with less
    for side in (writer, reader):
        assert cycles(side, layout, 16, Banks()) == side.in_size(REGISTER) // 8 * (1 + 4)


@pytest.mark.parametrize("order", [(1, 0), (0, 1)])
def test_a_permuted_layout_has_the_same_places(order: tuple[int, int]) -> None:
    made = fastest(of_boxes((64, 32), (4, 4), (1, 0)), of_boxes((64, 32), (8, 1), (0, 1)), 16, Banks())
    encoding = SharedLinear.of(made)
    shape = tuple((64, 32)[d] for d in order)
    seen = layout_for(encoding.permuted(order), shape)
    for offset in (0, 1, 77, 2047):
        place = made.unpack_out(made.images(OFFSET)[offset])
        assert seen.unpack_out(seen.images(OFFSET)[offset]) == tuple(place[d] for d in order)


def test_a_target_says_what_its_shared_memory_is() -> None:
    memory = Memory(name="shared", address_space=3, banks=64, bank_bytes=8, access_bytes=32)
    target = Target(key=TargetKey("made-up", "m1"), spec=TargetSpec(memories=(memory,)))
    assert Banks.of(target) == Banks(64, 8, 32)
    assert Banks.of(None) == Banks()


@pytest.mark.parametrize("count", [16, 32, 64])
def test_rows_are_swizzled_over_the_banks_that_there_are(count: int) -> None:
    """Rows of 256 bytes: eight lanes of 16 bytes down a column hit as many banks as there are."""
    writer, reader = of_boxes((64, 128), (1, 8), (1, 0)), of_boxes((64, 128), (1, 8), (0, 1))
    made = operand_memory((64, 128), 16, writer, (reader,), Banks(count))
    others = [operand_memory((64, 128), 16, writer, (reader,), Banks(n)) for n in (16, 32, 64)]
    found = [
        sum(bank_conflicts(side, layout_for(each, (64, 128)), 16, Banks(count)) for side in (writer, reader))
        for each in (made, *others)
    ]
    assert found[0] == min(found)
    assert made.max_phase * 16 <= count * 4


def test_pieces_are_as_wide_as_accesses() -> None:
    writer = of_boxes((64, 128), (1, 8), (1, 0))
    narrow = operand_memory((64, 128), 16, writer, (), Banks(access_bytes=4))
    assert narrow.vec * 2 <= 4


# --- reads that transpose ---------------------------------------------------------------------------------

_READ, _WIDE_BANKS = TransposingRead(), Banks(64, 4)


def _operand(shape: tuple[int, int], bits: int, size: int) -> LinearLayout:
    """Columns by lane, ``size`` of them, then 64 / size lanes along k, 128 bits of k in a lane: a right operand of MFMA on one wavefront."""
    deep = 128 // bits
    own = Blocked((deep, 1), (64 // size, size), (1, 1), (1, 0))
    return layout_for(own, shape).without_ins(BLOCK)


@settings(deadline=None)
@given(
    size=st.sampled_from([16, 32]),
    bits=st.sampled_from([8, 16]),
    shape=st.sampled_from([(64, 64), (64, 128), (128, 64), (32, 256)]),
    width=st.sampled_from([1, 2, 4, 8, 16]),
    inner=st.sampled_from([0, 1]),
)
def test_a_memory_is_for_transposing_reads_where_that_costs_less(size, bits, shape, width, inner) -> None:  # type: ignore[no-untyped-def]
    vector = (width, 1) if inner == 0 else (1, width)
    lanes = [min(64, shape[d] // vector[d]) if d == inner else 1 for d in (0, 1)]
    lanes[1 - inner] = 64 // lanes[inner]
    blocked = Blocked(vector, (lanes[0], lanes[1]), (1, 1), (inner, 1 - inner))
    writer, reader = layout_for(blocked, shape).without_ins(BLOCK), _operand(shape, bits, size)
    memory = layout_for(memory_by_cycles(shape, bits, writer, reader, _WIDE_BANKS, 8, _READ), shape)
    places = memory.images(OFFSET)
    assert len(places) == len(set(places)) == shape[0] * shape[1]
    plain = layout_for(memory_by_cycles(shape, bits, writer, reader, _WIDE_BANKS, 8), shape)
    least, across = (
        cost(writer, reader, plain, bits, _WIDE_BANKS, 8),
        for_transposing(writer, reader, _READ, bits, _WIDE_BANKS),
    )
    addressed = _READ.addressed(reader, bits)
    assert addressed is not None
    if across is not None and transposing_cost(writer, addressed, across, _READ, bits, _WIDE_BANKS) < least:
        assert memory == across
        assert _READ.suits(reader, memory, bits)
    else:
        assert memory == plain


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("size", [16, 32])
def test_rows_written_in_the_widest_vectors_are_read_across_without_conflicts(bits: int, size: int) -> None:
    shape = (64, 128)
    vector = 128 // bits
    lanes = 128 // vector
    writer = layout_for(Blocked((1, vector), (64 // lanes, lanes), (1, 1), (1, 0)), shape).without_ins(BLOCK)
    reader = _operand(shape, bits, size)
    memory = layout_for(memory_by_cycles(shape, bits, writer, reader, _WIDE_BANKS, 8, _READ), shape)
    assert _READ.suits(reader, memory, bits)
    addressed = _READ.addressed(reader, bits)
    assert addressed is not None
    assert vector_access(writer, memory, vector).width == vector
    assert bank_conflicts(writer, memory, bits, _WIDE_BANKS) == 1
    assert bank_conflicts(addressed, memory, bits, _WIDE_BANKS, _READ.bits) == 1
