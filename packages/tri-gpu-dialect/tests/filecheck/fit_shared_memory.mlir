// Two buffers of 16 KiB are too much for 24 KiB: the dot is cut in two along k.
// RUN: convert-triton-to-tritongpu, stage-dot-operands, remove-layout-conversions, fit-shared-memory

// CHECK-NOT: ttg.local_alloc
// CHECK: "scf.for"
// CHECK: "tt.split"
// CHECK: "tt.split"
// CHECK: %[[A:.*]] = "ttg.local_alloc"{{.*}} -> !ttg.memdesc<array<i64: 32, 64>
// CHECK: %[[B:.*]] = "ttg.local_alloc"{{.*}} -> !ttg.memdesc<array<i64: 64, 32>
// CHECK: %[[FIRST:.*]] = "ttg.local_dot"(%[[A]], %[[B]],
// CHECK: "ttg.local_alloc"
// CHECK: "ttg.local_alloc"
// CHECK: "ttg.local_dot"({{.*}}, %[[FIRST]])
// CHECK-NOT: ttg.local_dot
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%a: tensor<32x128xf32>, %b: tensor<128x32xf32>, %c: tensor<32x32xf32>, %n: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %sum = scf.for %i = %zero to %n step %one iter_args(%acc = %c) -> (tensor<32x32xf32>) : i32 {
      %x = arith.addf %b, %b : tensor<128x32xf32>
      %next = "tt.dot"(%a, %x, %acc) {inputPrecision = 2 : i32} : (tensor<32x128xf32>, tensor<128x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
      scf.yield %next : tensor<32x32xf32>
    }
    "tt.return"() : () -> ()
  }) {function_type = (tensor<32x128xf32>, tensor<128x32xf32>, tensor<32x32xf32>, i32) -> (), sym_name = "f"} : () -> ()
}) : () -> ()
