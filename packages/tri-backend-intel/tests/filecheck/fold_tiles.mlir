// Operands of DPAS are loaded into their layout, of a transpose too where hardware can; a result is stored from its own, with what
// is computed of it element by element. A load that goes elsewhere, and A of a transposed matrix of bytes, stay.
// RUN: fold-tiles

// CHECK: %[[A:.*]] = "ttig.tile_load"(%{{.*}}) {by_elements} : (!tt.tensordesc<tensor<16x32xf16>>, i32, i32) -> tensor<16x32xf16, #ttg.dot_op<{kWidth = 1 : i64, opIdx = 0
// CHECK: %[[B:.*]] = "ttig.tile_load"(%{{.*}}) {by_elements, transposed} : (!tt.tensordesc<tensor<64x32xf16>>, i32, i32) -> tensor<32x64xf16, #ttg.dot_op
// CHECK: %[[C:.*]] = "tt.dot"(%[[A]], %[[B]],
// CHECK: %[[O:.*]] = arith.constant dense<1.000000e+00> : tensor<16x64xf32, #ttig.dpas
// CHECK: %[[S:.*]] = arith.addf %[[C]], %[[O]] :
// CHECK: %[[N:.*]] = arith.truncf %[[S]] :
// CHECK: "ttig.tile_store"(%{{.*}}, %[[N]],
// CHECK: "ttig.tile_load"(%{{.*}}) {by_elements, transposed} : (!tt.tensordesc<tensor<32x16xf32>>, i32, i32) -> tensor<16x32xf32, #ttg.dot_op<{kWidth = 1 : i64, opIdx = 0
// CHECK: "tt.descriptor_load"({{.*}} -> tensor<16x32xi8
// CHECK: "ttg.convert_layout"
// CHECK: "tt.descriptor_load"({{.*}} -> tensor<16x32xf16
// CHECK: "tt.descriptor_store"
#c = #ttig.dpas<{executionSize = 16 : i64, opsPerChan = 2 : i64, repCluster = [1, 4], repeatCount = 8 : i64, systolicDepth = 8 : i64, threadsPerWarp = 16 : i64, warpsPerCTA = [2, 1]}>
#n = #ttig.dpas<{executionSize = 16 : i64, opsPerChan = 4 : i64, repCluster = [1, 4], repeatCount = 8 : i64, systolicDepth = 8 : i64, threadsPerWarp = 16 : i64, warpsPerCTA = [2, 1]}>
#a = #ttg.dot_op<{kWidth = 1 : i64, opIdx = 0 : i64, parent = #c}>
#b = #ttg.dot_op<{kWidth = 2 : i64, opIdx = 1 : i64, parent = #c}>
#v = #ttig.dpas<{executionSize = 16 : i64, opsPerChan = 1 : i64, repCluster = [1, 4], repeatCount = 8 : i64, systolicDepth = 8 : i64, threadsPerWarp = 16 : i64, warpsPerCTA = [2, 1]}>
#w = #ttg.dot_op<{kWidth = 1 : i64, opIdx = 0 : i64, parent = #v}>
#m = #ttg.dot_op<{kWidth = 2 : i64, opIdx = 0 : i64, parent = #n}>
#l = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 16], warpsPerCTA = [2, 1], order = [1, 0]}>
#t = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [16, 1], warpsPerCTA = [1, 2], order = [0, 1]}>
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%d: !tt.tensordesc<tensor<16x32xf16>>, %e: !tt.tensordesc<tensor<64x32xf16>>, %g: !tt.tensordesc<tensor<16x64xf16>>, %h: !tt.tensordesc<tensor<16x32xi8>>, %t: !tt.tensordesc<tensor<32x16xf32>>, %c: tensor<16x64xf32, #c>, %i: i32):
    %0 = "tt.descriptor_load"(%d, %i, %i) {cache = 1 : i32, evict = 1 : i32} : (!tt.tensordesc<tensor<16x32xf16>>, i32, i32) -> tensor<16x32xf16, #l>
    %a = "ttg.convert_layout"(%0) : (tensor<16x32xf16, #l>) -> tensor<16x32xf16, #a>
    %1 = "tt.descriptor_load"(%e, %i, %i) {cache = 1 : i32, evict = 1 : i32} : (!tt.tensordesc<tensor<64x32xf16>>, i32, i32) -> tensor<64x32xf16, #l>
    %2 = "tt.trans"(%1) {order = array<i32: 1, 0>} : (tensor<64x32xf16, #l>) -> tensor<32x64xf16, #t>
    %b = "ttg.convert_layout"(%2) : (tensor<32x64xf16, #t>) -> tensor<32x64xf16, #b>
    %3 = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32} : (tensor<16x32xf16, #a>, tensor<32x64xf16, #b>, tensor<16x64xf32, #c>) -> tensor<16x64xf32, #c>
    %4 = "ttg.convert_layout"(%3) : (tensor<16x64xf32, #c>) -> tensor<16x64xf32, #l>
    %5 = "arith.constant"() {value = dense<1.0> : tensor<16x64xf32, #l>} : () -> tensor<16x64xf32, #l>
    %6 = "arith.addf"(%4, %5) : (tensor<16x64xf32, #l>, tensor<16x64xf32, #l>) -> tensor<16x64xf32, #l>
    %7 = "arith.truncf"(%6) : (tensor<16x64xf32, #l>) -> tensor<16x64xf16, #l>
    "tt.descriptor_store"(%g, %7, %i, %i) : (!tt.tensordesc<tensor<16x64xf16>>, tensor<16x64xf16, #l>, i32, i32) -> ()
    %12 = "tt.descriptor_load"(%t, %i, %i) {cache = 1 : i32, evict = 1 : i32} : (!tt.tensordesc<tensor<32x16xf32>>, i32, i32) -> tensor<32x16xf32, #l>
    %13 = "tt.trans"(%12) {order = array<i32: 1, 0>} : (tensor<32x16xf32, #l>) -> tensor<16x32xf32, #t>
    %14 = "ttg.convert_layout"(%13) : (tensor<16x32xf32, #t>) -> tensor<16x32xf32, #w>
    %8 = "tt.descriptor_load"(%h, %i, %i) {cache = 1 : i32, evict = 1 : i32} : (!tt.tensordesc<tensor<16x32xi8>>, i32, i32) -> tensor<16x32xi8, #l>
    %9 = "tt.trans"(%8) {order = array<i32: 1, 0>} : (tensor<16x32xi8, #l>) -> tensor<32x16xi8, #t>
    %10 = "ttg.convert_layout"(%9) : (tensor<32x16xi8, #t>) -> tensor<32x16xi8, #m>
    %11 = "tt.descriptor_load"(%d, %i, %i) {cache = 1 : i32, evict = 1 : i32} : (!tt.tensordesc<tensor<16x32xf16>>, i32, i32) -> tensor<16x32xf16, #l>
    "tt.descriptor_store"(%d, %11, %i, %i) : (!tt.tensordesc<tensor<16x32xf16>>, tensor<16x32xf16, #l>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {function_type = (!tt.tensordesc<tensor<16x32xf16>>, !tt.tensordesc<tensor<64x32xf16>>, !tt.tensordesc<tensor<16x64xf16>>, !tt.tensordesc<tensor<16x32xi8>>, !tt.tensordesc<tensor<32x16xf32>>, tensor<16x64xf32, #c>, i32) -> (), sym_name = "f"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 16 : i32} : () -> ()
