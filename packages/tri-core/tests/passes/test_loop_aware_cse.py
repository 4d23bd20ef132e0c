"""Values that a loop carries and that are always the same."""

from __future__ import annotations

import pytest

from tri_core.testing import check_passes

_KERNEL = """// RUN: loop-aware-cse
CHECKS
module {
  tt.func public @k(%p: tensor<8x!tt.ptr<f32>>, %s: tensor<8xi32>, %t: tensor<8xi32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %0:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %p, %b = %p) -> (tensor<8x!tt.ptr<f32>>, tensor<8x!tt.ptr<f32>>)  : i32 {
      %1 = tt.load %a : tensor<8x!tt.ptr<f32>>
      tt.store %b, %1 : tensor<8x!tt.ptr<f32>>
      %2 = tt.addptr %a, %s : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
      %3 = tt.addptr %b, STEP : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
      scf.yield %2, %3 : tensor<8x!tt.ptr<f32>>, tensor<8x!tt.ptr<f32>>
    }
    tt.return
  }
}
"""


@pytest.mark.parametrize(
    ("step", "checks"),
    [
        (
            "%s",
            """// CHECK: iter_args(%[[A:.*]] = %p) -> (tensor<8x!tt.ptr<f32>>)
// CHECK: tt.load %[[A]]
// CHECK: tt.store %[[A]]
// CHECK-COUNT-1: tt.addptr
// CHECK-NOT: tt.addptr""",
        ),
        ("%t", "// CHECK: iter_args(%{{.*}} = %p, %{{.*}} = %p)\n// CHECK-COUNT-2: tt.addptr"),
    ],
    ids=["equal steps", "other steps"],
)
def test_pointers_that_go_together(step: str, checks: str) -> None:
    check_passes(_KERNEL.replace("CHECKS", checks).replace("STEP", step))
