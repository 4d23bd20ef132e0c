// Before the outermost loop it is asked whether hardware takes the surface; the loop is there twice,
// each with descriptors of its own. A block that may begin at an odd
// element, of two bytes, is always by elements.
// RUN: version-tiles

// CHECK: %[[P:.*]] = "tt.ptr_to_int"
// CHECK: %[[C:.*]] = arith.andi {{.*}} : i1
// CHECK: scf.if
// CHECK: %[[D:.*]] = "tt.make_tensor_descriptor"
// CHECK: scf.for
// CHECK: "ttig.tile_load"(%[[D]], %{{.*}}) : (!tt.tensordesc
// CHECK: scf.yield
// CHECK: scf.yield
// CHECK: } else {
// CHECK: %[[E:.*]] = "tt.make_tensor_descriptor"
// CHECK: scf.for
// CHECK: "ttig.tile_load"(%[[E]], %{{.*}}) {by_elements}
// CHECK: scf.yield
// CHECK: scf.yield
// CHECK: "ttig.tile_load"({{.*}}) {by_elements} : {{.*}} -> tensor<32x64xf16
// CHECK-NOT: scf.if
#c = #ttig.dpas<{executionSize = 16 : i64, opsPerChan = 2 : i64, repCluster = [1, 4], repeatCount = 8 : i64, systolicDepth = 8 : i64, threadsPerWarp = 16 : i64, warpsPerCTA = [2, 1]}>
#b = #ttg.dot_op<{kWidth = 2 : i64, opIdx = 1 : i64, parent = #c}>
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%p: !tt.ptr<f16, 1>, %n: i32, %s: i64, %z: tensor<32x64xf16, #b>):
    %one = "arith.constant"() {value = 1 : i64} : () -> i64
    %low = "arith.constant"() {value = 0 : i32} : () -> i32
    %step = "arith.constant"() {value = 32 : i32} : () -> i32
    %d = "tt.make_tensor_descriptor"(%p, %n, %n, %s, %one) {operandSegmentSizes = array<i32: 1, 2, 2>, padding = 1 : i32} : (!tt.ptr<f16, 1>, i32, i32, i64, i64) -> !tt.tensordesc<tensor<32x64xf16>>
    %0 = "scf.for"(%low, %n, %step, %z) ({
    ^bb1(%i: i32, %x: tensor<32x64xf16, #b>):
      %1 = "ttig.tile_load"(%d, %i, %low) : (!tt.tensordesc<tensor<32x64xf16>>, i32, i32) -> tensor<32x64xf16, #b>
      %2 = "arith.addf"(%x, %1) : (tensor<32x64xf16, #b>, tensor<32x64xf16, #b>) -> tensor<32x64xf16, #b>
      "scf.yield"(%2) : (tensor<32x64xf16, #b>) -> ()
    }) : (i32, i32, i32, tensor<32x64xf16, #b>) -> tensor<32x64xf16, #b>
    %3 = "ttig.tile_load"(%d, %low, %n) : (!tt.tensordesc<tensor<32x64xf16>>, i32, i32) -> tensor<32x64xf16, #b>
    "tt.return"() : () -> ()
  }) {function_type = (!tt.ptr<f16, 1>, i32, i64, tensor<32x64xf16, #b>) -> (), sym_name = "f"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 16 : i32} : () -> ()
