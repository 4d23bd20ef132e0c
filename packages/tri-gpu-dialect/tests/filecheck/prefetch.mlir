// The first slices of a dot's operands are read before the loop and at its end, behind the wait that is moved there.
// RUN: convert-triton-to-tritongpu, coalesce, accelerate-matmul, remove-layout-conversions, pipeline, prefetch

// CHECK: %[[A:.*]] = "ttg.local_alloc"
// CHECK: %[[B:.*]] = "ttg.local_alloc"
// CHECK: "ttg.async_wait"() {num = 1 : i32}
// CHECK: "ttg.async_copy_global_to_local"
// CHECK: "ttg.async_commit_group"
// CHECK: %[[STAGE:.*]] = "ttg.memdesc_index"(%[[A]],
// CHECK: %[[PART:.*]] = "ttg.memdesc_subslice"(%[[STAGE]]) {offsets = array<i32: 0, 0>}
// CHECK: "ttg.local_load"(%[[PART]]){{.*}} -> tensor<32x8xf16
// CHECK: "ttg.memdesc_subslice"{{.*}}offsets = array<i32: 0, 0>
// CHECK: "ttg.local_load"{{.*}} -> tensor<8x32xf16
// CHECK: "scf.for"
// CHECK-NOT: "ttg.async_wait"
// CHECK: "ttg.memdesc_subslice"{{.*}}offsets = array<i32: 0, 8>
// CHECK: %[[X1:.*]] = "ttg.local_load"
// CHECK: "ttg.memdesc_subslice"{{.*}}offsets = array<i32: 8, 0>
// CHECK: %[[Y1:.*]] = "ttg.local_load"
// CHECK: %[[S0:.*]] = "tt.dot"(%{{.*}}, %{{.*}}, %{{.*}}) {{.*}}tensor<32x8xf16
// CHECK: offsets = array<i32: 0, 16>
// CHECK: %[[S1:.*]] = "tt.dot"(%[[X1]], %[[Y1]], %[[S0]])
// CHECK: offsets = array<i32: 0, 24>
// CHECK: %[[X3:.*]] = "ttg.local_load"
// CHECK: %[[Y3:.*]] = "ttg.local_load"
// CHECK: %[[S2:.*]] = "tt.dot"
// CHECK: "ttg.async_wait"() {num = 1 : i32}
// CHECK: "ttg.async_copy_global_to_local"
// CHECK: "ttg.async_commit_group"
// CHECK: %[[X0:.*]] = "ttg.local_load"
// CHECK: %[[Y0:.*]] = "ttg.local_load"
// CHECK-NEXT: %[[S3:.*]] = "tt.dot"(%[[X3]], %[[Y3]], %[[S2]])
// CHECK: "scf.yield"(%[[S3]],{{.*}} %[[X0]], %[[Y0]])
// CHECK: "ttg.async_wait"() {num = 0 : i32}
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
