"""What does not change in a loop leaves it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tri_core.passes import LICM
from tri_core.testing import check_passes, filecheck

BODY = """
%c0 = arith.constant 0 : i32
%c1 = arith.constant 1 : i32
scf.for %i = %c0 to %n step %c1 : i32 {
  %0 = "tt.splat"(%n) : (i32) -> tensor<8xi32>
  %1 = "tt.splat"(%i) : (i32) -> tensor<8xi32>
  %2 = "tt.load"(%p) {operandSegmentSizes = array<i32: 1, 0, 0>} : (ptr<i32>) -> i32
  "tt.print"(%0, %1, %2) {prefix = "", hex = false, isSigned = array<i32: 1, 1, 1>} : (tensor<8xi32>, tensor<8xi32>, i32) -> ()
}
"""


def test_pure_invariants_move_and_loads_stay(function: Callable[..., str], after: Callable[..., str]) -> None:
    filecheck(
        after(LICM(), function("%n: i32, %p: ptr<i32>", BODY)),
        """CHECK: %[[S:.*]] = "tt.splat"(%arg0)
           CHECK: "scf.for"
           CHECK: %[[V:.*]] = "tt.splat"
           CHECK: %[[L:.*]] = "tt.load"
           CHECK: "tt.print"(%[[S]], %[[V]], %[[L]])""",
    )


_LOADS = """// RUN: licm
CHECKS
module {
  tt.func public @k(%p: tensor<8x!tt.ptr<f32>>, %q: tensor<8x!tt.ptr<f32>>, %m: tensor<8xi1>, %z: tensor<8xf32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %0 = scf.for %i = %c0 to HIGH step %c1 iter_args(%x = %z) -> (tensor<8xf32>)  : i32 {
      %1 = tt.load %pMASK : tensor<8x!tt.ptr<f32>>
      %2 = math.exp %1 : tensor<8xf32>
      %3 = arith.addf %x, %2 : tensor<8xf32>
      MORE
      scf.yield %3 : tensor<8xf32>
    }HINT
    tt.store %q, %0 : tensor<8x!tt.ptr<f32>>
    tt.return
  }
}
"""
_STAYS = "// CHECK: scf.for\n// CHECK: tt.load %p"


@pytest.mark.parametrize(
    ("checks", "high", "mask", "more", "hint"),
    [
        ("// CHECK: %[[X:.*]] = tt.load %p :\n// CHECK: math.exp %[[X]]\n// CHECK: scf.for", "%c8", "", "", ""),
        (
            ("// CHECK: %[[R:.*]] = arith.cmpi slt, %{{.*}}, %n : i32\n// CHECK: %[[M:.*]] = tt.splat %[[R]] : i1 -> tensor<8xi1>\n"
            "// CHECK: tt.load %p, %[[M]] :\n// CHECK: scf.for\n// CHECK-NOT: tt.load"),
            "%n", "", "", "",
        ),
        (
            ("// CHECK: %[[S:.*]] = tt.splat %{{.*}} : i1\n// CHECK: %[[M:.*]] = arith.andi %m, %[[S]]\n"
            "// CHECK: tt.load %p, %[[M]], %z :\n// CHECK: scf.for"),
            "%n", ", %m, %z", "", "",
        ),
        (_STAYS, "%n", "", "tt.store %q, %3 : tensor<8x!tt.ptr<f32>>", ""),
        (_STAYS, "%n", "", "", " {llvm.loop_annotation = #llvm.loop_annotation<licm = <disable = true>>}"),
    ],
    ids=["a loop that runs", "a loop that may not run", "a masked load", "a loop that writes", "told to stay"],
)  # fmt: skip
def test_loads_leave_loops_that_only_read(checks: str, high: str, mask: str, more: str, hint: str) -> None:
    text = _LOADS.replace("CHECKS", checks).replace("HIGH", high).replace("MASK", mask)
    check_passes(text.replace("MORE", more).replace("HINT", hint))
