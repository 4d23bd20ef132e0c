// Both blocks are loaded and put into their buffers before either is read.
// RUN: convert-triton-to-tritongpu, accelerate-matmul, remove-layout-conversions, stage-matrix-operands, reorder-instructions

// CHECK: "tt.load"
// CHECK: %[[A:.*]] = "ttg.local_alloc"
// CHECK-NOT: "ttg.local_load"
// CHECK: "tt.load"
// CHECK: %[[B:.*]] = "ttg.local_alloc"
// CHECK-DAG: %[[X:.*]] = "ttg.local_load"(%[[A]])
// CHECK-DAG: %[[Y:.*]] = "ttg.local_load"(%[[B]])
// CHECK: "tt.dot"(%[[X]], %[[Y]],
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%p: tensor<64x32x!tt.ptr<f16, "global">>, %q: tensor<32x64x!tt.ptr<f16, "global">>, %c: tensor<64x64xf32>):
    %a = "tt.load"(%p) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<64x32x!tt.ptr<f16, "global">>) -> tensor<64x32xf16>
    %b = "tt.load"(%q) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<32x64x!tt.ptr<f16, "global">>) -> tensor<32x64xf16>
    %x = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32} : (tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    "tt.return"() : () -> ()
  }) {function_type = (tensor<64x32x!tt.ptr<f16, "global">>, tensor<32x64x!tt.ptr<f16, "global">>, tensor<64x64xf32>) -> (), sym_name = "f"} : () -> ()
}) : () -> ()
