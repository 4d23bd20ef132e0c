"""First and last iterations apart from their loop."""

from __future__ import annotations

from tri_core.testing import check_passes

_KERNEL = """// RUN: loop-peel{first=FIRST, last=LAST},canonicalize,cse
CHECKS
module {
  tt.func public @k(%p: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %0 = scf.for %i = %c0 to END step %c1 iter_args(%x = %c1) -> (i32)  : i32 {
      %1 = arith.muli %x, %i : i32
      %2 = arith.xori %1, %c8 : i32
      scf.yield %2 : i32
    }
    tt.store %p, %0 : !tt.ptr<i32>
    tt.return
  }
}
"""


def _check(checks: str, end: str, first: int, last: int) -> None:
    text = _KERNEL.replace("CHECKS", checks).replace("END", end)
    check_passes(text.replace("FIRST", str(first)).replace("LAST", str(last)))


def test_the_first() -> None:
    _check(
        """// CHECK: %[[C:.*]] = arith.cmpi sgt, %n, %c0_i32 : i32
// CHECK: %[[X:.*]] = {{arith.select|scf.if}} %[[C]]
// CHECK: scf.for %{{.*}} = %c1_i32 to %n step %c1_i32 iter_args(%{{.*}} = %[[X]])""",
        "%n",
        1,
        0,
    )


def test_the_last_of_a_known_number() -> None:
    _check(
        """// CHECK: %[[X:.*]] = scf.for %{{.*}} = %c0_i32 to %c7_i32 step %c1_i32
// CHECK: }
// CHECK: %[[M:.*]] = arith.muli %[[X]], %c7_i32 : i32
// CHECK: %[[Y:.*]] = arith.xori %[[M]], %c8_i32 : i32
// CHECK: tt.store %p, %[[Y]]
// CHECK-NOT: scf""",
        "%c8",
        0,
        1,
    )


def test_the_last_of_an_unknown_number_is_under_a_condition() -> None:
    _check(
        """// CHECK: %[[X:.*]] = scf.for
// CHECK: %[[Y:.*]] = scf.if %{{.*}} -> (i32)
// CHECK: arith.muli %[[X]]
// CHECK: } else {
// CHECK: scf.yield %[[X]]
// CHECK: tt.store %p, %[[Y]]""",
        "%n",
        0,
        1,
    )
