"""Warp specialisation on the made-up GPU: regions run at the same time, each on its warps."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tri_core import mlir
from tri_core.errors import SimulationError, Unsupported, VerificationError
from tri_core.mlir import ir
from tri_gpu_dialect.encodings import Blocked
from tri_gpu_dialect.testing import run

Array = npt.NDArray[Any]
LANES, WARPS, SIZE = 32, 4, 512
POINTER = '!tt.ptr<i32, "global">'
RETURN = '"ttg.warp_return"() : () -> ()'
YIELD = '"ttg.warp_yield"() : () -> ()'


def tensor(warps: int, element: str = "i32") -> str:
    return f"tensor<{SIZE}x{element}, {Blocked((1,), (LANES,), (warps,), (0,)).to_attr()}>"


def filling(name: str, pointer: str, value: str, warps: int = WARPS) -> str:
    """Stores ``value + index + sum of all indices`` to all places of ``pointer``; the sum needs scratch memory."""
    ints, places = tensor(warps), tensor(warps, POINTER)
    return f"""
      %i{name} = "tt.make_range"() {{start = 0 : i32, end = {SIZE} : i32}} : () -> {ints}
      %s{name} = "tt.reduce"(%i{name}) ({{ ^bb0(%x{name}: i32, %y{name}: i32):
        %t{name} = arith.addi %x{name}, %y{name} : i32
        "tt.reduce_return"(%t{name}) : (i32) -> () }}) {{axis = 0 : i32}} : ({ints}) -> i32
      %u{name} = arith.addi %s{name}, {value} : i32
      %c{name} = "tt.splat"(%u{name}) : (i32) -> {ints}
      %v{name} = arith.addi %i{name}, %c{name} : {ints}
      %q{name} = "tt.splat"({pointer}) : ({POINTER}) -> {places}
      %a{name} = "tt.addptr"(%q{name}, %i{name}) : ({places}, {ints}) -> {places}
      "tt.store"(%a{name}, %v{name}) {{operandSegmentSizes = array<i32: 1, 1, 0>}} : ({places}, {ints}) -> ()"""


def module(body: str, total: int | None) -> ir.Module:
    """A kernel of pointers ``%p0``, ``%p1``, ``%p2`` to i32."""
    more = "" if total is None else f'"ttg.total-num-warps" = {total} : i32, '
    signature = ", ".join([POINTER] * 3)
    return mlir.parse(
        f"""module attributes {{{more}"ttg.num-warps" = {WARPS} : i32, "ttg.threads-per-warp" = {LANES} : i32,
        "ttg.num-ctas" = 1 : i32}} {{
        "tt.func"() ({{ ^bb0(%p0: {POINTER}, %p1: {POINTER}, %p2: {POINTER}): {body}
        "tt.return"() : () -> () }}) {{sym_name = "kernel", sym_visibility = "public",
        function_type = ({signature}) -> (), arg_attrs = [{{}}, {{}}, {{}}]}} : () -> () }}"""
    )


def specialized(default: str, first: str, second: str, counts: str, more: str = "", results: str = "") -> str:
    """Two partitions that capture ``%p1``, ``%p2`` and ``%n``."""
    types = f"{POINTER}, {POINTER}, i32"
    one, two = (f"%{k}0: {POINTER}, %{k}1: {POINTER}, %{k}2: i32" for k in "de")
    return f"""%n = arith.constant 7 : i32
      {"%r = " if results else ""}"ttg.warp_specialize"(%p1, %p2, %n) ({{ {default} }}, {{
        "ttg.warp_specialize_partitions"() ({{
          ^bb0({one}): {first} {RETURN}
          ^bb1({two}): {second} {RETURN} }}) : () -> () }})
      {{partitionNumWarps = array<i32: {counts}>{more}}} : ({types}) -> ({results})"""


def launched(body: str, total: int | None) -> list[Array]:
    places = [np.zeros(SIZE, np.int32) for _ in range(3)]
    run(module(body, total), places)
    return places


def expected(value: int) -> Array:
    index = np.arange(SIZE)
    return index + index.sum() + value


@pytest.mark.parametrize(("first", "second", "total", "more"), [
    (1, 1, 6, ""),
    (4, 2, 10, ""),
    (2, 8, 16, ""),
    (1, 4, 12, ", warpGroupStartIds = array<i32: 11, 4>"),
    (4, 1, 12, ", actualRegisters = array<i32: 128, 40, 24>"),
])  # fmt: skip
def test_regions_run_on_their_warps(first: int, second: int, total: int, more: str) -> None:
    default = filling("_0", "%p0", "%n") + YIELD
    one = filling("_1", "%d0", "%d2", first)
    two = filling("_2", "%e1", "%e2", second)
    for array in launched(specialized(default, one, two, f"{first}, {second}", more), total):
        np.testing.assert_array_equal(array, expected(7))


def test_what_follows_uses_the_results_of_the_default_region() -> None:
    default = '%k = arith.constant 5 : i32 "ttg.warp_yield"(%k) : (i32) -> ()'
    body = specialized(default, filling("_1", "%d0", "%d2", 1), "", "1, 1", results="i32")
    first, second, third = launched(body + filling("_3", "%p0", "%r"), 8)
    np.testing.assert_array_equal(first, expected(5))
    np.testing.assert_array_equal(second, expected(7))
    assert not third.any()


def test_a_barrier_of_a_region_that_only_some_of_its_warps_reach_is_a_deadlock() -> None:
    asm = '"ttg.barrier"() {addrSpace = 1 : i32} : () -> ()'
    loop = f"""%z = arith.constant 0 : i32
      %o = arith.constant 1 : i32
      %b = "ttg.warp_id"() : () -> i32
      %w = arith.cmpi eq, %b, %z : i32
      scf.if %w {{ {asm} }}"""
    with pytest.raises(
        SimulationError, match="deadlock: threads 0-31 wait for a barrier that 32 of 128"
    ) as found:
        launched(specialized(loop + YIELD, "", "", "2, 1"), 8)
    assert found.value.check == "deadlock"


def test_what_is_before_must_be_harmless_when_all_do_it() -> None:
    body = filling("_0", "%p0", "%m") + specialized(YIELD, "", "", "1, 1")
    with pytest.raises(Unsupported, match=r"tt\.reduce before ttg\.warp_specialize"):
        launched("%m = arith.constant 1 : i32" + body, 6)


def test_not_in_loops() -> None:
    loop = f"""%z = arith.constant 0 : i32
      scf.for %k = %z to %z step %z : i32 {{ {specialized(YIELD, "", "", "1, 1")} scf.yield }}"""
    with pytest.raises(Unsupported, match="inside of control flow"):
        launched(loop, 6)


@pytest.mark.parametrize("total", [None, 5])
def test_there_must_be_warps_for_all(total: int | None) -> None:
    with pytest.raises(VerificationError, match="needs 6 warps") as found:
        launched(specialized(YIELD, "", "", "1, 1"), total)
    assert "ttg.total-num-warps = 6" in str(found.value.remedy)


def test_a_warp_is_in_one_place() -> None:
    with pytest.raises(VerificationError, match="warp 4 is to run a partition and another"):
        launched(specialized(YIELD, "", "", "2, 1", ", warpGroupStartIds = array<i32: 4, 4>"), 8)
