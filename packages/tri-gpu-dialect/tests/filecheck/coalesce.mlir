// RUN: convert-triton-to-tritongpu, coalesce
//
// Aligned neighbouring f32 go four at a time; the surroundings keep their layouts.

// CHECK-LABEL: "tt.func"
"tt.func"() ({
^bb0(%p: !tt.ptr<f32, "global">, %q: !tt.ptr<f32, "global">):
  %r = "tt.make_range"() {start = 0 : i32, end = 1024 : i32} : () -> tensor<1024xi32>
  %ps = "tt.splat"(%p) : (!tt.ptr<f32, "global">) -> tensor<1024x!tt.ptr<f32, "global">>
  // CHECK: %[[P:.*]] = "tt.addptr"
  %pp = "tt.addptr"(%ps, %r) : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xi32>) -> tensor<1024x!tt.ptr<f32, "global">>
  // CHECK-NEXT: %[[C:.*]] = "ttg.convert_layout"(%[[P]])
  // CHECK-NEXT: %[[V:.*]] = "tt.load"(%[[C]]) {{.*}} -> tensor<1024xf32, [[FOUR:#ttg.blocked<{order = \[0\], sizePerThread = \[4\], threadsPerWarp = \[32\], warpsPerCTA = \[4\]}>]]>
  // CHECK-NEXT: %[[W:.*]] = "ttg.convert_layout"(%[[V]]) {{.*}} -> tensor<1024xf32, #ttg.blocked<{order = [0], sizePerThread = [1]
  %v = "tt.load"(%pp) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<1024x!tt.ptr<f32, "global">>) -> tensor<1024xf32>
  // CHECK: %[[N:.*]] = arith.negf %[[W]]
  %n = arith.negf %v : tensor<1024xf32>
  %qs = "tt.splat"(%q) : (!tt.ptr<f32, "global">) -> tensor<1024x!tt.ptr<f32, "global">>
  %qp = "tt.addptr"(%qs, %r) : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xi32>) -> tensor<1024x!tt.ptr<f32, "global">>
  // CHECK-COUNT-2: -> tensor<1024x{{.*}}, [[FOUR]]>
  // CHECK-NEXT: "tt.store"
  "tt.store"(%qp, %n) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xf32>) -> ()
  "tt.return"() : () -> ()
}) {sym_name = "f", function_type = (!tt.ptr<f32, "global">, !tt.ptr<f32, "global">) -> (), arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}]} : () -> ()
