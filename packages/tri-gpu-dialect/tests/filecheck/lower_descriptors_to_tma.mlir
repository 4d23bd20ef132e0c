// RUN: lower-descriptors-to-tma
//
// A load is a copy that is waited for.  A block that only goes to a buffer is copied there; that buffer is swizzled, so
// the descriptor becomes two.  A store goes through a buffer.

#b = #ttg.blocked<{order = [1, 0], sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>
#r = #ttg.swizzled_shared<{maxPhase = 1, order = [1, 0], perPhase = 1, vec = 1}>
#s = #ttg.swizzled_shared<{maxPhase = 8, order = [1, 0], perPhase = 1, vec = 8}>
!d = !tt.tensordesc<tensor<64x32xf16>>
!t = tensor<64x32xf16, #b>
!m = !ttg.memdesc<array<i64: 64, 32>, f16, #s, #ttg.shared_memory, false, array<i64: 64, 32>>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, "ttg.num-ctas" = 1 : i32} {
  "tt.func"() ({
  ^bb0(%p: !tt.ptr<f16, "global">, %n: i32, %i: i32, %one: i64):
    // CHECK: "tt.make_tensor_descriptor"{{.*}} -> !tt.tensordesc<tensor<64x32xf16, #ttg.swizzled_shared<{maxPhase = 1
    // CHECK-NEXT: "tt.make_tensor_descriptor"{{.*}} -> !tt.tensordesc<tensor<64x32xf16, #ttg.swizzled_shared<{maxPhase = 8
    %d = "tt.make_tensor_descriptor"(%p, %n, %n, %one, %one) {operandSegmentSizes = array<i32: 1, 2, 2>} : (!tt.ptr<f16, "global">, i32, i32, i64, i64) -> !d
    // CHECK: "ttg.init_barrier"({{.*}}) {count = 1 : i32}
    // CHECK: "ttg.barrier_expect"({{.*}}) {size = 4096 : i32}
    // CHECK-NEXT: "ttg.async_copy_descriptor_to_local"
    // CHECK: "ttg.wait_barrier"
    // CHECK-NEXT: "ttg.inval_barrier"
    // CHECK-NEXT: "ttg.local_load"
    %x = "tt.descriptor_load"(%d, %i, %i) : (!d, i32, i32) -> !t
    // CHECK: "ttg.async_copy_descriptor_to_local"
    // CHECK-NOT: "ttg.local_load"
    %y = "tt.descriptor_load"(%d, %i, %i) : (!d, i32, i32) -> !t
    %m = "ttg.local_alloc"(%y) : (!t) -> !m
    // CHECK: %[[Z:.*]] = "ttg.local_load"
    // CHECK-NEXT: arith.addf
    %z = "ttg.local_load"(%m) : (!m) -> !t
    %w = arith.addf %x, %z : !t
    // CHECK: %[[B:.*]] = "ttg.local_alloc"
    // CHECK-NEXT: "ttg.fence_async_shared"
    // CHECK-NEXT: "ttg.async_copy_local_to_descriptor"({{.*}}, %[[B]])
    "tt.descriptor_store"(%d, %w, %i, %i) : (!d, !t, i32, i32) -> ()
    // CHECK: "ttg.async_copy_local_to_descriptor"({{.*}}) {kind = 1 : i32}
    "tt.descriptor_reduce"(%d, %w, %i, %i) {kind = 1 : i32} : (!d, !t, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {sym_name = "f", function_type = (!tt.ptr<f16, "global">, i32, i32, i64) -> ()} : () -> ()
}
