// A launch makes the first descriptor, the kernel the others: in a loop, anew; of what may be empty, of one element of its own memory then.
// RUN: create-tensormaps
// CHECK: "tt.make_tensor_descriptor"(%[[P:.*]], %[[N:.*]], %[[N]]
// CHECK: scf.for
// CHECK: "ttg.async_store_wait"() {complete, pendings = 0 : i32}
// CHECK: %[[M:.*]] = "ttg.global_scratch_alloc"() {alignment = 128 : i32, nbytes = 256 : i32}
// CHECK: %[[NONE:.*]] = arith.cmpi sle, %[[SIZE:.*]], %{{.*}} : i32
// CHECK: %[[NONE2:.*]] = arith.cmpi sle, %[[N]], %{{.*}} : i32
// CHECK: %[[EMPTY:.*]] = arith.ori %[[NONE]], %[[NONE2]]
// CHECK: %[[C128:.*]] = arith.constant 128 : i32
// CHECK: %[[ELEMENT:.*]] = "tt.addptr"(%[[M]], %[[C128]])
// CHECK: scf.if %[[EMPTY]]
// CHECK: arith.constant -1 : i64
// CHECK-COUNT-2: "tt.store"
// CHECK: "ttg.fence_async_shared"() {global}
// CHECK: %[[THERE:.*]] = "tt.bitcast"(%[[ELEMENT]])
// CHECK: %[[BASE:.*]] = arith.select %[[EMPTY]], %[[THERE]], %[[P]]
// CHECK: %[[ROWS:.*]] = arith.select %[[EMPTY]], %{{.*}}, %[[SIZE]]
// CHECK: %[[COLUMNS:.*]] = arith.select %[[EMPTY]], %{{.*}}, %[[N]]
// CHECK: %[[D:.*]] = "ttg.tensormap_create"(%[[M]], %[[BASE]], %[[ROWS]], %[[COLUMNS]], %{{.*}}, %{{.*}}) {{.*}}padding = 2 : i32
// CHECK: "ttg.async_copy_local_to_descriptor"(%[[D]]
// CHECK-NOT: "ttg.async_store_wait"
// CHECK: %[[M2:.*]] = "ttg.global_scratch_alloc"() {alignment = 128 : i32, nbytes = 128 : i32}
// CHECK: "ttg.tensormap_create"(%[[M2]], %{{.*}}) {operandSegmentSizes = array<i32: 1, 1, 2, 2>}
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  "tt.func"() ({
  ^bb0(%arg0: !tt.ptr<f16, "global">, %arg1: i32, %arg2: i64):
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c8_i32 = arith.constant 8 : i32
    %c1_i64 = arith.constant 1 : i64
    %true = arith.constant true
    %0 = "ttg.local_alloc"() : () -> !ttg.memdesc<array<i64: 8, 64>, f16, #ttg.swizzled_shared<{maxPhase = 1 : i64, order = [1, 0], perPhase = 1 : i64, vec = 1 : i64}>, #ttg.shared_memory, true, array<i64: 8, 64>>
    %1 = "ttg.local_alloc"() : () -> !ttg.memdesc<array<i64: 1>, i64, #ttg.swizzled_shared<{maxPhase = 1 : i64, order = [0], perPhase = 1 : i64, vec = 1 : i64}>, #ttg.shared_memory, true, array<i64: 1>>
    %2 = "tt.make_tensor_descriptor"(%arg0, %arg1, %arg1, %arg2, %c1_i64) {operandSegmentSizes = array<i32: 1, 2, 2>} : (!tt.ptr<f16, "global">, i32, i32, i64, i64) -> !tt.tensordesc<tensor<8x64xf16, #ttg.swizzled_shared<{maxPhase = 1 : i64, order = [1, 0], perPhase = 1 : i64, vec = 1 : i64}>>>
    "ttg.async_copy_local_to_descriptor"(%2, %c0_i32, %c0_i32, %0) : (!tt.tensordesc<tensor<8x64xf16, #ttg.swizzled_shared<{maxPhase = 1 : i64, order = [1, 0], perPhase = 1 : i64, vec = 1 : i64}>>>, i32, i32, !ttg.memdesc<array<i64: 8, 64>, f16, #ttg.swizzled_shared<{maxPhase = 1 : i64, order = [1, 0], perPhase = 1 : i64, vec = 1 : i64}>, #ttg.shared_memory, true, array<i64: 8, 64>>) -> ()
    scf.for %arg3 = %c0_i32 to %arg1 step %c1_i32  : i32 {
      %3 = arith.muli %arg3, %arg1 : i32
      %4 = "tt.make_tensor_descriptor"(%arg0, %3, %arg1, %arg2, %c1_i64) {operandSegmentSizes = array<i32: 1, 2, 2>, padding = 2 : i32} : (!tt.ptr<f16, "global">, i32, i32, i64, i64) -> !tt.tensordesc<tensor<8x64xf16, #ttg.swizzled_shared<{maxPhase = 1 : i64, order = [1, 0], perPhase = 1 : i64, vec = 1 : i64}>>>
      "ttg.async_copy_local_to_descriptor"(%4, %c0_i32, %c0_i32, %0) : (!tt.tensordesc<tensor<8x64xf16, #ttg.swizzled_shared<{maxPhase = 1 : i64, order = [1, 0], perPhase = 1 : i64, vec = 1 : i64}>>>, i32, i32, !ttg.memdesc<array<i64: 8, 64>, f16, #ttg.swizzled_shared<{maxPhase = 1 : i64, order = [1, 0], perPhase = 1 : i64, vec = 1 : i64}>, #ttg.shared_memory, true, array<i64: 8, 64>>) -> ()
      %5 = "tt.addptr"(%arg0, %3) : (!tt.ptr<f16, "global">, i32) -> !tt.ptr<f16, "global">
      %6 = "tt.make_tensor_descriptor"(%5, %c8_i32, %c8_i32, %arg2, %c1_i64) {operandSegmentSizes = array<i32: 1, 2, 2>} : (!tt.ptr<f16, "global">, i32, i32, i64, i64) -> !tt.tensordesc<tensor<8x64xf16, #ttg.swizzled_shared<{maxPhase = 1 : i64, order = [1, 0], perPhase = 1 : i64, vec = 1 : i64}>>>
      "ttg.async_copy_descriptor_to_local"(%6, %c0_i32, %c0_i32, %1, %0, %true) : (!tt.tensordesc<tensor<8x64xf16, #ttg.swizzled_shared<{maxPhase = 1 : i64, order = [1, 0], perPhase = 1 : i64, vec = 1 : i64}>>>, i32, i32, !ttg.memdesc<array<i64: 1>, i64, #ttg.swizzled_shared<{maxPhase = 1 : i64, order = [0], perPhase = 1 : i64, vec = 1 : i64}>, #ttg.shared_memory, true, array<i64: 1>>, !ttg.memdesc<array<i64: 8, 64>, f16, #ttg.swizzled_shared<{maxPhase = 1 : i64, order = [1, 0], perPhase = 1 : i64, vec = 1 : i64}>, #ttg.shared_memory, true, array<i64: 8, 64>>, i1) -> ()
    }
    "tt.return"() : () -> ()
  }) {arg_attrs = [{}, {}, {}], function_type = (!tt.ptr<f16, "global">, i32, i64) -> (), sym_name = "f", sym_visibility = "public"} : () -> ()
}
