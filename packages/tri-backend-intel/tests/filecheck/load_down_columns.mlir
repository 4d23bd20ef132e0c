// What becomes a right operand element by element is loaded with 8 neighbours along k in a thread; a left operand stays in rows, and
// so does what is no operand.
// RUN: load-down-columns

// CHECK: "tt.load"{{.*}} -> tensor<64x128xi32, #ttg.blocked<{order = [1, 0], sizePerThread = [8, 4]
// CHECK: "tt.load"{{.*}} -> tensor<64x64xf16, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 4]
// CHECK: "tt.load"{{.*}} -> tensor<64x128xi32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 4]
#b = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [1, 16], warpsPerCTA = [4, 2], order = [1, 0]}>
#left = #ttg.dot_op<{opIdx = 0 : i64, parent = #b, kWidth = 0 : i64}>
#right = #ttg.dot_op<{opIdx = 1 : i64, parent = #b, kWidth = 0 : i64}>
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%p: tensor<64x128x!tt.ptr<i32, 1>, #b>, %q: tensor<64x64x!tt.ptr<f16, 1>, #b>, %c: tensor<64x128xf32, #b>):
    %0 = "tt.load"(%p) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<64x128x!tt.ptr<i32, 1>, #b>) -> tensor<64x128xi32, #b>
    %1 = "arith.sitofp"(%0) : (tensor<64x128xi32, #b>) -> tensor<64x128xf16, #b>
    %2 = "tt.load"(%q) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<64x64x!tt.ptr<f16, 1>, #b>) -> tensor<64x64xf16, #b>
    %x = "ttg.convert_layout"(%2) : (tensor<64x64xf16, #b>) -> tensor<64x64xf16, #left>
    %y = "ttg.convert_layout"(%1) : (tensor<64x128xf16, #b>) -> tensor<64x128xf16, #right>
    %3 = "tt.dot"(%x, %y, %c) {inputPrecision = 0 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<64x64xf16, #left>, tensor<64x128xf16, #right>, tensor<64x128xf32, #b>) -> tensor<64x128xf32, #b>
    %4 = "tt.load"(%p) {operandSegmentSizes = array<i32: 1, 0, 0>, isVolatile = true} : (tensor<64x128x!tt.ptr<i32, 1>, #b>) -> tensor<64x128xi32, #b>
    "tt.store"(%p, %4) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<64x128x!tt.ptr<i32, 1>, #b>, tensor<64x128xi32, #b>) -> ()
    "tt.return"() : () -> ()
  }) {function_type = (tensor<64x128x!tt.ptr<i32, 1>, #b>, tensor<64x64x!tt.ptr<f16, 1>, #b>, tensor<64x128xf32, #b>) -> (), sym_name = "f"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, "ttg.threads-per-warp" = 16 : i32} : () -> ()
