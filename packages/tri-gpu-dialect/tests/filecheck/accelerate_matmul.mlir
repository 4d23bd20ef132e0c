// A dot that an instruction fits gets its encoding; one of another type stays; a narrow result is rounded after it.
// RUN: convert-triton-to-tritongpu, accelerate-matmul

// CHECK: %[[A:.*]] = "ttg.convert_layout"(%{{.*}}) : (tensor<64x32xf16, {{.*}}) -> tensor<64x32xf16, #ttg.dot_op<{kWidth = 2 : i64, opIdx = 0 : i64, parent = #refm.matrix<{warpsPerCTA = [2, 2]}>}>>
// CHECK: %[[B:.*]] = "ttg.convert_layout"(%{{.*}}) : (tensor<32x64xf16, {{.*}}) -> tensor<32x64xf16, #ttg.dot_op<{kWidth = 2 : i64, opIdx = 1 : i64
// CHECK: %[[D:.*]] = "tt.dot"(%[[A]], %[[B]], %{{.*}}) {{.*}} -> tensor<64x64xf32, #refm.matrix<{warpsPerCTA = [2, 2]}>>
// CHECK: %[[N:.*]] = "arith.truncf"(%[[D]])
// CHECK: "ttg.convert_layout"(%[[N]]) : {{.*}} -> tensor<64x64xf16, #ttg.blocked
// CHECK: "tt.dot"({{.*}} -> tensor<64x64xi32, #ttg.blocked
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%a: tensor<64x32xf16>, %b: tensor<32x64xf16>, %c: tensor<64x64xf16>, %i: tensor<64x32xi8>, %j: tensor<32x64xi8>, %k: tensor<64x64xi32>):
    %x = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32} : (tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
    %y = "tt.dot"(%i, %j, %k) {inputPrecision = 2 : i32} : (tensor<64x32xi8>, tensor<32x64xi8>, tensor<64x64xi32>) -> tensor<64x64xi32>
    "tt.return"() : () -> ()
  }) {function_type = (tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf16>, tensor<64x32xi8>, tensor<32x64xi8>, tensor<64x64xi32>) -> (), sym_name = "f"} : () -> ()
}) : () -> ()
