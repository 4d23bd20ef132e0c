// RUN: lower-descriptors-to-tma, subtile-epilogue
//
// 24 KiB of shared memory do not hold a tile of 32 KiB: halves go one after the other, through a descriptor of halves.

#b = #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>
!d = !tt.tensordesc<tensor<64x256xf16>>
!t = tensor<64x256xf16, #b>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, "ttg.num-ctas" = 1 : i32} {
  "tt.func"() ({
  ^bb0(%p: !tt.ptr<f16, "global">, %n: i32, %i: i32, %j: i32, %one: i64, %x: !t):
    // CHECK: ^bb0({{.*}}: i32, %[[I:[a-z0-9]+]]: i32, %[[J:[a-z0-9]+]]: i32, {{.*}}: i64, {{.*}}: tensor
    // CHECK-NEXT: %[[D:.*]] = "tt.make_tensor_descriptor"{{.*}} -> !tt.tensordesc<tensor<64x128xf16, #ttg.swizzled_shared
    // CHECK-NOT: "tt.make_tensor_descriptor"
    %d = "tt.make_tensor_descriptor"(%p, %n, %n, %one, %one) {operandSegmentSizes = array<i32: 1, 2, 2>} : (!tt.ptr<f16, "global">, i32, i32, i64, i64) -> !d
    // CHECK: %[[H:.*]]:2 = "tt.split"
    // CHECK-NEXT: %[[F:.*]] = "ttg.local_alloc"(%[[H]]#0) {alignment = 128 : i32}
    // CHECK-NEXT: "ttg.fence_async_shared"
    // CHECK-NEXT: "ttg.async_copy_local_to_descriptor"(%[[D]], %[[I]], %[[J]], %[[F]])
    // CHECK-NEXT: %[[S:.*]] = "ttg.local_alloc"(%[[H]]#1)
    // CHECK-NEXT: "ttg.fence_async_shared"
    // CHECK-NEXT: %[[C:.*]] = arith.constant 128 : i32
    // CHECK-NEXT: %[[K:.*]] = arith.addi %[[J]], %[[C]]
    // CHECK-NEXT: "ttg.async_copy_local_to_descriptor"(%[[D]], %[[I]], %[[K]], %[[S]])
    "tt.descriptor_store"(%d, %x, %i, %j) : (!d, !t, i32, i32) -> ()
    // CHECK: "ttg.async_copy_local_to_descriptor"(%[[D]], %[[I]], %[[J]], {{.*}}) {kind = 1 : i32}
    // CHECK: "ttg.async_copy_local_to_descriptor"(%[[D]], %[[I]], {{.*}}) {kind = 1 : i32}
    // CHECK-NOT: "ttg.async_copy_local_to_descriptor"
    "tt.descriptor_reduce"(%d, %x, %i, %j) {kind = 1 : i32} : (!d, !t, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {sym_name = "f", function_type = (!tt.ptr<f16, "global">, i32, i32, i32, i64, !t) -> ()} : () -> ()
}
