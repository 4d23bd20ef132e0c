// A block that a loop loads is fetched some iterations ahead, the first ones before it; what is loaded by elements is not, and what
// is at a place that a load gave is not.
// RUN: prefetch-tiles

// CHECK: "ttig.tile_prefetch"(%[[D:[a-z0-9]*]], %
// CHECK-NEXT: scf.for
// CHECK: %[[K:.*]] = arith.addi
// CHECK: "ttig.tile_prefetch"(%[[D]], %[[K]],
// CHECK: "ttig.tile_load"(%[[D]], %{{.*}}) : (!tt.tensordesc
// CHECK-NOT: tile_prefetch
// CHECK: "ttig.tile_load"(%{{.*}}) {by_elements}
// CHECK-NOT: tile_prefetch
// CHECK: "tt.return"
#c = #ttig.dpas<{executionSize = 16 : i64, opsPerChan = 2 : i64, repCluster = [1, 4], repeatCount = 8 : i64, systolicDepth = 8 : i64, threadsPerWarp = 16 : i64, warpsPerCTA = [2, 1]}>
#b = #ttg.dot_op<{kWidth = 2 : i64, opIdx = 1 : i64, parent = #c}>
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%q: !tt.ptr<i32, 1>, %d: !tt.tensordesc<tensor<32x64xf16>>, %n: i32):
    %low = "arith.constant"() {value = 0 : i32} : () -> i32
    %step = "arith.constant"() {value = 32 : i32} : () -> i32
    "scf.for"(%low, %n, %step) ({
    ^bb1(%i: i32):
      %1 = "ttig.tile_load"(%d, %i, %low) : (!tt.tensordesc<tensor<32x64xf16>>, i32, i32) -> tensor<32x64xf16, #b>
      %2 = "ttig.tile_load"(%d, %i, %low) {by_elements} : (!tt.tensordesc<tensor<32x64xf16>>, i32, i32) -> tensor<32x64xf16, #b>
      %3 = "tt.load"(%q) {operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<i32, 1>) -> i32
      %4 = "ttig.tile_load"(%d, %3, %low) : (!tt.tensordesc<tensor<32x64xf16>>, i32, i32) -> tensor<32x64xf16, #b>
      "scf.yield"() : () -> ()
    }) : (i32, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {function_type = (!tt.ptr<i32, 1>, !tt.tensordesc<tensor<32x64xf16>>, i32) -> (), sym_name = "f"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 16 : i32} : () -> ()
