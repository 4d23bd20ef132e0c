// What is added to a dot's accumulators, or subtracted from them, is what it starts from, where that is a row of a block.
// RUN: preload-accumulator

// the second dot starts from the negated row, which is read before it; nothing is subtracted behind the wait
// CHECK-LABEL: "tt.func"
// CHECK: "ttg.warp_group_dot"(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}) {
// CHECK-NEXT: %[[D:.*]] = "ttg.local_load"
// CHECK-NEXT: %[[E:.*]] = "tt.expand_dims"(%[[D]])
// CHECK-NEXT: %[[F:.*]] = "tt.broadcast"(%[[E]])
// CHECK-NEXT: %[[N:.*]] = arith.negf %[[F]]
// CHECK-NEXT: %[[T:.*]] = "ttg.warp_group_dot"(%{{[^,]*}}, %{{[^,]*}}, %[[N]]) {
// CHECK-NEXT: "ttg.warp_group_dot_wait"
// CHECK-NEXT: %[[X:.*]] = "ttg.warp_group_dot_wait"(%[[T]])
// CHECK-NEXT: "tt.print"(%[[X]])

// the row comes behind the dot: it starts from zeros
// CHECK-LABEL: "tt.func"
// CHECK: "ttg.warp_group_dot"(%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}) {
// CHECK-NEXT: "ttg.wait_barrier"
// CHECK: arith.addf
#acc = #ttg.blocked<{order = [1, 0], sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1]}>
#slice = #ttg.slice<{dim = 0 : i64, parent = #acc}>
!tile = !ttg.memdesc<array<i64: 64, 64>, f16, #ttg.swizzled_shared<{maxPhase = 1 : i64, order = [1, 0], perPhase = 1 : i64, vec = 1 : i64}>, #ttg.shared_memory, true, array<i64: 64, 64>>
!row = !ttg.memdesc<array<i64: 64>, f32, #ttg.swizzled_shared<{maxPhase = 1 : i64, order = [0], perPhase = 1 : i64, vec = 1 : i64}>, #ttg.shared_memory, true, array<i64: 64>>
!barrier = !ttg.memdesc<array<i64: 1>, i64, #ttg.swizzled_shared<{maxPhase = 1 : i64, order = [0], perPhase = 1 : i64, vec = 1 : i64}>, #ttg.shared_memory, true, array<i64: 1>>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  "tt.func"() ({
  ^bb0(%arg0: !tile, %arg1: !tile, %arg2: !row, %arg3: !row, %arg4: !barrier, %arg5: tensor<64x64xf32, #acc>, %arg6: tensor<64xf32, #slice>):
    %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #acc>
    %false = arith.constant false
    %c0_i32 = arith.constant 0 : i32
    "ttg.wait_barrier"(%arg4, %c0_i32, %arg2) : (!barrier, i32, !row) -> ()
    %1 = "ttg.warp_group_dot"(%arg0, %arg1, %cst, %false) {inputPrecision = 0 : i32} : (!tile, !tile, tensor<64x64xf32, #acc>, i1) -> tensor<64x64xf32, #acc>
    %2 = "ttg.warp_group_dot"(%arg0, %arg1, %cst, %false) {inputPrecision = 0 : i32} : (!tile, !tile, tensor<64x64xf32, #acc>, i1) -> tensor<64x64xf32, #acc>
    %3 = "ttg.warp_group_dot_wait"(%1) {pendings = 1 : i32} : (tensor<64x64xf32, #acc>) -> tensor<64x64xf32, #acc>
    %4 = "ttg.local_load"(%arg2) : (!row) -> tensor<64xf32, #slice>
    %5 = "tt.expand_dims"(%4) {axis = 0 : i32} : (tensor<64xf32, #slice>) -> tensor<1x64xf32, #acc>
    %6 = "tt.broadcast"(%5) : (tensor<1x64xf32, #acc>) -> tensor<64x64xf32, #acc>
    %7 = "ttg.warp_group_dot_wait"(%2) {pendings = 0 : i32} : (tensor<64x64xf32, #acc>) -> tensor<64x64xf32, #acc>
    %8 = arith.subf %7, %6 : tensor<64x64xf32, #acc>
    "tt.print"(%8) {hex = false, isSigned = array<i32: 0>, prefix = ""} : (tensor<64x64xf32, #acc>) -> ()
    "tt.return"() : () -> ()
  }) {arg_attrs = [{}, {}, {}, {}, {}, {}, {}], function_type = (!tile, !tile, !row, !row, !barrier, tensor<64x64xf32, #acc>, tensor<64xf32, #slice>) -> (), sym_name = "k", sym_visibility = "public"} : () -> ()
  "tt.func"() ({
  ^bb0(%arg0: !tile, %arg1: !tile, %arg2: !row, %arg3: !row, %arg4: !barrier, %arg5: tensor<64x64xf32, #acc>, %arg6: tensor<64xf32, #slice>):
    %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #acc>
    %false = arith.constant false
    %c0_i32 = arith.constant 0 : i32
    "ttg.wait_barrier"(%arg4, %c0_i32, %arg2) : (!barrier, i32, !row) -> ()
    %2 = "ttg.warp_group_dot"(%arg0, %arg1, %cst, %false) {inputPrecision = 0 : i32} : (!tile, !tile, tensor<64x64xf32, #acc>, i1) -> tensor<64x64xf32, #acc>
    "ttg.wait_barrier"(%arg4, %c0_i32, %arg2) : (!barrier, i32, !row) -> ()
    %4 = "ttg.local_load"(%arg2) : (!row) -> tensor<64xf32, #slice>
    %5 = "tt.expand_dims"(%4) {axis = 0 : i32} : (tensor<64xf32, #slice>) -> tensor<1x64xf32, #acc>
    %6 = "tt.broadcast"(%5) : (tensor<1x64xf32, #acc>) -> tensor<64x64xf32, #acc>
    %7 = "ttg.warp_group_dot_wait"(%2) {pendings = 0 : i32} : (tensor<64x64xf32, #acc>) -> tensor<64x64xf32, #acc>
    %8 = arith.addf %6, %7 : tensor<64x64xf32, #acc>
    "tt.print"(%8) {hex = false, isSigned = array<i32: 0>, prefix = ""} : (tensor<64x64xf32, #acc>) -> ()
    "tt.return"() : () -> ()
  }) {arg_attrs = [{}, {}, {}, {}, {}, {}, {}], function_type = (!tile, !tile, !row, !row, !barrier, tensor<64x64xf32, #acc>, tensor<64xf32, #slice>) -> (), sym_name = "later", sym_visibility = "public"} : () -> ()
}
