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


def test_one_changes_nothing() -> None:
    _check("// CHECK: step %c1_i32\n// CHECK-COUNT-1: arith.muli\n// CHECK-NOT: loop_unroll", factor=1)


def test_no_factor_below_one() -> None:
    with pytest.raises(Unsupported, match="loop_unroll_factor = 0"):
        _check("// CHECK: module", factor=0)
