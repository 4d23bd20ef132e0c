"""Values that loops carry only to compute themselves."""

from __future__ import annotations

from tri_core.testing import check_passes


def test_what_is_only_counted_goes() -> None:
    check_passes("""// RUN: remove-dead-iter-args,canonicalize
// CHECK: scf.for %{{.*}} = %{{.*}} to %n step %{{.*}} iter_args(%[[X:.*]] = %{{.*}}) -> (i32)
// CHECK-NEXT: %[[S:.*]] = arith.addi %[[X]], %{{.*}} : i32
// CHECK-NEXT: scf.yield %[[S]] : i32
module {
  tt.func public @k(%p: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %0:3 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c1, %q = %p, %y = %c0) -> (i32, !tt.ptr<i32>, i32)  : i32 {
      %1 = arith.addi %x, %i : i32
      %2 = tt.addptr %q, %c1 : !tt.ptr<i32>, i32
      %3 = arith.addi %y, %x : i32
      scf.yield %1, %2, %3 : i32, !tt.ptr<i32>, i32
    }
    tt.store %p, %0#0 : !tt.ptr<i32>
    tt.return
  }
}
""")


def test_what_an_effect_needs_stays() -> None:
    check_passes("""// RUN: remove-dead-iter-args,canonicalize
// CHECK: scf.for {{.*}} iter_args(%[[Q:.*]] = %p, %[[Y:.*]] = %{{.*}}) -> (!tt.ptr<i32>, i32)
// CHECK: scf.for {{.*}} iter_args(%[[Z:.*]] = %[[Y]]) -> (i32)
// CHECK: tt.store %[[Q]], %{{.*}}
module {
  tt.func public @k(%p: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %0:2 = scf.for %i = %c0 to %n step %c1 iter_args(%q = %p, %y = %c0) -> (!tt.ptr<i32>, i32)  : i32 {
      %1 = scf.for %j = %c0 to %n step %c1 iter_args(%z = %y) -> (i32)  : i32 {
        %4 = arith.addi %z, %j : i32
        scf.yield %4 : i32
      }
      %2 = tt.addptr %q, %c1 : !tt.ptr<i32>, i32
      tt.store %q, %1 : !tt.ptr<i32>
      scf.yield %2, %1 : !tt.ptr<i32>, i32
    }
    tt.return
  }
}
""")
