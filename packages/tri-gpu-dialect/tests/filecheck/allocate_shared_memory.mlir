// RUN: allocate-shared-memory
//
// Two buffers of 8192 bytes live together; the third, small as it is,
// is kept apart from the one before it; the fourth takes the place of the first.

#b = #ttg.blocked<{order = [1, 0], sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>
#s = #ttg.swizzled_shared<{maxPhase = 1, order = [1, 0], perPhase = 1, vec = 1}>
!m = !ttg.memdesc<array<i64: 64, 32>, f32, #s, #ttg.shared_memory, true, array<i64: 64, 32>>
// CHECK: module attributes {{{.*}}ttg.shared = 24576 : i32
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, "ttg.num-ctas" = 1 : i32} {
  "tt.func"() ({
    %t = arith.constant dense<0.0> : tensor<64x32xf32, #b>
    // CHECK: "ttg.local_alloc"() {allocation.offset = 0 : i32}
    %a = "ttg.local_alloc"() : () -> !m
    // CHECK: "ttg.local_alloc"() {allocation.offset = 8192 : i32}
    %c = "ttg.local_alloc"() : () -> !m
    %x = "ttg.local_load"(%a) : (!m) -> tensor<64x32xf32, #b>
    // CHECK: "ttg.local_alloc"() {allocation.offset = 16384 : i32}
    %d = "ttg.local_alloc"() : () -> !m
    %y = "ttg.local_load"(%c) : (!m) -> tensor<64x32xf32, #b>
    %z = "ttg.local_load"(%d) : (!m) -> tensor<64x32xf32, #b>
    // CHECK: "ttg.local_alloc"() {allocation.offset = 0 : i32}
    %e = "ttg.local_alloc"() : () -> !m
    %w = "ttg.local_load"(%e) : (!m) -> tensor<64x32xf32, #b>
    "tt.return"() : () -> ()
  }) {sym_name = "f", function_type = () -> ()} : () -> ()
}
