// What changes warps on its way to a matrix instruction goes through a swizzled buffer.
// RUN: convert-triton-to-tritongpu, accelerate-matmul, stage-matrix-operands

// CHECK: %[[M:.*]] = "ttg.local_alloc"(%arg0) : {{.*}} -> !ttg.memdesc<array<i64: 64, 32>, f16, #ttg.swizzled_shared
// CHECK: %[[A:.*]] = "ttg.local_load"(%[[M]]) : {{.*}} -> tensor<64x32xf16, #ttg.dot_op<{kWidth = 2 : i64, opIdx = 0 : i64
// CHECK: "tt.dot"(%[[A]],
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%a: tensor<64x32xf16>, %b: tensor<32x64xf16>, %c: tensor<64x64xf32>):
    %x = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32} : (tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    "tt.return"() : () -> ()
  }) {function_type = (tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>) -> (), sym_name = "f"} : () -> ()
}) : () -> ()
