// A loop that takes its step apart (which tap, which channels) reaches as far as its last tap and the most that a rest can be:
// rows that no mask ends are asked for up to there, before the loop.
// RUN: version-tiles

// CHECK: %[[MOST:.*]] = arith.constant 3 : i64
// CHECK: arith.muli %[[MOST]]
// CHECK: scf.if
// CHECK: scf.for
// CHECK: "ttig.tile_load"({{.*}}) : (!tt.tensordesc
// CHECK: } else {
// CHECK: scf.for
// CHECK: "ttig.tile_load"({{.*}}) {by_elements}
#c = #ttig.dpas<{executionSize = 16 : i64, opsPerChan = 2 : i64, repCluster = [1, 4], repeatCount = 8 : i64, systolicDepth = 8 : i64, threadsPerWarp = 16 : i64, warpsPerCTA = [2, 1]}>
#b = #ttg.dot_op<{kWidth = 2 : i64, opIdx = 1 : i64, parent = #c}>
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%p: !tt.ptr<f16, 1>, %n: i32, %s: i64, %z: tensor<32x64xf16, #b>):
    %one = "arith.constant"() {value = 1 : i64} : () -> i64
    %low = "arith.constant"() {value = 0 : i32} : () -> i32
    %step = "arith.constant"() {value = 1 : i32} : () -> i32
    %four = "arith.constant"() {value = 4 : i32} : () -> i32
    %deep = "arith.constant"() {value = 32 : i32} : () -> i32
    %any = "arith.constant"() {value = 2147483647 : i32} : () -> i32
    %d = "tt.make_tensor_descriptor"(%p, %any, %n, %s, %one) {operandSegmentSizes = array<i32: 1, 2, 2>, padding = 1 : i32} : (!tt.ptr<f16, 1>, i32, i32, i64, i64) -> !tt.tensordesc<tensor<32x64xf16>>
    %0 = "scf.for"(%low, %n, %step, %z) ({
    ^bb1(%i: i32, %x: tensor<32x64xf16, #b>):
      %rest = "arith.remsi"(%i, %four) : (i32, i32) -> i32
      %row = "arith.muli"(%rest, %deep) : (i32, i32) -> i32
      %1 = "ttig.tile_load"(%d, %row, %low) : (!tt.tensordesc<tensor<32x64xf16>>, i32, i32) -> tensor<32x64xf16, #b>
      %2 = "arith.addf"(%x, %1) : (tensor<32x64xf16, #b>, tensor<32x64xf16, #b>) -> tensor<32x64xf16, #b>
      "scf.yield"(%2) : (tensor<32x64xf16, #b>) -> ()
    }) : (i32, i32, i32, tensor<32x64xf16, #b>) -> tensor<32x64xf16, #b>
    "tt.return"() : () -> ()
  }) {function_type = (!tt.ptr<f16, 1>, i32, i64, tensor<32x64xf16, #b>) -> (), sym_name = "f"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 16 : i32} : () -> ()
