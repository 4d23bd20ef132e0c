// Dots that do not need each other are started together; reads of buffers stand where they are used.
// RUN: hoist-async-dots

// the second dot, with the wait for its block, comes before the wait for the first, which leaves it under way
// CHECK-LABEL: "tt.func"
// CHECK: %[[ONE:.*]] = "ttg.warp_group_dot"
// CHECK: "ttg.wait_barrier"(%{{.*}}, %{{.*}}, %[[STAGE:[0-9]+]])
// CHECK: %[[TWO:.*]] = "ttg.warp_group_dot"(%{{.*}}, %[[STAGE]], %{{.*}})
// CHECK-NEXT: %[[X:.*]] = "ttg.warp_group_dot_wait"(%[[ONE]]) {pendings = 1 : i32}
// CHECK-NEXT: math.exp2 %[[X]]
// CHECK-NEXT: %[[ROW:.*]] = "ttg.local_load"
// CHECK-NEXT: %[[Y:.*]] = "ttg.warp_group_dot_wait"(%[[TWO]]) {pendings = 0 : i32}
// CHECK-NEXT: "ttg.arrive_barrier"
// CHECK-NEXT: arith.subf %[[Y]], %[[ROW]]

// the wait for the second block would pass the arrival that its producer may be waiting for
// CHECK-LABEL: "tt.func"
// CHECK: "ttg.warp_group_dot_wait"({{.*}}) {pendings = 0 : i32}
// CHECK-NEXT: "ttg.arrive_barrier"
// CHECK: "ttg.wait_barrier"
// CHECK: "ttg.warp_group_dot_wait"({{.*}}) {pendings = 0 : i32}

// a dot that reads what the first one gave stays; the row is read ahead of the wait behind which it is used
// CHECK-LABEL: "tt.func"
// CHECK: "ttg.warp_group_dot"
// CHECK-NEXT: "ttg.warp_group_dot_wait"({{.*}}) {pendings = 0 : i32}
// CHECK: %[[DOT:.*]] = "ttg.warp_group_dot"
// CHECK-NEXT: "ttg.local_load"
// CHECK-NEXT: "ttg.warp_group_dot_wait"(%[[DOT]]) {pendings = 0 : i32}
#acc = #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>
#plain = #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>
#bar = #ttg.swizzled_shared<{maxPhase = 1 : i64, order = [0], perPhase = 1 : i64, vec = 1 : i64}>
!sum = tensor<32x32xf32, #acc>
!left = tensor<32x32xf16, #ttg.dot_op<{kWidth = 2 : i64, opIdx = 0 : i64, parent = #acc}>>
!ring = !ttg.memdesc<array<i64: 2, 32, 32>, f16, #plain, #ttg.shared_memory, true, array<i64: 2, 32, 32>>
!stage = !ttg.memdesc<array<i64: 32, 32>, f16, #plain, #ttg.shared_memory, true, array<i64: 2, 32, 32>>
!row = !ttg.memdesc<array<i64: 32, 32>, f32, #plain, #ttg.shared_memory, true, array<i64: 32, 32>>
!bars = !ttg.memdesc<array<i64: 2, 1>, i64, #bar, #ttg.shared_memory, true, array<i64: 2, 1>>
!one = !ttg.memdesc<array<i64: 1>, i64, #bar, #ttg.shared_memory, true, array<i64: 2, 1>>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  "tt.func"() ({
  ^bb0(%c: !sum, %n: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %k = "ttg.local_alloc"() : () -> !ring
    %v = "ttg.local_alloc"() : () -> !ring
    %rows = "ttg.local_alloc"() : () -> !row
    %full = "ttg.local_alloc"() : () -> !bars
    %empty = "ttg.local_alloc"() : () -> !bars
    %out = "scf.for"(%zero, %n, %one, %c) ({
    ^bb0(%i: i32, %acc: !sum):
      %ks = "ttg.memdesc_index"(%k, %i) : (!ring, i32) -> !stage
      %kf = "ttg.memdesc_index"(%full, %i) : (!bars, i32) -> !one
      %ke = "ttg.memdesc_index"(%empty, %i) : (!bars, i32) -> !one
      "ttg.wait_barrier"(%kf, %zero, %ks) : (!one, i32, !stage) -> ()
      %r = "ttg.local_load"(%rows) : (!row) -> !sum
      %s = "ttg.warp_group_dot"(%ks, %ks, %c) {inputPrecision = 0 : i32} : (!stage, !stage, !sum) -> !sum
      %sw = "ttg.warp_group_dot_wait"(%s) {pendings = 0 : i32} : (!sum) -> !sum
      %e = math.exp2 %sw : !sum
      %vs = "ttg.memdesc_index"(%v, %i) : (!ring, i32) -> !stage
      %vf = "ttg.memdesc_index"(%full, %i) : (!bars, i32) -> !one
      "ttg.wait_barrier"(%vf, %zero, %vs) : (!one, i32, !stage) -> ()
      %t = "ttg.warp_group_dot"(%vs, %vs, %c) {inputPrecision = 0 : i32} : (!stage, !stage, !sum) -> !sum
      %tw = "ttg.warp_group_dot_wait"(%t) {pendings = 0 : i32} : (!sum) -> !sum
      "ttg.arrive_barrier"(%ke, %ks) : (!one, !stage) -> ()
      %x = arith.subf %tw, %r : !sum
      %y = arith.mulf %e, %x : !sum
      "scf.yield"(%y) : (!sum) -> ()
    }) : (i32, i32, i32, !sum) -> !sum
    "tt.return"(%out) : (!sum) -> ()
  }) {function_type = (!sum, i32) -> !sum, sym_name = "together"} : () -> ()
  "tt.func"() ({
  ^bb0(%c: !sum, %n: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %k = "ttg.local_alloc"() : () -> !ring
    %v = "ttg.local_alloc"() : () -> !ring
    %rows = "ttg.local_alloc"() : () -> !row
    %full = "ttg.local_alloc"() : () -> !bars
    %empty = "ttg.local_alloc"() : () -> !bars
    %out = "scf.for"(%zero, %n, %one, %c) ({
    ^bb0(%i: i32, %acc: !sum):
      %ks = "ttg.memdesc_index"(%k, %i) : (!ring, i32) -> !stage
      %kf = "ttg.memdesc_index"(%full, %i) : (!bars, i32) -> !one
      %ke = "ttg.memdesc_index"(%empty, %i) : (!bars, i32) -> !one
      "ttg.wait_barrier"(%kf, %zero, %ks) : (!one, i32, !stage) -> ()
      %r = "ttg.local_load"(%rows) : (!row) -> !sum
      %s = "ttg.warp_group_dot"(%ks, %ks, %c) {inputPrecision = 0 : i32} : (!stage, !stage, !sum) -> !sum
      %sw = "ttg.warp_group_dot_wait"(%s) {pendings = 0 : i32} : (!sum) -> !sum
      "ttg.arrive_barrier"(%ke, %ks) : (!one, !stage) -> ()
      %e = math.exp2 %sw : !sum
      %vs = "ttg.memdesc_index"(%v, %i) : (!ring, i32) -> !stage
      %vf = "ttg.memdesc_index"(%full, %i) : (!bars, i32) -> !one
      "ttg.wait_barrier"(%vf, %zero, %vs) : (!one, i32, !stage) -> ()
      %t = "ttg.warp_group_dot"(%vs, %vs, %c) {inputPrecision = 0 : i32} : (!stage, !stage, !sum) -> !sum
      %tw = "ttg.warp_group_dot_wait"(%t) {pendings = 0 : i32} : (!sum) -> !sum
      %x = arith.subf %tw, %r : !sum
      %y = arith.mulf %e, %x : !sum
      "scf.yield"(%y) : (!sum) -> ()
    }) : (i32, i32, i32, !sum) -> !sum
    "tt.return"(%out) : (!sum) -> ()
  }) {function_type = (!sum, i32) -> !sum, sym_name = "freed"} : () -> ()
  "tt.func"() ({
  ^bb0(%c: !sum, %n: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %k = "ttg.local_alloc"() : () -> !ring
    %v = "ttg.local_alloc"() : () -> !ring
    %rows = "ttg.local_alloc"() : () -> !row
    %full = "ttg.local_alloc"() : () -> !bars
    %empty = "ttg.local_alloc"() : () -> !bars
    %out = "scf.for"(%zero, %n, %one, %c) ({
    ^bb0(%i: i32, %acc: !sum):
      %ks = "ttg.memdesc_index"(%k, %i) : (!ring, i32) -> !stage
      %kf = "ttg.memdesc_index"(%full, %i) : (!bars, i32) -> !one
      %ke = "ttg.memdesc_index"(%empty, %i) : (!bars, i32) -> !one
      "ttg.wait_barrier"(%kf, %zero, %ks) : (!one, i32, !stage) -> ()
      %r = "ttg.local_load"(%rows) : (!row) -> !sum
      %s = "ttg.warp_group_dot"(%ks, %ks, %c) {inputPrecision = 0 : i32} : (!stage, !stage, !sum) -> !sum
      %sw = "ttg.warp_group_dot_wait"(%s) {pendings = 0 : i32} : (!sum) -> !sum
      %e = math.exp2 %sw : !sum
      %h = arith.truncf %e : !sum to tensor<32x32xf16, #acc>
      %p = "ttg.convert_layout"(%h) : (tensor<32x32xf16, #acc>) -> !left
      %t = "ttg.warp_group_dot"(%p, %ks, %c) {inputPrecision = 0 : i32} : (!left, !stage, !sum) -> !sum
      %tw = "ttg.warp_group_dot_wait"(%t) {pendings = 0 : i32} : (!sum) -> !sum
      %x = arith.subf %tw, %r : !sum
      %y = arith.mulf %e, %x : !sum
      "scf.yield"(%y) : (!sum) -> ()
    }) : (i32, i32, i32, !sum) -> !sum
    "tt.return"(%out) : (!sum) -> ()
  }) {function_type = (!sum, i32) -> !sum, sym_name = "dependent"} : () -> ()
}
