"""What does not change in a loop leaves it."""

from __future__ import annotations

from collections.abc import Callable

from tri_core.passes import LICM
from tri_core.testing import filecheck

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
