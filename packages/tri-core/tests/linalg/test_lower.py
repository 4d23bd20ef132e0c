"""What becomes of TTIR: upstream dialects alone, windows where places are known, errors at their lines."""

from __future__ import annotations

import pytest

from tri_core import api, mlir
from tri_core.api import InternalError, Unsupported, to_linalg
from tri_core.ir.walking import collect
from tri_core.testing.filecheck import filecheck
from tri_core.text import parse_module

UPSTREAM = {"arith", "bufferization", "builtin", "func", "linalg", "math", "memref", "scf", "tensor"}

ADD = """
module {
  tt.func public @add(%out: !tt.ptr<f32>, %x: !tt.ptr<f32>, %n: i32) {
    %size = arith.constant 64 : i32
    %id = tt.get_program_id x : i32
    %first = arith.muli %id, %size : i32
    %range = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %firsts = tt.splat %first : i32 -> tensor<64xi32>
    %offsets = arith.addi %firsts, %range : tensor<64xi32>
    %ns = tt.splat %n : i32 -> tensor<64xi32>
    %mask = arith.cmpi slt, %offsets, %ns : tensor<64xi32>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %from = tt.addptr %xs, %offsets : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %value = tt.load %from, %mask : tensor<64x!tt.ptr<f32>>
    %outs = tt.splat %out : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %to = tt.addptr %outs, %offsets : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %sum = arith.addf %value, %value : tensor<64xf32>
    tt.store %to, %sum, %mask : tensor<64x!tt.ptr<f32>>
    tt.return
  }
}
"""

#: a loop that moves a pointer by a uniform step, and one that moves it by what was loaded
LOOP = """
module {
  tt.func public @loop(%out: !tt.ptr<i32>, %x: !tt.ptr<i32>, %n: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %zeros = arith.constant dense<0> : tensor<16xi32>
    %range = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %step = STEP
    %xs = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
    %first = tt.addptr %xs, %range : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
    %all:2 = scf.for %i = %zero to %n step %one iter_args(%p = %first, %sum = %zeros) -> (tensor<16x!tt.ptr<i32>>, tensor<16xi32>) : i32 {
      %value = tt.load %p : tensor<16x!tt.ptr<i32>>
      %more = arith.addi %sum, %value : tensor<16xi32>
      %next = tt.addptr %p, %step : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
      scf.yield %next, %more : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
    }
    %outs = tt.splat %out : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
    %to = tt.addptr %outs, %range : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
    tt.store %to, %all#1 : tensor<16x!tt.ptr<i32>>
    tt.return
  }
}
"""

REDUCE = """
module {
  tt.func public @reduce(%out: !tt.ptr<f32>, %a: f32) {
    %x = tt.splat %a : f32 -> tensor<8x4xf32>
    %r = "tt.reduce"(%x) <{axis = 1 : i32}> ({
    ^bb0(%l: f32, %m: f32):
      %s = OP %l, %m : f32
      tt.reduce.return %s : f32
    }) : (tensor<8x4xf32>) -> tensor<8xf32>
    %range = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %outs = tt.splat %out : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %to = tt.addptr %outs, %range : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    tt.store %to, %r : tensor<8x!tt.ptr<f32>>
    tt.return
  }
}
"""


def lowered(source: str) -> str:
    """The text of what ``source`` becomes, all of whose ops are upstream's."""
    with mlir.session():
        made = to_linalg(parse_module(source))
        assert {op.name.partition(".")[0] for op in collect(made.operation)} <= UPSTREAM
        return str(made)


def test_a_masked_block_is_a_window_bounded_by_the_mask() -> None:
    checks = r"""
    // CHECK: func.func @add(%[[OUT:.*]]: memref<*xf32>, %[[X:.*]]: memref<*xf32>, %{{.*}}: i32
    // CHECK: %[[HIGH:.*]] = arith.minsi
    // CHECK: memref.reinterpret_cast %[[X]] to offset: [%{{.*}}], sizes: [64], strides: [1]
    // CHECK: linalg.fill
    // CHECK: memref.subview %{{.*}}[0] {{\[}}%[[HIGH]]{{\]}} [1]
    // CHECK: memref.copy
    // CHECK: arith.addf %{{.*}}, %{{.*}} : tensor<64xf32>
    // CHECK: memref.reinterpret_cast %[[OUT]]
    // CHECK: bufferization.materialize_in_destination
    // CHECK-NOT: memref.load
    """
    text = lowered(ADD)
    filecheck(text, checks)
    signature = text.split("@add(")[1].split(")")[0]
    assert signature.count("i32") == 1 + len(("counts", "numbers")) * 3


def test_a_loop_carries_the_offset_of_what_it_moves_by_a_uniform_step() -> None:
    text = lowered(LOOP.replace("STEP", "arith.constant dense<16> : tensor<16xi32>"))
    filecheck(
        text,
        """
    // CHECK: scf.for {{.*}} -> (index, tensor<16xi32>)
    // CHECK: memref.reinterpret_cast
    // CHECK: memref.copy
    """,
    )
    assert "memref.load" not in text


def test_a_loop_carries_all_offsets_of_what_it_moves_otherwise() -> None:
    text = lowered(LOOP.replace("STEP", "arith.muli %range, %range : tensor<16xi32>"))
    filecheck(
        text,
        """
    // CHECK: scf.for {{.*}} -> (tensor<16xindex>, tensor<16xi32>)
    // CHECK: scf.for {{.*}} {
    // CHECK: memref.load
    """,
    )


@pytest.mark.parametrize(
    ("op", "neutral"),
    [("arith.addf", "-0.000000e+00"), ("arith.maximumf", "0xFF800000"), ("arith.mulf", "1.000000e+00")],
)
def test_a_reduction_starts_with_what_changes_nothing(op: str, neutral: str) -> None:
    text = lowered(REDUCE.replace("OP", op))
    assert f"arith.constant {neutral} : f32" in text
    assert "linalg.reduce" in text
    assert "dimensions = [1]" in text


def test_a_reduction_by_another_function_starts_with_the_first_elements() -> None:
    text = lowered(REDUCE.replace("OP", "arith.subf"))
    filecheck(
        text,
        """
    // CHECK: tensor.extract_slice %{{.*}}[0, 0] [8, 1] [1, 1]
    // CHECK: tensor.extract_slice %{{.*}}[0, 1] [8, 3] [1, 1]
    // CHECK: linalg.reduce
    """,
    )


def refused(body: str) -> Unsupported:
    """What is said of ``body``, whose op stands in line 4."""
    source = f'module {{ tt.func public @k(%p: !tt.ptr<i32>, %q: !tt.ptr<i32>, %c: i1, %v: i32) {{ {body} loc("k.py":4:5) tt.return }} }}'
    with mlir.session(), pytest.raises(Unsupported) as caught:
        to_linalg(parse_module(source))
    assert caught.value.location is not None
    assert caught.value.location.line == 4
    assert caught.value.remedy
    return caught.value


def test_an_atomic_is_refused_at_its_line() -> None:
    error = refused("%o = tt.atomic_rmw add, relaxed, gpu, %p, %v : (!tt.ptr<i32>, i32) -> i32")
    assert "tt.atomic_rmw" in error.message


def test_a_choice_between_arrays_is_refused_at_its_line() -> None:
    assert "pointers" in refused("%o = arith.select %c, %p, %q : !tt.ptr<i32>").message


def test_a_module_without_a_kernel_is_refused() -> None:
    with mlir.session(), pytest.raises(InternalError, match="has 0"):
        to_linalg(parse_module("module {}"))


def test_plugins_find_it_in_the_api() -> None:
    stage = api.linalg_stage()
    assert (stage.name, stage.kind, stage.final) == ("linalg", "module", False)
