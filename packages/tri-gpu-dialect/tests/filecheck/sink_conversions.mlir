// RUN: sink-conversions
//
// A conversion that one branch alone uses goes there, with what only it needs; one that both use, or what follows, stays.

#b = #ttg.blocked<{order = [1, 0], sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>
#c = #ttg.blocked<{order = [0, 1], sizePerThread = [4, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4]}>
!t = tensor<64x32xf16, #b>
!u = tensor<64x32xf16, #c>
!p = tensor<64x32x!tt.ptr<f16, "global">, #c>
!q = tensor<64x32x!tt.ptr<f16, "global">, #b>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, "ttg.num-ctas" = 1 : i32} {
  "tt.func"() ({
  ^bb0(%x: !t, %p: !p, %n: i1, %i: i32):
    // CHECK: ^bb0(%[[X:[a-z0-9]+]]: tensor
    // CHECK-NEXT: %[[Y:.*]] = "ttg.convert_layout"(%[[X]])
    // CHECK-NEXT: scf.for
    // CHECK-NOT: "ttg.convert_layout"
    // CHECK: scf.if
    // CHECK-NEXT: "tt.store"({{.*}}, %[[Y]])
    // CHECK-NEXT: } else {
    // CHECK-NEXT: %[[A:.*]] = "ttg.convert_layout"(%[[X]])
    // CHECK-NEXT: %[[B:.*]] = "ttg.convert_layout"(%[[A]])
    // CHECK-NEXT: %[[C:.*]] = "ttg.convert_layout"(%[[B]])
    // CHECK-NEXT: "tt.store"({{.*}}, %[[Y]])
    // CHECK-NEXT: scf.if
    // CHECK-NEXT: "tt.store"({{.*}}, %[[C]])
    %both = "ttg.convert_layout"(%x) : (!t) -> !u
    %one = "ttg.convert_layout"(%x) : (!t) -> !u
    %two = "ttg.convert_layout"(%one) : (!u) -> !t
    %three = "ttg.convert_layout"(%two) : (!t) -> !u
    // in a loop it would be done again and again
    "scf.for"(%i, %i, %i) ({
    ^bb0(%j: i32):
      "tt.store"(%p, %both) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32} : (!p, !u) -> ()
      scf.yield
    }) : (i32, i32, i32) -> ()
    scf.if %n {
      "tt.store"(%p, %both) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32} : (!p, !u) -> ()
    } else {
      "tt.store"(%p, %both) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32} : (!p, !u) -> ()
      scf.if %n {
        "tt.store"(%p, %three) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32} : (!p, !u) -> ()
      } else {
        "tt.store"(%p, %three) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32} : (!p, !u) -> ()
      }
    }
    "tt.return"() : () -> ()
  }) {sym_name = "f", function_type = (!t, !p, i1, i32) -> ()} : () -> ()
  // What waits for a load goes behind the loop, where nothing uses it earlier.
  "tt.func"() ({
  ^bb0(%p: !p, %q: !q, %i: i32):
    // CHECK: %[[L:.*]] = "tt.load"
    // CHECK-NEXT: %[[M:.*]] = "tt.load"
    // CHECK-NEXT: %[[K:.*]] = "ttg.convert_layout"(%[[M]])
    // CHECK-NEXT: "tt.store"({{.*}}, %[[K]])
    // CHECK-NEXT: scf.for
    // CHECK: %[[J:.*]] = "ttg.convert_layout"(%[[L]])
    // CHECK-NEXT: "tt.store"({{.*}}, %[[J]])
    %x = "tt.load"(%p) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (!p) -> !u
    %j = "ttg.convert_layout"(%x) : (!u) -> !t
    %y = "tt.load"(%p) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (!p) -> !u
    %k = "ttg.convert_layout"(%y) : (!u) -> !t
    "tt.store"(%q, %k) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32} : (!q, !t) -> ()
    "scf.for"(%i, %i, %i) ({
    ^bb0(%at: i32):
      "tt.store"(%p, %x) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32} : (!p, !u) -> ()
      scf.yield
    }) : (i32, i32, i32) -> ()
    "tt.store"(%q, %j) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32} : (!q, !t) -> ()
    "tt.return"() : () -> ()
  }) {sym_name = "g", function_type = (!p, !q, i32) -> ()} : () -> ()
}
