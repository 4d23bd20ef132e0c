// The mask of a loop's accesses is true: the loop's variable goes up to 48 in steps of 16, and 48 + 15 < 64.
// RUN: convert-triton-to-tritongpu, fold-comparisons

// CHECK-NOT: arith.cmpi slt
// CHECK: scf.for
// CHECK: "tt.load"(%{{.*}}) {{.*}}operandSegmentSizes = array<i32: 1, 0, 0>
// CHECK: "tt.store"(%{{.*}}, %{{.*}}) {{.*}}operandSegmentSizes = array<i32: 1, 1, 0>
// CHECK: %[[OPEN:.*]] = arith.cmpi slt
// a branch that is always taken is part of what is around it
// CHECK-NOT: scf.if
// CHECK: "tt.store"(%{{.*}}, %{{.*}}, %[[OPEN]])
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%p: !tt.ptr<f32, "global">, %n: i32):
    %zero = arith.constant 0 : i32
    %step = arith.constant 16 : i32
    %end = arith.constant 64 : i32
    %size = arith.constant dense<64> : tensor<16xi32>
    %other = arith.constant dense<0.0> : tensor<16xf32>
    %r = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %base = "tt.splat"(%p) : (!tt.ptr<f32, "global">) -> tensor<16x!tt.ptr<f32, "global">>
    scf.for %i = %zero to %end step %step : i32 {
      %at = "tt.splat"(%i) : (i32) -> tensor<16xi32>
      %o = arith.addi %at, %r : tensor<16xi32>
      %mask = arith.cmpi slt, %o, %size : tensor<16xi32>
      %q = "tt.addptr"(%base, %o) : (tensor<16x!tt.ptr<f32, "global">>, tensor<16xi32>) -> tensor<16x!tt.ptr<f32, "global">>
      %x = "tt.load"(%q, %mask, %other) {cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<16x!tt.ptr<f32, "global">>, tensor<16xi1>, tensor<16xf32>) -> tensor<16xf32>
      %in = arith.cmpi sge, %i, %zero : i32
      scf.if %in {
        "tt.store"(%q, %x) {cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x!tt.ptr<f32, "global">>, tensor<16xf32>) -> ()
      }
      "tt.store"(%q, %x, %mask) {cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<16x!tt.ptr<f32, "global">>, tensor<16xf32>, tensor<16xi1>) -> ()
    }
    %limit = "tt.splat"(%n) : (i32) -> tensor<16xi32>
    %open = arith.cmpi slt, %r, %limit : tensor<16xi32>
    "tt.store"(%base, %other, %open) {cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<16x!tt.ptr<f32, "global">>, tensor<16xf32>, tensor<16xi1>) -> ()
    "tt.return"() : () -> ()
  }) {function_type = (!tt.ptr<f32, "global">, i32) -> (), sym_name = "f", arg_attrs = [{}, {}]} : () -> ()
}) : () -> ()
