"""Tiles with and without their masks: the same elements are read and written, and none beside them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_core.ir.regions import If
from tri_core.ir.views import isa
from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.passes import Coalesce, RemoveLayoutConversions, UnmaskInnerTiles
from tri_gpu_dialect.testing.evaluator import evaluate

KERNEL = """
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%p: !tt.ptr<f32, "global">, %out: !tt.ptr<f32, "global">, %n: i32, %low: i32, %tiles: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %program = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %eight = arith.constant 8 : i32
    %r = "tt.make_range"() {start = 0 : i32, end = 8 : i32} : () -> tensor<8xi32>
    %base = "tt.splat"(%p) : (!tt.ptr<f32, "global">) -> tensor<8x!tt.ptr<f32, "global">>
    %obase = "tt.splat"(%out) : (!tt.ptr<f32, "global">) -> tensor<8x!tt.ptr<f32, "global">>
    %ns = "tt.splat"(%n) : (i32) -> tensor<8xi32>
    scf.for %j = %zero to %tiles step %one : i32 {
      %tile = arith.addi %program, %j : i32
      %i = arith.muli %tile, %eight : i32
      %at = "tt.splat"(%i) : (i32) -> tensor<8xi32>
      %o = arith.addi %at, %r : tensor<8xi32>
      %rest = arith.subi %n, %i : i32
      %rests = "tt.splat"(%rest) : (i32) -> tensor<8xi32>
      %below = arith.subi %low, %i : i32
      %belows = "tt.splat"(%below) : (i32) -> tensor<8xi32>
      %first = arith.cmpi UPPER : tensor<8xi32>
      %second = arith.cmpi LOWER : tensor<8xi32>
      %mask = arith.andi %first, %second : tensor<8xi1>
      %q = "tt.addptr"(%base, %o) : (tensor<8x!tt.ptr<f32, "global">>, tensor<8xi32>) -> tensor<8x!tt.ptr<f32, "global">>
      %x = "tt.load"(%q, %mask) {cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<8x!tt.ptr<f32, "global">>, tensor<8xi1>) -> tensor<8xf32>
      %w = "tt.addptr"(%obase, %o) : (tensor<8x!tt.ptr<f32, "global">>, tensor<8xi32>) -> tensor<8x!tt.ptr<f32, "global">>
      %y = arith.addf %x, %x : tensor<8xf32>
      "tt.store"(%w, %y, %mask) {cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<8x!tt.ptr<f32, "global">>, tensor<8xf32>, tensor<8xi1>) -> ()
    }
    "tt.return"() : () -> ()
  }) {function_type = (!tt.ptr<f32, "global">, !tt.ptr<f32, "global">, i32, i32, i32) -> (), sym_name = "f", arg_attrs = [{}, {}, {}, {}, {}]} : () -> ()
}) : () -> ()
"""
UPPERS = ["slt, %r, %rests", "sle, %r, %rests", "sgt, %rests, %r", "slt, %o, %ns", "sge, %ns, %o"]
LOWERS = ["sge, %r, %belows", "sgt, %r, %belows", "sle, %belows, %r"]
OTHERS = ["ne, %r, %rests", "ult, %r, %rests", "slt, %o, %o"]


def _module(upper: str, lower: str, *, aligned: bool = True) -> ir.Module:
    text = KERNEL.replace("UPPER", upper).replace("LOWER", lower)
    facts = "{tt.divisibility = 16 : i32}"
    return ir.Module.parse(
        text.replace("arg_attrs = [{}, {}", f"arg_attrs = [{facts}, {facts}") if aligned else text
    )


def _evaluated(module: ir.Module, *numbers: int) -> np.ndarray:
    source, made = np.arange(100, dtype=np.float32), np.full(100, -1, np.float32)
    evaluate(module.body.operations[0].operation, [source, made, *numbers])
    return made


def _branches(module: ir.Module) -> list[ir.Operation]:
    return [op for op in all_ops(module.operation) if isa(op, If)]


@settings(max_examples=60, deadline=None)
@given(
    aligned=st.booleans(), upper=st.sampled_from(UPPERS), lower=st.sampled_from(LOWERS),
    n=st.integers(-3, 90), low=st.integers(-9, 40), tiles=st.integers(0, 11),
)  # fmt: skip
def test_the_same_elements_are_written(
    aligned: bool, upper: str, lower: str, n: int, low: int, tiles: int
) -> None:
    module = _module(upper, lower, aligned=aligned)
    expected = _evaluated(module, n, low, tiles)
    UnmaskInnerTiles().apply(module, None)  # type: ignore[arg-type]
    assert module.operation.verify()
    assert len(_branches(module)) == 1 + aligned  # a copy without masks only where it has vectors
    np.testing.assert_array_equal(_evaluated(module, n, low, tiles), expected)


@settings(max_examples=10, deadline=None)
@given(other=st.sampled_from(OTHERS))
def test_masks_that_scalars_do_not_decide_stay(other: str) -> None:
    module = _module(UPPERS[0], other)
    UnmaskInnerTiles().apply(module, None)  # type: ignore[arg-type]
    assert not _branches(module)


def test_a_limit_from_memory_decides_no_branch() -> None:
    """Threads may read different numbers while another program stores one."""
    limit = '"tt.load"(%word) {cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<i32, "global">) -> i32'
    text = KERNEL.replace("UPPER", UPPERS[0]).replace("LOWER", LOWERS[0])
    text = text.replace("i32, %low: i32", 'i32, %word: !tt.ptr<i32, "global">').replace(
        "%zero = arith.constant 0 : i32", f"%zero = arith.constant 0 : i32\n    %low = {limit}"
    )
    text = text.replace(
        '"global">, i32, i32, i32) -> ()', '"global">, i32, !tt.ptr<i32, "global">, i32) -> ()'
    )
    module = ir.Module.parse(text)
    UnmaskInnerTiles().apply(module, None)  # type: ignore[arg-type]
    assert not _branches(module)


@pytest.mark.parametrize(("elements", "twice"), [(128, False), (256, True)])
def test_a_thread_with_one_element_has_no_vector(run, elements: int, twice: bool) -> None:  # type: ignore[no-untyped-def]
    """128 threads: as the layout says, however many neighbours are aligned in memory."""
    text = (
        KERNEL.replace("UPPER", UPPERS[0])
        .replace("LOWER", LOWERS[0])
        .replace("tensor<8x", f"tensor<{elements}x")
    )
    text = text.replace("constant 8 :", f"constant {elements} :").replace("end = 8 :", f"end = {elements} :")
    facts = "{tt.divisibility = 16 : i32}"
    text = text.replace("arg_attrs = [{}, {}", f"arg_attrs = [{facts}, {facts}")
    module = run(text, Coalesce(), RemoveLayoutConversions(), UnmaskInnerTiles())
    assert len(_branches(module)) == 1 + twice
