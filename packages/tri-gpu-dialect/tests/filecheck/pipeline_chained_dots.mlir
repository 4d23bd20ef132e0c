// A dot that reads what another gave starts one iteration late, beside the next iteration's first one.
// RUN: pipeline-chained-dots

// the loop runs at least once inside of the guard: the first early stage, iterations of both, the last late stage
// CHECK-LABEL: "tt.func"
// CHECK: %[[RUNS:.*]] = arith.cmpi slt, %[[FROM:.*]], %[[TO:.*]] : i32
// CHECK-NEXT: %[[OUT:.*]]:2 = scf.if %[[RUNS]]
// CHECK: "ttg.warp_group_dot"
// CHECK: "ttg.warp_group_dot_wait"({{.*}}) {pendings = 0 : i32}
// CHECK: %[[P0:.*]] = "ttg.convert_layout"
// CHECK-NEXT: %[[SECOND:.*]] = arith.addi %[[FROM]], %[[STEP:.*]] : i32
// what belongs to the late stage starts with the first values, what is early with the second ones; P and its stage are forwarded on
// CHECK-NEXT: %[[ALL:.*]]:4 = scf.for %[[I:.*]] = %[[SECOND]] to %[[TO]] step %[[STEP]] iter_args(%[[SUM:.*]] = %arg0, %[[TOP:.*]] = %{{.*}}, %[[BEFORE:.*]] = %[[FROM]], %[[P:.*]] = %[[P0]])
// CHECK: %[[STAGE:.*]] = "ttg.memdesc_index"(%[[K:.*]], %[[I]])
// CHECK: "ttg.wait_barrier"(%{{.*}}, %{{.*}}, %[[STAGE]])
// CHECK: %[[S:.*]] = "ttg.warp_group_dot"
// CHECK: %[[SCALED:.*]] = arith.mulf %[[SUM]]
// CHECK: %[[OTHER:.*]] = "ttg.memdesc_index"(%[[V:.*]], %[[BEFORE]])
// CHECK: "ttg.wait_barrier"(%{{.*}}, %{{.*}}, %[[OTHER]])
// CHECK: %[[LATE:.*]] = "ttg.warp_group_dot"(%[[P]], %[[OTHER]], %[[SCALED]])
// CHECK-NOT: "ttg.warp_group_dot"
// CHECK: %[[DONE:.*]] = "ttg.warp_group_dot_wait"(%[[S]]) {pendings = 1 : i32}
// CHECK: "ttg.arrive_barrier"(%{{.*}}, %[[STAGE]])
// CHECK: %[[NEW:.*]] = arith.maximumf %[[TOP]], %[[DONE]]
// CHECK: %[[ADDED:.*]] = "ttg.warp_group_dot_wait"(%[[LATE]]) {pendings = 0 : i32}
// CHECK-NEXT: "ttg.arrive_barrier"(%{{.*}}, %[[OTHER]])
// CHECK-NEXT: %[[SMALL:.*]] = arith.truncf %[[NEW]]
// CHECK-NEXT: %[[HALF:.*]] = "ttg.convert_layout"(%[[SMALL]])
// CHECK-NEXT: scf.yield %[[ADDED]], %[[NEW]], %[[I]], %[[HALF]] :
// CHECK-NEXT: } {ttg.placed_waits}
// CHECK: "ttg.memdesc_index"(%[[V]], %[[ALL]]#2)
// CHECK: "ttg.warp_group_dot"(%[[ALL]]#3,
// CHECK-NEXT: %[[LAST:.*]] = "ttg.warp_group_dot_wait"({{.*}}) {pendings = 0 : i32}
// CHECK: scf.yield %[[LAST]], %[[ALL]]#1 :
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %arg0, %arg0 :

// the first dot adds to what the second one gave: nothing can be early
// CHECK-LABEL: "tt.func"
// CHECK-NOT: scf.if
// CHECK: scf.for
// CHECK-NOT: pendings = 1
// CHECK: "tt.return"
#acc = #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>
#plain = #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>
#bar = #ttg.swizzled_shared<{maxPhase = 1 : i64, order = [0], perPhase = 1 : i64, vec = 1 : i64}>
!sum = tensor<32x32xf32, #acc>
!left = tensor<32x32xf16, #ttg.dot_op<{kWidth = 2 : i64, opIdx = 0 : i64, parent = #acc}>>
!ring = !ttg.memdesc<array<i64: 2, 32, 32>, f16, #plain, #ttg.shared_memory, true, array<i64: 2, 32, 32>>
!stage = !ttg.memdesc<array<i64: 32, 32>, f16, #plain, #ttg.shared_memory, true, array<i64: 2, 32, 32>>
!bars = !ttg.memdesc<array<i64: 2, 1>, i64, #bar, #ttg.shared_memory, true, array<i64: 2, 1>>
!one = !ttg.memdesc<array<i64: 1>, i64, #bar, #ttg.shared_memory, true, array<i64: 2, 1>>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  "tt.func"() ({
  ^bb0(%c: !sum, %n: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %half = arith.constant dense<5.000000e-01> : !sum
    %q = "ttg.local_alloc"() : () -> !ring
    %k = "ttg.local_alloc"() : () -> !ring
    %v = "ttg.local_alloc"() : () -> !ring
    %full = "ttg.local_alloc"() : () -> !bars
    %empty = "ttg.local_alloc"() : () -> !bars
    %qs = "ttg.memdesc_index"(%q, %zero) : (!ring, i32) -> !stage
    %out:2 = "scf.for"(%zero, %n, %one, %c, %c) ({
    ^bb0(%i: i32, %acc: !sum, %top: !sum):
      %ks = "ttg.memdesc_index"(%k, %i) : (!ring, i32) -> !stage
      %kf = "ttg.memdesc_index"(%full, %i) : (!bars, i32) -> !one
      "ttg.wait_barrier"(%kf, %zero, %ks) : (!one, i32, !stage) -> ()
      %s = "ttg.warp_group_dot"(%qs, %ks, %c) {inputPrecision = 0 : i32} : (!stage, !stage, !sum) -> !sum
      %sw = "ttg.warp_group_dot_wait"(%s) {pendings = 0 : i32} : (!sum) -> !sum
      %ke = "ttg.memdesc_index"(%empty, %i) : (!bars, i32) -> !one
      "ttg.arrive_barrier"(%ke, %ks) : (!one, !stage) -> ()
      %new = arith.maximumf %top, %sw : !sum
      %h = arith.truncf %new : !sum to tensor<32x32xf16, #acc>
      %p = "ttg.convert_layout"(%h) : (tensor<32x32xf16, #acc>) -> !left
      %scaled = arith.mulf %acc, %half : !sum
      %vs = "ttg.memdesc_index"(%v, %i) : (!ring, i32) -> !stage
      %vf = "ttg.memdesc_index"(%full, %i) : (!bars, i32) -> !one
      "ttg.wait_barrier"(%vf, %zero, %vs) : (!one, i32, !stage) -> ()
      %o = "ttg.warp_group_dot"(%p, %vs, %scaled) {inputPrecision = 0 : i32} : (!left, !stage, !sum) -> !sum
      %ow = "ttg.warp_group_dot_wait"(%o) {pendings = 0 : i32} : (!sum) -> !sum
      %ve = "ttg.memdesc_index"(%empty, %i) : (!bars, i32) -> !one
      "ttg.arrive_barrier"(%ve, %vs) : (!one, !stage) -> ()
      "scf.yield"(%ow, %new) : (!sum, !sum) -> ()
    }) : (i32, i32, i32, !sum, !sum) -> (!sum, !sum)
    "tt.return"(%out#0, %out#1) : (!sum, !sum) -> ()
  }) {function_type = (!sum, i32) -> (!sum, !sum), sym_name = "chain"} : () -> ()
  "tt.func"() ({
  ^bb0(%c: !sum, %n: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %k = "ttg.local_alloc"() : () -> !ring
    %out = "scf.for"(%zero, %n, %one, %c) ({
    ^bb0(%i: i32, %acc: !sum):
      %ks = "ttg.memdesc_index"(%k, %i) : (!ring, i32) -> !stage
      %s = "ttg.warp_group_dot"(%ks, %ks, %acc) {inputPrecision = 0 : i32} : (!stage, !stage, !sum) -> !sum
      %sw = "ttg.warp_group_dot_wait"(%s) {pendings = 0 : i32} : (!sum) -> !sum
      %h = arith.truncf %sw : !sum to tensor<32x32xf16, #acc>
      %p = "ttg.convert_layout"(%h) : (tensor<32x32xf16, #acc>) -> !left
      %o = "ttg.warp_group_dot"(%p, %ks, %sw) {inputPrecision = 0 : i32} : (!left, !stage, !sum) -> !sum
      %ow = "ttg.warp_group_dot_wait"(%o) {pendings = 0 : i32} : (!sum) -> !sum
      "scf.yield"(%ow) : (!sum) -> ()
    }) : (i32, i32, i32, !sum) -> !sum
    "tt.return"(%out) : (!sum) -> ()
  }) {function_type = (!sum, i32) -> !sum, sym_name = "in_turn"} : () -> ()
}
