"""Several iterations of a loop as one."""

from __future__ import annotations

import pytest

from tri_core.errors import Unsupported
from tri_core.testing import check_passes

_KERNEL = """// RUN: loop-unroll,canonicalize
CHECKS
module {
  tt.func public @k(%p: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %high = arith.constant HIGH : i32
    %0 = scf.for %i = %c0 to END step %c1 iter_args(%x = %c1) -> (i32)  : i32 {
      %1 = arith.muli %x, %i : i32
      scf.yield %1 : i32
    } {tt.loop_unroll_factor = FACTOR : i32}
    tt.store %p, %0 : !tt.ptr<i32>
    tt.return
  }
}
"""


def _check(checks: str, end: str = "%high", high: int = 12, factor: int = 4) -> None:
    text = _KERNEL.replace("CHECKS", checks).replace("END", end)
    check_passes(text.replace("HIGH", str(high)).replace("FACTOR", str(factor)))


def test_constant_bounds_that_leave_nothing() -> None:
    _check("""// CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %c4_i32 iter_args(%[[X:.*]] = %
// CHECK: %[[A:.*]] = arith.muli %[[X]], %[[I]] : i32
// CHECK: %[[J:.*]] = arith.addi %[[I]], %c1_i32 : i32
// CHECK: %[[B:.*]] = arith.muli %[[A]], %[[J]] : i32
// CHECK-COUNT-2: arith.muli
// CHECK-NOT: arith.muli
// CHECK: scf.yield
// CHECK-NOT: scf.for
// CHECK-NOT: loop_unroll""")


def test_unknown_bounds_leave_a_loop_for_the_rest() -> None:
    _check(
        """// CHECK: %[[R:.*]] = scf.for %{{.*}} = %c0_i32 to %[[M:.*]] step %c4_i32
// CHECK-COUNT-4: arith.muli
// CHECK-NOT: num_stages
// CHECK: scf.for %{{.*}} = %[[M]] to %n step %c1_i32 iter_args(%{{.*}} = %[[R]])
// CHECK-COUNT-1: arith.muli
// CHECK: tt.num_stages = 1 : i32""",
        end="%n",
    )


def test_a_loop_that_runs_once_is_its_body() -> None:
    """A dot in it then takes what is added behind the loop as its accumulator, and is done there."""
    check_passes("""// RUN: loop-unroll,cse,combine,canonicalize
// CHECK-NOT: scf.for
// CHECK: %[[S:.*]] = arith.mulf
// CHECK: tt.dot %a, %b, %[[S]]
// CHECK-NOT: arith.addf
module {
  tt.func public @k(%p: tensor<16x16x!tt.ptr<f32>>, %a: tensor<16x16xf16>, %b: tensor<16x16xf16>, %c: tensor<16x16xf32>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.000000e+00> : tensor<16x16xf32>
    %0 = scf.for %i = %c0 to %c1 step %c1 iter_args(%x = %zero) -> (tensor<16x16xf32>)  : i32 {
      %1 = tt.dot %a, %b, %x, inputPrecision = tf32 : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>
      scf.yield %1 : tensor<16x16xf32>
    }
    %2 = arith.mulf %c, %c : tensor<16x16xf32>
    %3 = arith.addf %0, %2 : tensor<16x16xf32>
    tt.store %p, %3 : tensor<16x16x!tt.ptr<f32>>
    tt.return
  }
}
""")


def test_one_changes_nothing() -> None:
    _check("// CHECK: step %c1_i32\n// CHECK-COUNT-1: arith.muli\n// CHECK-NOT: loop_unroll", factor=1)


def test_no_factor_below_one() -> None:
    with pytest.raises(Unsupported, match="loop_unroll_factor = 0"):
        _check("// CHECK: module", factor=0)
