"""Operands of DPAS in shared local memory as their readers read them: vectors of a lane, few conflicts of the writer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tri_backend_intel.dialect import Dpas
from tri_backend_intel.operand_memory import AsRead, as_read, rows_read
from tri_gpu_dialect.encodings import DotOperand
from tri_gpu_dialect.layouts import (
    LANE,
    OFFSET,
    REGISTER,
    Banks,
    LinearLayout,
    bank_conflicts,
    layout_for,
    vector_access,
)
from tri_gpu_dialect.plans.shared_cycles import cycles
from tri_gpu_dialect.policies import Written
from tri_gpu_dialect.testing.strategies import BOXES, ORDERS, of_boxes


def _memory(shape: tuple[int, int], bits: int, writer: LinearLayout, reader: LinearLayout) -> LinearLayout:
    return layout_for(AsRead().once(Written(shape, bits, writer, Banks()), reader, None), shape)


@given(
    sizes=st.tuples(BOXES, BOXES),
    orders=st.tuples(ORDERS, ORDERS),
    bits=st.sampled_from([8, 16, 32]),
    shape=st.sampled_from([(32, 32), (64, 32), (128, 64), (16, 128)]),
)
def test_as_read_a_lane_reads_vectors_of_its_first_registers(sizes, orders, bits, shape) -> None:  # type: ignore[no-untyped-def]
    writer, reader = (of_boxes(shape, size, order) for size, order in zip(sizes, orders, strict=True))
    memory = _memory(shape, bits, writer, reader)
    places = memory.images(OFFSET)
    assert len(places) == len(set(places)) == shape[0] * shape[1]
    found = vector_access(reader, memory, 128 // bits)
    own = dict.fromkeys(reader.images(REGISTER))
    assert found.width == min(128 // bits, len(own))
    if reader.in_size(REGISTER) == len(own):
        assert all(group == tuple(range(group[0], group[0] + found.width)) for group in found.groups)
    if not any(c in reader.packed(REGISTER) for c in reader.packed(LANE)):
        assert bank_conflicts(reader, memory, bits, Banks()) == 1


def test_as_read_writers_meet_few_conflicts() -> None:
    """Rows written 8 at a time along n, 8 along k read: without a swizzle all lanes would write to one bank."""
    writer, reader = of_boxes((64, 64), (1, 8), (1, 0)), of_boxes((64, 64), (8, 1), (1, 0))
    plain, chosen = (
        as_read(writer, reader, 16, swizzled=False),
        _memory((64, 64), 16, writer, reader),
    )
    assert cycles(writer, chosen, 16, Banks()) < cycles(writer, plain, 16, Banks())


@given(
    rows=st.sampled_from([2, 4, 8]),
    warps=st.sampled_from([(1, 1), (2, 2), (4, 1)]),
    shape=st.sampled_from([(16, 32), (64, 32), (128, 64)]),
)
def test_left_operands_of_16_bits_lie_in_rows_over_the_lanes(
    rows: int, warps: tuple[int, int], shape: tuple[int, int]
) -> None:
    dpas = Dpas(repeat_count=rows, warps_per_cta=warps)
    operand = DotOperand(op_idx=0, parent=dpas, k_width=1)
    reader, writer = operand.linear_layout(shape), of_boxes(shape, (1, 8), (1, 0))
    memory = layout_for(AsRead().once(Written(shape, 16, writer, Banks()), reader, operand), shape)
    whole = vector_access(reader, memory, 1).conversion
    assert [*whole.packed(LANE), *whole.packed(REGISTER)[: rows.bit_length() - 1]] == [
        1 << i for i in range(3 + rows.bit_length())
    ]
    assert vector_access(writer, memory, 8).width == 8
    assert rows_read(operand, 8) == rows_read(DotOperand(op_idx=1, parent=dpas, k_width=2), 16) == 0
