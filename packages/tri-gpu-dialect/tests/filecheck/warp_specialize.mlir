// Copies of blocks in a partition, dots in the default region; stages and parities are carried on both sides.
// RUN: warp-specialize

// CHECK: %[[A:.*]] = "ttg.local_alloc"() {alignment = 128 : i32, ttg.awaited} : () -> !ttg.memdesc<array<i64: 3, 32, 32>, f16
// CHECK: %[[B:.*]] = "ttg.local_alloc"() {alignment = 128 : i32, ttg.awaited} : () -> !ttg.memdesc<array<i64: 3, 32, 32>, f16
// CHECK: %[[FULL:.*]] = "ttg.local_alloc"() : () -> !ttg.memdesc<array<i64: 3, 1>, i64
// CHECK: %[[EMPTY:.*]] = "ttg.local_alloc"() : () -> !ttg.memdesc<array<i64: 3, 1>, i64
// CHECK: "ttg.init_barrier"({{.*}}) {count = 1 : i32}
// CHECK: "ttg.init_barrier"({{.*}}) {count = 4 : i32}
// CHECK: "ttg.warp_specialize"({{.*}} %[[A]], %[[B]], %[[FULL]], %[[EMPTY]]) ({
// CHECK: "scf.for"
// CHECK: %[[STAGE:.*]] = "ttg.memdesc_index"(%[[A]], %[[S:.*]]) :
// CHECK: %[[READY:.*]] = "ttg.memdesc_index"(%[[FULL]], %[[S]])
// CHECK: "ttg.wait_barrier"(%[[READY]], %{{.*}}, %[[STAGE]], %{{.*}})
// CHECK: "ttg.warp_group_dot"(%[[STAGE]],
// CHECK: "ttg.warp_group_dot_wait"
// CHECK: %[[FREE:.*]] = "ttg.memdesc_index"(%[[EMPTY]], %[[S]])
// CHECK: "ttg.arrive_barrier"(%[[FREE]], %[[STAGE]], %{{.*}})
// CHECK-NOT: "tt.descriptor_load"
// CHECK: "tt.descriptor_store"
// CHECK: "ttg.warp_specialize_partitions"
// CHECK: "scf.for"
// CHECK: "ttg.wait_barrier"
// CHECK: "ttg.barrier_expect"({{.*}}) {size = 4096 : i32}
// CHECK: "ttg.async_copy_descriptor_to_local"
// CHECK: "ttg.async_copy_descriptor_to_local"
// CHECK-NOT: "ttg.warp_group_dot"
// CHECK: partitionNumWarps = array<i32: 1>
// CHECK: "ttg.total-num-warps" = 8
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  "tt.func"() ({
  ^bb0(%pa: !tt.ptr<f16, "global">, %pb: !tt.ptr<f16, "global">, %pc: !tt.ptr<f32, "global">, %m: i32, %n: i32, %k: i32):
    %c0_i32 = arith.constant 0 : i32
    %c1_i64 = arith.constant 1 : i64
    %c32_i32 = arith.constant 32 : i32
    %c32_i32_0 = arith.constant 32 : i32
    %f0 = arith.constant dense<0.000000e+00> : tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
    %k64 = arith.extsi %k : i32 to i64
    %n64 = arith.extsi %n : i32 to i64
    %da = "tt.make_tensor_descriptor"(%pa, %m, %k, %k64, %c1_i64) {operandSegmentSizes = array<i32: 1, 2, 2>} : (!tt.ptr<f16, "global">, i32, i32, i64, i64) -> !tt.tensordesc<tensor<32x32xf16>>
    %db = "tt.make_tensor_descriptor"(%pb, %k, %n, %n64, %c1_i64) {operandSegmentSizes = array<i32: 1, 2, 2>} : (!tt.ptr<f16, "global">, i32, i32, i64, i64) -> !tt.tensordesc<tensor<32x32xf16>>
    %dc = "tt.make_tensor_descriptor"(%pc, %m, %n, %n64, %c1_i64) {operandSegmentSizes = array<i32: 1, 2, 2>} : (!tt.ptr<f32, "global">, i32, i32, i64, i64) -> !tt.tensordesc<tensor<32x32xf32>>
    %pid0 = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %pid1 = "tt.get_program_id"() {axis = 1 : i32} : () -> i32
    %om = arith.muli %pid0, %c32_i32_0 : i32
    %on = arith.muli %pid1, %c32_i32_0 : i32
    %0:2 = scf.for %arg6 = %c0_i32 to %k step %c32_i32 iter_args(%arg7 = %f0, %arg8 = %c0_i32) -> (tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>, i32)  : i32 {
      %a = "tt.descriptor_load"(%da, %om, %arg8) : (!tt.tensordesc<tensor<32x32xf16>>, i32, i32) -> tensor<32x32xf16, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
      %b = "tt.descriptor_load"(%db, %arg8, %on) : (!tt.tensordesc<tensor<32x32xf16>>, i32, i32) -> tensor<32x32xf16, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
      %ab = "ttg.local_alloc"(%a) : (tensor<32x32xf16, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> !ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, false, array<i64: 32, 32>>
      %bb = "ttg.local_alloc"(%b) : (tensor<32x32xf16, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> !ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, false, array<i64: 32, 32>>
      %d = "ttg.warp_group_dot"(%ab, %bb, %arg7) {inputPrecision = 0 : i32} : (!ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, false, array<i64: 32, 32>>, !ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, false, array<i64: 32, 32>>, tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
      %w = "ttg.warp_group_dot_wait"(%d) {pendings = 0 : i32} : (tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
      "ttg.local_dealloc"(%ab) : (!ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, false, array<i64: 32, 32>>) -> ()
      "ttg.local_dealloc"(%bb) : (!ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, false, array<i64: 32, 32>>) -> ()
      %kn = arith.addi %arg8, %c32_i32 : i32
      scf.yield %w, %kn : tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>, i32
    }
    "tt.descriptor_store"(%dc, %0#0, %om, %on) : (!tt.tensordesc<tensor<32x32xf32>>, tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {arg_attrs = [{}, {}, {}, {}, {}, {}], function_type = (!tt.ptr<f16, "global">, !tt.ptr<f16, "global">, !tt.ptr<f32, "global">, i32, i32, i32) -> (), noinline = false, sym_name = "f", sym_visibility = "public"} : () -> ()
}
