// A loop over tiles: without masks where all elements are inside, as before where some are, nothing where none is.
// RUN: convert-triton-to-tritongpu, coalesce, remove-layout-conversions, unmask-inner-tiles

// CHECK: scf.for
// CHECK: %[[ALL:.*]] = arith.andi %{{.*}}, %{{.*}} : i1
// CHECK: scf.if %[[ALL]] {
// CHECK: "tt.load"(%{{.*}}) {{.*}}operandSegmentSizes = array<i32: 1, 0, 0>
// CHECK: "tt.store"(%{{.*}}, %{{.*}}) {{.*}}operandSegmentSizes = array<i32: 1, 1, 0>
// CHECK: } else {
// CHECK: %[[SOME:.*]] = arith.andi %{{.*}}, %{{.*}} : i1
// CHECK: scf.if %[[SOME]] {
// CHECK: "tt.load"(%{{.*}}, %{{.*}}) {{.*}}operandSegmentSizes = array<i32: 1, 1, 0>
// CHECK: "tt.store"(%{{.*}}, %{{.*}}, %{{.*}}) {{.*}}operandSegmentSizes = array<i32: 1, 1, 1>
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%p: !tt.ptr<f32, "global">, %out: !tt.ptr<f32, "global">, %n: i32, %low: i32, %tiles: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %program = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %size = arith.constant 512 : i32
    %r = "tt.make_range"() {start = 0 : i32, end = 512 : i32} : () -> tensor<512xi32>
    %base = "tt.splat"(%p) : (!tt.ptr<f32, "global">) -> tensor<512x!tt.ptr<f32, "global">>
    %obase = "tt.splat"(%out) : (!tt.ptr<f32, "global">) -> tensor<512x!tt.ptr<f32, "global">>
    %ns = "tt.splat"(%n) : (i32) -> tensor<512xi32>
    scf.for %j = %zero to %tiles step %one : i32 {
      %tile = arith.addi %program, %j : i32
      %i = arith.muli %tile, %size : i32
      %at = "tt.splat"(%i) : (i32) -> tensor<512xi32>
      %o = arith.addi %at, %r : tensor<512xi32>
      %rest = arith.subi %n, %i : i32
      %rests = "tt.splat"(%rest) : (i32) -> tensor<512xi32>
      %below = arith.subi %low, %i : i32
      %belows = "tt.splat"(%below) : (i32) -> tensor<512xi32>
      %first = arith.cmpi slt, %r, %rests : tensor<512xi32>
      %second = arith.cmpi sge, %r, %belows : tensor<512xi32>
      %mask = arith.andi %first, %second : tensor<512xi1>
      %q = "tt.addptr"(%base, %o) : (tensor<512x!tt.ptr<f32, "global">>, tensor<512xi32>) -> tensor<512x!tt.ptr<f32, "global">>
      %x = "tt.load"(%q, %mask) {cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<512x!tt.ptr<f32, "global">>, tensor<512xi1>) -> tensor<512xf32>
      %w = "tt.addptr"(%obase, %o) : (tensor<512x!tt.ptr<f32, "global">>, tensor<512xi32>) -> tensor<512x!tt.ptr<f32, "global">>
      %y = arith.addf %x, %x : tensor<512xf32>
      "tt.store"(%w, %y, %mask) {cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<512x!tt.ptr<f32, "global">>, tensor<512xf32>, tensor<512xi1>) -> ()
    }
    "tt.return"() : () -> ()
  }) {function_type = (!tt.ptr<f32, "global">, !tt.ptr<f32, "global">, i32, i32, i32) -> (), sym_name = "f", arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {}, {}, {}]} : () -> ()
}) : () -> ()
