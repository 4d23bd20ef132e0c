"""What machine ops do in a simulator is what AMD's manuals say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import amd_support
from tri_backend_amd.dialect.buffers import AROUND, FORWARD, Window
from tri_core.mlir import ir, session

Array = npt.NDArray[Any]
LANES = 64

assert amd_support.TARGETS  # its import registers the dialect


class Memory:
    """Bytes from address 0 on."""

    def __init__(self, data: Array) -> None:
        self.data = data

    def load(
        self, addresses: Array, dtype: np.dtype[Any], active: Array, count: int = 1, alignment: int = 0
    ) -> Array:
        values = self.data.view(dtype)
        rows = np.zeros((len(addresses), count), dtype)
        for thread in np.flatnonzero(active):
            first = int(addresses[thread]) // dtype.itemsize
            rows[thread] = values[first : first + count]
        return rows[:, 0] if count == 1 else rows

    def store(self, addresses: Array, values: Array, active: Array, alignment: int = 0) -> None:
        rows = values.reshape(len(addresses), -1)
        for thread in np.flatnonzero(active):
            first = int(addresses[thread]) // values.dtype.itemsize
            self.data.view(values.dtype)[first : first + rows.shape[1]] = rows[thread]


@dataclass
class Cta:
    """As much of a simulated CTA as these ops ask for."""

    num_threads: int = 2 * LANES
    threads_per_warp: int = LANES
    program_id: tuple[int, int, int] = (3, 4, 5)
    num_programs: tuple[int, int, int] = (7, 8, 9)
    active: Array = field(default_factory=lambda: np.ones(2 * LANES, bool))
    data: Array = field(default_factory=lambda: np.zeros(0, np.uint8))
    barriers: int = 0

    def memory(self, space: int) -> Memory:
        assert space == 1
        return Memory(self.data)

    def barrier(self) -> None:
        self.barriers += 1


def simulate(
    name: str,
    operands: Sequence[Array],
    attributes: dict[str, int],
    cta: Cta,
    result: str = "i32",
    value: str = "i32",
    results: int = 1,
) -> list[Array]:
    """Run machine op ``name`` in a simulator's way; ``value`` is the type of the first operand."""
    with session():
        i32, i64 = (ir.IntegerType.get_signless(bits) for bits in (32, 64))
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            types = [ir.Type.parse(value)] + [i32] * (len(operands) - 1)
            undefined = [
                ir.Operation.create("llvm.mlir.undef", results=[t]).results[0] for t in types[: len(operands)]
            ]
            made = ir.Operation.create(
                name,
                results=[ir.Type.parse(result)] * results if result else [],
                operands=undefined,
                attributes={
                    k: ir.IntegerAttr.get(
                        i64
                        if not -(1 << 30) <= v <= 1 << 30 or (k == "lanes" and name.endswith("x16"))
                        else i32,
                        v,
                    )
                    for k, v in attributes.items()
                },
            )
        op: Any = made.opview
        return list(op.simulate(cta, operands))


X = np.random.default_rng(5).integers(-(1 << 31), 1 << 31, 2 * LANES).astype(np.int32)
THREAD = np.arange(2 * LANES)
FIRST, LANE = THREAD - THREAD % LANES, THREAD % LANES


def test_identity() -> None:
    cta = Cta()
    assert set(simulate("amdg.workgroup_id", [], {"axis": 2}, cta)[0]) == {5}
    assert set(simulate("amdg.num_workgroups", [], {"axis": 0}, cta)[0]) == {7}
    np.testing.assert_array_equal(simulate("amdg.workitem_id", [], {}, cta)[0], THREAD)


def test_the_first_active_lane_is_read() -> None:
    cta = Cta()
    cta.active[:3] = cta.active[LANES : LANES + 10] = False
    (read,) = simulate("amdg.readfirstlane", [X], {}, cta)
    assert set(read[:LANES]) == {X[3]}
    assert set(read[LANES:]) == {X[LANES + 10]}


def test_a_permute_takes_byte_addresses() -> None:
    lanes = (LANE * 37 + 11) % LANES
    (made,) = simulate("amdg.ds_bpermute", [(lanes * 4).astype(np.int32), X], {}, Cta())
    np.testing.assert_array_equal(made, X[FIRST + lanes])


@pytest.mark.parametrize("mask", [1, 4, 9, 16, 31])
def test_a_swizzle_exchanges_by_xor(mask: int) -> None:
    (made,) = simulate("amdg.ds_swizzle", [X], {"offset": mask << 10 | 0x1F}, Cta())
    np.testing.assert_array_equal(made, X[FIRST + (LANE ^ mask)])


def test_a_swizzle_broadcasts_by_or_and_and() -> None:
    # and 0x18, or 3: lane 3 of every group of eight
    (made,) = simulate("amdg.ds_swizzle", [X], {"offset": 3 << 5 | 0x18}, Cta())
    np.testing.assert_array_equal(made, X[FIRST + (LANE & ~7 | 3)])


@pytest.mark.parametrize("lanes", [0xFEDCBA9876543210, 0x0123456789ABCDEF, (1 << 64) - 1])
def test_lanes_of_the_other_row(lanes: int) -> None:
    (made,) = simulate("amdg.permlanex16", [X], {"lanes": lanes - (1 << 64) if lanes >> 63 else lanes}, Cta())
    chosen = [lanes >> 4 * (lane % 16) & 15 for lane in range(LANES)] * 2
    np.testing.assert_array_equal(made, X[FIRST + (LANE & 48 ^ 16) + chosen])


@pytest.mark.parametrize(("bit", "rows"), [(16, [0, 4, 2, 6, 1, 5, 3, 7]), (32, [0, 1, 4, 5, 2, 3, 6, 7])])
def test_a_swap_of_rows(bit: int, rows: list[int]) -> None:
    """Rows of 16 of the first operand (0 to 3) and of the second (4 to 7), as the CDNA4 guide has them afterwards."""
    y = X[::-1].copy()
    low, high = simulate("amdg.permlane_swap", [X, y], {"lanes": bit}, Cta(), results=2)
    both = np.concatenate([X.reshape(2, 4, 16), y.reshape(2, 4, 16)], axis=1)
    np.testing.assert_array_equal(low.reshape(2, 4, 16), both[:, rows[:4]])
    np.testing.assert_array_equal(high.reshape(2, 4, 16), both[:, rows[4:]])


def test_barriers() -> None:
    cta = Cta()
    simulate("amdg.barrier", [], {}, cta, result="")
    assert cta.barriers == 1


@pytest.mark.parametrize("window", [FORWARD, AROUND])
@pytest.mark.parametrize("uniform", [0, 1024])
def test_buffers_read_zero_and_write_nothing_out_of_bounds(window: Window, uniform: int) -> None:
    words = np.random.default_rng(6).random(2048, dtype=np.float32)
    cta = Cta(data=words.copy().view(np.uint8))
    begin = np.full(2 * LANES, 512 - window.before, np.int64)
    facts = {"flags": 0, "records": window.size}
    (descriptor,) = simulate("amdg.make_buffer", [begin], facts, cta, "!llvm.ptr<8>", "!llvm.ptr<1>")
    inside = THREAD % 3 != 0
    offsets = np.where(inside, THREAD * 16 + window.before, window.masked).astype(np.uint32).view(np.int32)
    same = np.full(2 * LANES, uniform, np.int32)
    place = [descriptor, offsets, same]
    (made,) = simulate("amdg.raw_buffer_load", place, {"cache": 0}, cta, "vector<4xf32>", "!llvm.ptr<8>")
    first = 128 + uniform // 4
    rows = words[first : first + 8 * LANES].reshape(2 * LANES, 4)
    np.testing.assert_array_equal(made, np.where(inside[:, None], rows, 0))
    simulate("amdg.raw_buffer_store", [-made, *place], {"cache": 0}, cta, "", "vector<4xf32>")
    after = cta.data.view(np.float32)[first : first + 8 * LANES].reshape(2 * LANES, 4)
    np.testing.assert_array_equal(after, np.where(inside[:, None], -rows, rows))


@pytest.mark.parametrize("window", [FORWARD, AROUND])
@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_the_masking_offset_is_beyond_every_descriptor(window: Window, width: int) -> None:
    # every word of a vector is checked by itself, and none comes around to the front
    assert window.size <= window.masked
    assert window.masked + width <= 1 << 32


def test_a_small_array_is_in_the_window_wherever_its_pointer_points() -> None:
    largest = AROUND.size - AROUND.before
    assert AROUND.before >= largest >= (1 << 31) - 16
