"""The layouts of tensor memory, and the passes that place accumulators there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nvidia_support import target
from tensor_memory_text import HEAD, SHORT, placed
from tri_backend_nvidia.tcgen05.encoding import TensorMemory, TensorMemoryRows
from tri_backend_nvidia.tcgen05.table import instructions
from tri_core.api import OutOfResources, Unsupported
from tri_gpu_dialect.layouts import layout_for

SIZES = st.sampled_from([128, 256, 512])
WIDTHS = st.sampled_from([16, 32, 64, 128, 256, 512])


@given(m=SIZES, n=WIDTHS)
@settings(deadline=None)
def test_every_element_has_a_place(m: int, n: int) -> None:
    encoding = TensorMemory.of((m, n))
    layout = encoding.linear_layout((m, n))
    assert layout.is_invertible
    assert layout.in_size("row") == 128
    assert layout.in_size("column") == encoding.columns((m, n)) == m // 128 * n


@given(m=SIZES, n=WIDTHS, down=st.sampled_from([1, 2, 4]), across=st.sampled_from([1, 2]))
@settings(deadline=None)
def test_each_warp_has_its_own_lanes(m: int, n: int, down: int, across: int) -> None:
    """A thread's registers are in the lane that its warp may access, whatever the warps' split."""
    rows = layout_for(TensorMemoryRows().spread((m, n), (4 * down, across)), (m, n))
    places = layout_for(TensorMemory.of((m, n)), (m, n)).invert()
    assert rows.is_surjective
    rng = np.random.default_rng(m + n)
    for _ in range(20):
        register, lane, warp = (int(rng.integers(rows.in_size(d))) for d in ("register", "lane", "warp"))
        found = rows.apply({"register": register, "lane": lane, "warp": warp, "block": 0})
        assert places.apply(found)["row"] == 32 * (warp % 4) + lane


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TensorMemory(64, 32), "blockM 64"),
        (lambda: TensorMemory(128, 512), "blockN 512"),
        (lambda: TensorMemory(128, 64, False), "packed"),
        (lambda: TensorMemory(128, 64).linear_layout((64, 64)), "smaller than a block"),
        (lambda: TensorMemoryRows((2, 2)), "multiple of 4"),
        (lambda: TensorMemoryRows((4, 1), 3), "power of two"),
    ],
)
def test_encodings_that_no_instruction_has(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("arch", "integers"), [("sm_100a", True), ("sm_110a", True), ("sm_100f", False), ("sm_103a", False)]
)
def test_rows_of_the_table(arch: str, integers: bool) -> None:
    found = instructions(target(arch))
    assert ("i8" in {row.a for row in found}) == integers
    assert {row.shape[:2] for row in found} == {(128, 16)}
    assert not instructions(target("sm_90a"))
    assert not instructions(target("sm_120a"))


def test_operands_of_32_bits_lie_along_k() -> None:
    memory = next(row.memory for row in instructions(target("sm_100a")) if row.a == "f32")
    assert memory(1, (64, 64), 1) is None
    along = memory(1, (64, 64), 0)
    assert along is not None
    assert (
        str(along)
        == "#ttng.nvmma_shared<{elementBitWidth = 32 : i64, swizzlingByteWidth = 128 : i64, transposed = true}>"
    )


# --- passes -----------------------------------------------------------------------------------------------


def steps(body: str) -> str:
    return " ".join(SHORT.get(x, x) for x in placed(body) if not x.startswith("column"))


def test_one_dot() -> None:
    body = """
    %d = ttng.warp_group_dot %a, %b, %zeros {inputPrecision = 0 : i32} : DOT
    %w = ttng.warp_group_dot_wait %d WAIT
    %e = math.exp2 %w : SUM
    """
    assert steps(body) == "64 alloc view synchronize dot commit phase wait load math.exp2 dealloc"


def test_a_sum_that_a_loop_carries_is_stored_before_it_and_loaded_after_it() -> None:
    body = """
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %zeros) -> (SUM)  : i32 {
      %d = ttng.warp_group_dot %a, %b, %t {inputPrecision = 0 : i32} : DOT
      %w = ttng.warp_group_dot_wait %d WAIT
      scf.yield %w : SUM
    }
    %e = math.exp2 %r : SUM
    """
    assert steps(body) == (
        "64 alloc view store scf.for synchronize dot commit phase wait scf.yield load math.exp2 dealloc"
    )


def test_a_sum_that_registers_change_is_loaded_and_stored_in_the_loop() -> None:
    body = """
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %zeros) -> (SUM)  : i32 {
      %s = math.exp2 %t : SUM
      %d = ttng.warp_group_dot %a, %b, %s {inputPrecision = 0 : i32} : DOT
      %w = ttng.warp_group_dot_wait %d WAIT
      scf.yield %w : SUM
    }
    %e = math.exp2 %r : SUM
    """
    assert steps(body) == (
        "64 alloc view store scf.for load math.exp2 store synchronize dot commit phase wait scf.yield load math.exp2 dealloc"
    )


def test_an_old_sum_is_loaded_before_the_next_dot_adds_to_it() -> None:
    body = """
    %d = ttng.warp_group_dot %a, %b, %zeros {inputPrecision = 0 : i32} : DOT
    %w = ttng.warp_group_dot_wait %d WAIT
    %d2 = ttng.warp_group_dot %a, %b, %w {inputPrecision = 0 : i32} : DOT
    %w2 = ttng.warp_group_dot_wait %d2 WAIT
    %e = math.exp2 %w : SUM
    %e2 = math.exp2 %w2 : SUM
    """
    assert steps(body) == (
        "64 alloc view synchronize dot commit phase wait load synchronize dot commit phase wait math.exp2 load math.exp2 dealloc"
    )


def test_two_dots_that_add_to_one_sum_have_their_own_places() -> None:
    body = """
    %d = ttng.warp_group_dot %a, %b, %zeros {inputPrecision = 0 : i32} : DOT
    %w = ttng.warp_group_dot_wait %d WAIT
    %d2 = ttng.warp_group_dot %a, %b, %w {inputPrecision = 0 : i32} : DOT
    %d3 = ttng.warp_group_dot %a, %b, %w {inputPrecision = 0 : i32} : DOT
    %w2 = ttng.warp_group_dot_wait %d2 WAIT
    %w3 = ttng.warp_group_dot_wait %d3 WAIT
    %e2 = math.exp2 %w2 : SUM
    %e3 = math.exp2 %w3 : SUM
    """
    # the first one's columns are free again for neither: it is read when both start
    assert placed(body)[0] == "256"


def test_places_of_sums_that_live_after_each_other_are_shared() -> None:
    one = """
    %d# = ttng.warp_group_dot %a, %b, %zeros {inputPrecision = 0 : i32} : DOT
    %w# = ttng.warp_group_dot_wait %d# WAIT
    %e# = math.exp2 %w# : SUM
    """
    found = placed(one.replace("#", "1") + one.replace("#", "2"))
    assert found[0] == "64"
    assert found.count("column = 0") == 2


def test_many_dots_without_a_wait_get_one() -> None:
    dots = "".join(
        f"%d{i} = ttng.warp_group_dot %a, %b, %zeros {{inputPrecision = 0 : i32}} : DOT\n" for i in range(9)
    )
    try:
        found = steps(dots + "%w = ttng.warp_group_dot_wait %d8 WAIT\n%e = math.exp2 %w : SUM")
    except OutOfResources:
        pytest.fail("accumulators that are not read share their columns")
    assert found.count("wait") == 2


def test_counts_go_through_branches_and_loops() -> None:
    body = """
    %p = arith.cmpi slt, %c0, %n : i32
    scf.if %p {
      %d = ttng.warp_group_dot %a, %b, %zeros {inputPrecision = 0 : i32} : DOT
      %w = ttng.warp_group_dot_wait %d WAIT
      %e = math.exp2 %w : SUM
    }
    %r = scf.while (%i = %c0) : (i32) -> (i32) {
      %q = arith.cmpi slt, %i, %n : i32
      scf.condition(%q) %i : i32
    } do {
    ^bb0(%j: i32):
      %d = ttng.warp_group_dot %a, %b, %zeros {inputPrecision = 0 : i32} : DOT
      %w = ttng.warp_group_dot_wait %d WAIT
      %e = math.exp2 %w : SUM
      %k = arith.addi %j, %c1 : i32
      scf.yield %k : i32
    }
    """
    found = steps(body)
    assert found.count("dot commit phase wait load") == 2
    assert found.startswith("64 alloc view view scf.if")


def test_functions_that_are_called_are_refused() -> None:
    """Memory is allocated once, and by a kernel."""
    body = """
    %d = ttng.warp_group_dot %a, %b, %zeros {inputPrecision = 0 : i32} : DOT
    %w = ttng.warp_group_dot_wait %d WAIT
    %e = math.exp2 %w : SUM
    """
    with pytest.raises(Unsupported, match="in a function that is called"):
        placed(body, HEAD.replace("tt.func public", "tt.func private"))
