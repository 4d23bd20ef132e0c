module {
  "tt.func"() ({
  ^bb0(%arg0: !tt.ptr<f32, "global">, %arg1: !tt.ptr<f32, "global">, %arg2: i32, %arg3: i32, %arg4: i32):
    %0 = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %1 = "tt.make_range"() {end = 1024 : i32, start = 0 : i32} : () -> tensor<1024xi32>
    %2 = "tt.splat"(%arg4) : (i32) -> tensor<1024xi32>
    %3 = arith.cmpi slt, %1, %2 : tensor<1024xi32>
    %4 = arith.muli %0, %arg2 : i32
    %5 = "tt.addptr"(%arg1, %4) : (!tt.ptr<f32, "global">, i32) -> !tt.ptr<f32, "global">
    %6 = "tt.splat"(%5) : (!tt.ptr<f32, "global">) -> tensor<1024x!tt.ptr<f32, "global">>
    %7 = "tt.addptr"(%6, %1) : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xi32>) -> tensor<1024x!tt.ptr<f32, "global">>
    %cst = arith.constant dense<0xFF800000> : tensor<1024xf32>
    %8 = "tt.load"(%7, %3, %cst) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xi1>, tensor<1024xf32>) -> tensor<1024xf32>
    %9 = "tt.reduce"(%8) ({
    ^bb0(%arg5: f32, %arg6: f32):
      %20 = arith.maxnumf %arg5, %arg6 : f32
      "tt.reduce_return"(%20) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (f32) -> ()
    }) {axis = 0 : i32, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<1024xf32>) -> f32
    %10 = "tt.splat"(%9) : (f32) -> tensor<1024xf32>
    %11 = arith.subf %8, %10 : tensor<1024xf32>
    %12 = math.exp %11 : tensor<1024xf32>
    %13 = "tt.reduce"(%12) ({
    ^bb0(%arg5: f32, %arg6: f32):
      %20 = arith.addf %arg5, %arg6 : f32
      "tt.reduce_return"(%20) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (f32) -> ()
    }) {axis = 0 : i32, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<1024xf32>) -> f32
    %14 = arith.muli %0, %arg3 : i32
    %15 = "tt.addptr"(%arg0, %14) : (!tt.ptr<f32, "global">, i32) -> !tt.ptr<f32, "global">
    %16 = "tt.splat"(%15) : (!tt.ptr<f32, "global">) -> tensor<1024x!tt.ptr<f32, "global">>
    %17 = "tt.addptr"(%16, %1) : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xi32>) -> tensor<1024x!tt.ptr<f32, "global">>
    %18 = "tt.splat"(%13) : (f32) -> tensor<1024xf32>
    %19 = arith.divf %12, %18 : tensor<1024xf32>
    "tt.store"(%17, %19, %3) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xf32>, tensor<1024xi1>) -> ()
    "tt.return"() : () -> ()
  }) {arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}], function_type = (!tt.ptr<f32, "global">, !tt.ptr<f32, "global">, i32, i32, i32) -> (), sym_name = "softmax", sym_visibility = "public"} : () -> ()
}
