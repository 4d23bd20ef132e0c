// RUN: convert-triton-to-tritongpu, coalesce, remove-layout-conversions
//
// The rows' maxima: all in the layout of the load, the reduction's result a slice of it.  No conversion.

// CHECK-LABEL: "tt.func"
// CHECK-NOT: "ttg.convert_layout"
"tt.func"() ({
^bb0(%p: !tt.ptr<f32, "global">):
  // the range is wanted as a column and as a row: made twice
  // CHECK-DAG: "tt.make_range"() {{.*}} -> tensor<64xi32, #ttg.slice<{dim = 0
  // CHECK-DAG: "tt.make_range"() {{.*}} -> tensor<64xi32, #ttg.slice<{dim = 1
  %r = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
  %row = "tt.expand_dims"(%r) {axis = 1 : i32} : (tensor<64xi32>) -> tensor<64x1xi32>
  %w = arith.constant dense<64> : tensor<64x1xi32>
  %m = arith.muli %row, %w : tensor<64x1xi32>
  %column = "tt.expand_dims"(%r) {axis = 0 : i32} : (tensor<64xi32>) -> tensor<1x64xi32>
  %a = "tt.broadcast"(%m) : (tensor<64x1xi32>) -> tensor<64x64xi32>
  %b = "tt.broadcast"(%column) : (tensor<1x64xi32>) -> tensor<64x64xi32>
  %o = arith.addi %a, %b : tensor<64x64xi32>
  %ps = "tt.splat"(%p) : (!tt.ptr<f32, "global">) -> tensor<64x64x!tt.ptr<f32, "global">>
  %pp = "tt.addptr"(%ps, %o) : (tensor<64x64x!tt.ptr<f32, "global">>, tensor<64x64xi32>) -> tensor<64x64x!tt.ptr<f32, "global">>
  // CHECK: %[[V:.*]] = "tt.load"({{.*}} -> tensor<64x64xf32, [[L:#ttg.blocked<{order = \[1, 0\], sizePerThread = \[1, 4\], threadsPerWarp = \[2, 16\], warpsPerCTA = \[4, 1\]}>]]>
  %v = "tt.load"(%pp) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<64x64x!tt.ptr<f32, "global">>) -> tensor<64x64xf32>
  // CHECK: "tt.reduce"(%[[V]])
  // CHECK: -> tensor<64xf32, #ttg.slice<{dim = 1 : i64, parent = [[L]]}>>
  %x = "tt.reduce"(%v) ({
  ^bb0(%c: f32, %d: f32):
    %e = arith.maxnumf %c, %d : f32
    "tt.reduce_return"(%e) : (f32) -> ()
  }) {axis = 1 : i32} : (tensor<64x64xf32>) -> tensor<64xf32>
  // CHECK: "tt.expand_dims"({{.*}} -> tensor<64x1xf32, [[L]]>
  %y = "tt.expand_dims"(%x) {axis = 1 : i32} : (tensor<64xf32>) -> tensor<64x1xf32>
  %z = "tt.broadcast"(%y) : (tensor<64x1xf32>) -> tensor<64x64xf32>
  // CHECK: arith.subf %[[V]], {{.*}} : tensor<64x64xf32, [[L]]>
  %s = arith.subf %v, %z : tensor<64x64xf32>
  "tt.store"(%pp, %s) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<64x64x!tt.ptr<f32, "global">>, tensor<64x64xf32>) -> ()
  "tt.return"() : () -> ()
}) {sym_name = "f", function_type = (!tt.ptr<f32, "global">) -> (), arg_attrs = [{tt.divisibility = 16 : i32}]} : () -> ()
