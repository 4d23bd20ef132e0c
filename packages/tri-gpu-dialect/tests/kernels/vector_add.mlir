module {
  "tt.func"() ({
  ^bb0(%arg0: !tt.ptr<f32, "global">, %arg1: !tt.ptr<f32, "global">, %arg2: !tt.ptr<f32, "global">, %arg3: i32):
    %0 = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %c1024_i32 = arith.constant 1024 : i32
    %1 = arith.muli %0, %c1024_i32 : i32
    %2 = "tt.make_range"() {end = 1024 : i32, start = 0 : i32} : () -> tensor<1024xi32>
    %3 = "tt.splat"(%1) : (i32) -> tensor<1024xi32>
    %4 = arith.addi %3, %2 : tensor<1024xi32>
    %5 = "tt.splat"(%arg3) : (i32) -> tensor<1024xi32>
    %6 = arith.cmpi slt, %4, %5 : tensor<1024xi32>
    %7 = "tt.splat"(%arg0) : (!tt.ptr<f32, "global">) -> tensor<1024x!tt.ptr<f32, "global">>
    %8 = "tt.addptr"(%7, %4) : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xi32>) -> tensor<1024x!tt.ptr<f32, "global">>
    %9 = "tt.load"(%8, %6) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xi1>) -> tensor<1024xf32>
    %10 = "tt.splat"(%arg1) : (!tt.ptr<f32, "global">) -> tensor<1024x!tt.ptr<f32, "global">>
    %11 = "tt.addptr"(%10, %4) : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xi32>) -> tensor<1024x!tt.ptr<f32, "global">>
    %12 = "tt.load"(%11, %6) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xi1>) -> tensor<1024xf32>
    %13 = "tt.splat"(%arg2) : (!tt.ptr<f32, "global">) -> tensor<1024x!tt.ptr<f32, "global">>
    %14 = "tt.addptr"(%13, %4) : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xi32>) -> tensor<1024x!tt.ptr<f32, "global">>
    %15 = arith.addf %9, %12 : tensor<1024xf32>
    "tt.store"(%14, %15, %6) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xf32>, tensor<1024xi1>) -> ()
    "tt.return"() : () -> ()
  }) {arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}], function_type = (!tt.ptr<f32, "global">, !tt.ptr<f32, "global">, !tt.ptr<f32, "global">, i32) -> (), sym_name = "vector_add", sym_visibility = "public"} : () -> ()
}
