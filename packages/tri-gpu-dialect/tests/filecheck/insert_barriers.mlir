// RUN: allocate-shared-memory, insert-barriers
//
// A load waits for the store before it; the next iteration's store waits for the load.  Barriers in memory are started by one thread,
// one after the other; then all threads synchronise once.

#b = #ttg.blocked<{order = [1, 0], sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>
#s = #ttg.swizzled_shared<{maxPhase = 1, order = [1, 0], perPhase = 1, vec = 1}>
#v = #ttg.swizzled_shared<{maxPhase = 1, order = [0], perPhase = 1, vec = 1}>
!p = !ttg.memdesc<array<i64: 2, 1>, i64, #v, #ttg.shared_memory, true, array<i64: 2, 1>>
!q = !ttg.memdesc<array<i64: 1>, i64, #v, #ttg.shared_memory, true, array<i64: 1>>
!m = !ttg.memdesc<array<i64: 64, 32>, f32, #s, #ttg.shared_memory, true, array<i64: 64, 32>>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, "ttg.num-ctas" = 1 : i32} {
  "tt.func"() ({
  ^bb0(%n: i32):
    %t = arith.constant dense<0.0> : tensor<64x32xf32, #b>
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %a = "ttg.local_alloc"() : () -> !m
    // CHECK: scf.for
    scf.for %i = %i0 to %n step %i1 : i32 {
      // CHECK-NEXT: "ttg.barrier"() {addrSpace = 1 : i32}
      // CHECK-NEXT: "ttg.local_store"
      "ttg.local_store"(%t, %a) : (tensor<64x32xf32, #b>, !m) -> ()
      // CHECK-NEXT: "ttg.barrier"
      // CHECK-NEXT: "ttg.local_load"
      %x = "ttg.local_load"(%a) : (!m) -> tensor<64x32xf32, #b>
      // CHECK-NEXT: "ttg.local_load"
      %y = "ttg.local_load"(%a) : (!m) -> tensor<64x32xf32, #b>
    }
    // CHECK-NOT: "ttg.barrier"
    "tt.return"() : () -> ()
  }) {sym_name = "f", function_type = (i32) -> ()} : () -> ()
  "tt.func"() ({
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %b = "ttg.local_alloc"() : () -> !p
    %b0 = "ttg.memdesc_index"(%b, %i0) : (!p, i32) -> !q
    %b1 = "ttg.memdesc_index"(%b, %i1) : (!p, i32) -> !q
    // CHECK: "ttg.init_barrier"
    // CHECK-NEXT: "ttg.init_barrier"
    "ttg.init_barrier"(%b0) {count = 1 : i32} : (!q) -> ()
    "ttg.init_barrier"(%b1) {count = 1 : i32} : (!q) -> ()
    // CHECK-NEXT: "ttg.barrier"() {addrSpace = 1 : i32}
    // CHECK-NEXT: "ttg.wait_barrier"
    // CHECK-NEXT: "ttg.wait_barrier"
    "ttg.wait_barrier"(%b0, %i0) : (!q, i32) -> ()
    "ttg.wait_barrier"(%b1, %i0) : (!q, i32) -> ()
    "tt.return"() : () -> ()
  }) {sym_name = "g", function_type = () -> ()} : () -> ()
}
