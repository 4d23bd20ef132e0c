// Four groups of consumers alternate at ordered barriers: their dots are started together, then something else takes long.
// RUN: ping-pong

// CHECK-LABEL: "tt.func"
// the region of consumers opens, before anything else
// CHECK: "ttg.warp_specialize"
// CHECK: "ttg.ordered_barrier"() {group_warps = 1 : i32, step = "open"}
// CHECK-NEXT: arith.constant
// CHECK: scf.for
// CHECK-NEXT: "ttg.ordered_barrier"() {group_warps = 1 : i32, step = "wait"}
// CHECK-NEXT: %[[S:.*]] = "ttg.warp_group_dot"
// CHECK: "ttg.warp_group_dot"
// CHECK-NEXT: "ttg.ordered_barrier"() {group_warps = 1 : i32, step = "pass"}
// CHECK-NEXT: "ttg.warp_group_dot_wait"(%[[S]]) {pendings = 1 : i32}
// CHECK: math.exp2
// in the second loop the first dot is waited for before the second one starts
// CHECK: scf.for
// CHECK-NOT: "ttg.ordered_barrier"
// in the third one a barrier is for the two that start together, not for the one that needs what they give
// CHECK: scf.for
// CHECK-NEXT: "ttg.ordered_barrier"() {group_warps = 1 : i32, step = "wait"}
// CHECK: "ttg.warp_group_dot"
// CHECK-NEXT: "ttg.warp_group_dot"
// CHECK-NEXT: "ttg.ordered_barrier"() {group_warps = 1 : i32, step = "pass"}
// CHECK-NOT: "ttg.ordered_barrier"
// CHECK: "ttg.warp_group_dot"
// CHECK: scf.yield
// CHECK: "ttg.ordered_barrier"() {group_warps = 1 : i32, step = "close"}
// CHECK-NEXT: "ttg.warp_yield"
#acc = #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>
#plain = #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>
!sum = tensor<32x32xf32, #acc>
!tile = !ttg.memdesc<array<i64: 32, 32>, f16, #plain, #ttg.shared_memory, true, array<i64: 32, 32>>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  "tt.func"() ({
  ^bb0(%c: !sum, %n: i32):
    %q = "ttg.local_alloc"() : () -> !tile
    %k = "ttg.local_alloc"() : () -> !tile
    %r = "ttg.warp_specialize"() ({
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %a:2 = scf.for %i = %zero to %n step %one iter_args(%x = %c, %y = %c) -> (!sum, !sum) : i32 {
        %s = "ttg.warp_group_dot"(%q, %k, %c) {inputPrecision = 0 : i32, maxNumImpreciseAcc = 0 : i32} : (!tile, !tile, !sum) -> !sum
        %h = arith.mulf %x, %y : !sum
        %t = "ttg.warp_group_dot"(%q, %k, %h) {inputPrecision = 0 : i32, maxNumImpreciseAcc = 0 : i32} : (!tile, !tile, !sum) -> !sum
        %s1 = "ttg.warp_group_dot_wait"(%s) {pendings = 1 : i32} : (!sum) -> !sum
        %e = math.exp2 %s1 : !sum
        %t1 = "ttg.warp_group_dot_wait"(%t) {pendings = 0 : i32} : (!sum) -> !sum
        scf.yield %t1, %e : !sum, !sum
      }
      %b = scf.for %i = %zero to %n step %one iter_args(%x = %a#0) -> (!sum) : i32 {
        %s = "ttg.warp_group_dot"(%q, %k, %c) {inputPrecision = 0 : i32, maxNumImpreciseAcc = 0 : i32} : (!tile, !tile, !sum) -> !sum
        %s1 = "ttg.warp_group_dot_wait"(%s) {pendings = 0 : i32} : (!sum) -> !sum
        %e = math.exp2 %s1 : !sum
        %t = "ttg.warp_group_dot"(%q, %k, %e) {inputPrecision = 0 : i32, maxNumImpreciseAcc = 0 : i32} : (!tile, !tile, !sum) -> !sum
        %t1 = "ttg.warp_group_dot_wait"(%t) {pendings = 0 : i32} : (!sum) -> !sum
        scf.yield %t1 : !sum
      }
      %d = scf.for %i = %zero to %n step %one iter_args(%x = %b) -> (!sum) : i32 {
        %s = "ttg.warp_group_dot"(%q, %k, %c) {inputPrecision = 0 : i32, maxNumImpreciseAcc = 0 : i32} : (!tile, !tile, !sum) -> !sum
        %t = "ttg.warp_group_dot"(%k, %q, %c) {inputPrecision = 0 : i32, maxNumImpreciseAcc = 0 : i32} : (!tile, !tile, !sum) -> !sum
        %s1 = "ttg.warp_group_dot_wait"(%s) {pendings = 1 : i32} : (!sum) -> !sum
        %e = math.exp2 %s1 : !sum
        %u = "ttg.warp_group_dot"(%q, %k, %e) {inputPrecision = 0 : i32, maxNumImpreciseAcc = 0 : i32} : (!tile, !tile, !sum) -> !sum
        %t1 = "ttg.warp_group_dot_wait"(%t) {pendings = 1 : i32} : (!sum) -> !sum
        %u1 = "ttg.warp_group_dot_wait"(%u) {pendings = 0 : i32} : (!sum) -> !sum
        %v = arith.addf %t1, %u1 : !sum
        scf.yield %v : !sum
      }
      "ttg.warp_yield"(%d) : (!sum) -> ()
    }, {
      "ttg.warp_specialize_partitions"() ({
        "ttg.warp_return"() : () -> ()
      }) : () -> ()
    }) {partitionNumWarps = array<i32: 4>} : () -> !sum
    "tt.return"() : () -> ()
  }) {arg_attrs = [{}, {}], function_type = (!sum, i32) -> (), res_attrs = [], sym_name = "k", sym_visibility = "public"} : () -> ()
}
