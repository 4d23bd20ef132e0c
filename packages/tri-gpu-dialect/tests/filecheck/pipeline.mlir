// Loads of a dot's operands become copies, two iterations ahead, in three stages; addresses run ahead with them.
// RUN: convert-triton-to-tritongpu, coalesce, accelerate-matmul, remove-layout-conversions, pipeline

// CHECK: %[[A:.*]] = "ttg.local_alloc"() : () -> !ttg.memdesc<array<i64: 3, 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 4 : i64, order = [1, 0], perPhase = 2 : i64, vec = 8 : i64}>
// CHECK: %[[B:.*]] = "ttg.local_alloc"() : () -> !ttg.memdesc<array<i64: 3, 32, 32>, f16
// CHECK: "ttg.async_copy_global_to_local"
// CHECK: "ttg.async_copy_global_to_local"
// CHECK: "ttg.async_commit_group"
// CHECK: "ttg.async_copy_global_to_local"
// CHECK: "ttg.async_copy_global_to_local"
// CHECK: "ttg.async_commit_group"
// CHECK: "scf.for"
// CHECK: "ttg.async_wait"() {num = 1 : i32}
// CHECK: "ttg.async_copy_global_to_local"
// CHECK: "tt.addptr"
// CHECK: "ttg.async_commit_group"
// CHECK: %[[X:.*]] = "ttg.local_load"({{.*}} -> tensor<32x32xf16, #ttg.dot_op<{kWidth = 2 : i64, opIdx = 0 : i64, parent = #refm.matrix
// CHECK: %[[Y:.*]] = "ttg.local_load"({{.*}} -> tensor<32x32xf16, #ttg.dot_op<{kWidth = 2 : i64, opIdx = 1 : i64
// CHECK-NEXT: "tt.dot"(%[[X]], %[[Y]],
// CHECK-NOT: "tt.load"
// CHECK: "ttg.async_wait"() {num = 0 : i32}
// CHECK: "ttg.local_dealloc"(%[[A]])
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%a: !tt.ptr<f16, "global">, %b: !tt.ptr<f16, "global">, %c: tensor<32x32xf32>, %n: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %along = "tt.make_range"() {start = 0 : i32, end = 32 : i32} : () -> tensor<32xi32>
    %row = "tt.expand_dims"(%along) {axis = 0 : i32} : (tensor<32xi32>) -> tensor<1x32xi32>
    %column = "tt.expand_dims"(%along) {axis = 1 : i32} : (tensor<32xi32>) -> tensor<32x1xi32>
    %width = arith.constant dense<32> : tensor<32x1xi32>
    %scaled = arith.muli %column, %width : tensor<32x1xi32>
    %rows = "tt.broadcast"(%row) : (tensor<1x32xi32>) -> tensor<32x32xi32>
    %columns = "tt.broadcast"(%scaled) : (tensor<32x1xi32>) -> tensor<32x32xi32>
    %square = arith.addi %rows, %columns : tensor<32x32xi32>
    %as = "tt.splat"(%a) : (!tt.ptr<f16, "global">) -> tensor<32x32x!tt.ptr<f16, "global">>
    %bs = "tt.splat"(%b) : (!tt.ptr<f16, "global">) -> tensor<32x32x!tt.ptr<f16, "global">>
    %a0 = "tt.addptr"(%as, %square) : (tensor<32x32x!tt.ptr<f16, "global">>, tensor<32x32xi32>) -> tensor<32x32x!tt.ptr<f16, "global">>
    %b0 = "tt.addptr"(%bs, %square) : (tensor<32x32x!tt.ptr<f16, "global">>, tensor<32x32xi32>) -> tensor<32x32x!tt.ptr<f16, "global">>
    %step = arith.constant dense<1024> : tensor<32x32xi32>
    %r:2 = scf.for %i = %zero to %n step %one iter_args(%acc = %c, %at = %a0) -> (tensor<32x32xf32>, tensor<32x32x!tt.ptr<f16, "global">>) : i32 {
      %x = "tt.load"(%at) {cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<32x32x!tt.ptr<f16, "global">>) -> tensor<32x32xf16>
      %y = "tt.load"(%b0) {cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<32x32x!tt.ptr<f16, "global">>) -> tensor<32x32xf16>
      %next = "tt.dot"(%x, %y, %acc) {inputPrecision = 2 : i32} : (tensor<32x32xf16>, tensor<32x32xf16>, tensor<32x32xf32>) -> tensor<32x32xf32>
      %following = "tt.addptr"(%at, %step) : (tensor<32x32x!tt.ptr<f16, "global">>, tensor<32x32xi32>) -> tensor<32x32x!tt.ptr<f16, "global">>
      scf.yield %next, %following : tensor<32x32xf32>, tensor<32x32x!tt.ptr<f16, "global">>
    }
    %narrow = arith.truncf %r#0 : tensor<32x32xf32> to tensor<32x32xf16>
    "tt.store"(%as, %narrow) {cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<32x32x!tt.ptr<f16, "global">>, tensor<32x32xf16>) -> ()
    "tt.return"() : () -> ()
  }) {function_type = (!tt.ptr<f16, "global">, !tt.ptr<f16, "global">, tensor<32x32xf32>, i32) -> (), sym_name = "f", arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {}, {}]} : () -> ()
}) : () -> ()
