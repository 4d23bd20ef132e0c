module {
  "tt.func"() ({
  ^bb0(%arg0: !tt.ptr<f32, "global">, %arg1: !tt.ptr<f32, "global">, %arg2: !tt.ptr<f32, "global">, %arg3: !tt.ptr<f32, "global">, %arg4: i32, %arg5: i32, %arg6: f32):
    %0 = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %1 = arith.muli %0, %arg4 : i32
    %2 = "tt.addptr"(%arg1, %1) : (!tt.ptr<f32, "global">, i32) -> !tt.ptr<f32, "global">
    %3 = arith.muli %0, %arg4 : i32
    %4 = "tt.addptr"(%arg0, %3) : (!tt.ptr<f32, "global">, i32) -> !tt.ptr<f32, "global">
    %cst = arith.constant dense<0.000000e+00> : tensor<1024xf32>
    %c0_i32 = arith.constant 0 : i32
    %c1024_i32 = arith.constant 1024 : i32
    %5 = scf.for %arg7 = %c0_i32 to %arg5 step %c1024_i32 iter_args(%arg8 = %cst) -> (tensor<1024xf32>)  : i32 {
      %16 = "tt.make_range"() {end = 1024 : i32, start = 0 : i32} : () -> tensor<1024xi32>
      %17 = "tt.splat"(%arg7) : (i32) -> tensor<1024xi32>
      %18 = arith.addi %17, %16 : tensor<1024xi32>
      %19 = "tt.splat"(%2) : (!tt.ptr<f32, "global">) -> tensor<1024x!tt.ptr<f32, "global">>
      %20 = "tt.addptr"(%19, %18) : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xi32>) -> tensor<1024x!tt.ptr<f32, "global">>
      %21 = "tt.splat"(%arg5) : (i32) -> tensor<1024xi32>
      %22 = arith.cmpi slt, %18, %21 : tensor<1024xi32>
      %cst_6 = arith.constant dense<0.000000e+00> : tensor<1024xf32>
      %23 = "tt.load"(%20, %22, %cst_6) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xi1>, tensor<1024xf32>) -> tensor<1024xf32>
      %24 = arith.addf %arg8, %23 : tensor<1024xf32>
      scf.yield %24 : tensor<1024xf32>
    }
    %6 = "tt.reduce"(%5) ({
    ^bb0(%arg7: f32, %arg8: f32):
      %16 = arith.addf %arg7, %arg8 : f32
      "tt.reduce_return"(%16) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (f32) -> ()
    }) {axis = 0 : i32, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<1024xf32>) -> f32
    %7 = arith.sitofp %arg5 : i32 to f32
    %8 = arith.divf %6, %7 : f32
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<1024xf32>
    %c0_i32_1 = arith.constant 0 : i32
    %c1024_i32_2 = arith.constant 1024 : i32
    %9 = scf.for %arg7 = %c0_i32_1 to %arg5 step %c1024_i32_2 iter_args(%arg8 = %cst_0) -> (tensor<1024xf32>)  : i32 {
      %16 = "tt.make_range"() {end = 1024 : i32, start = 0 : i32} : () -> tensor<1024xi32>
      %17 = "tt.splat"(%arg7) : (i32) -> tensor<1024xi32>
      %18 = arith.addi %17, %16 : tensor<1024xi32>
      %19 = "tt.splat"(%arg5) : (i32) -> tensor<1024xi32>
      %20 = arith.cmpi slt, %18, %19 : tensor<1024xi32>
      %21 = "tt.splat"(%2) : (!tt.ptr<f32, "global">) -> tensor<1024x!tt.ptr<f32, "global">>
      %22 = "tt.addptr"(%21, %18) : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xi32>) -> tensor<1024x!tt.ptr<f32, "global">>
      %cst_6 = arith.constant dense<0.000000e+00> : tensor<1024xf32>
      %23 = "tt.load"(%22, %20, %cst_6) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xi1>, tensor<1024xf32>) -> tensor<1024xf32>
      %24 = "tt.splat"(%8) : (f32) -> tensor<1024xf32>
      %25 = arith.subf %23, %24 : tensor<1024xf32>
      %cst_7 = arith.constant dense<0.000000e+00> : tensor<1024xf32>
      %26 = arith.select %20, %25, %cst_7 : tensor<1024xi1>, tensor<1024xf32>
      %27 = arith.mulf %26, %26 : tensor<1024xf32>
      %28 = arith.addf %arg8, %27 : tensor<1024xf32>
      scf.yield %28 : tensor<1024xf32>
    }
    %10 = "tt.reduce"(%9) ({
    ^bb0(%arg7: f32, %arg8: f32):
      %16 = arith.addf %arg7, %arg8 : f32
      "tt.reduce_return"(%16) {operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (f32) -> ()
    }) {axis = 0 : i32, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>} : (tensor<1024xf32>) -> f32
    %11 = arith.sitofp %arg5 : i32 to f32
    %12 = arith.divf %10, %11 : f32
    %13 = arith.addf %12, %arg6 : f32
    %14 = math.sqrt %13 : f32
    %cst_3 = arith.constant 1.000000e+00 : f32
    %15 = arith.divf %cst_3, %14 : f32
    %c0_i32_4 = arith.constant 0 : i32
    %c1024_i32_5 = arith.constant 1024 : i32
    scf.for %arg7 = %c0_i32_4 to %arg5 step %c1024_i32_5  : i32 {
      %16 = "tt.make_range"() {end = 1024 : i32, start = 0 : i32} : () -> tensor<1024xi32>
      %17 = "tt.splat"(%arg7) : (i32) -> tensor<1024xi32>
      %18 = arith.addi %17, %16 : tensor<1024xi32>
      %19 = "tt.splat"(%arg5) : (i32) -> tensor<1024xi32>
      %20 = arith.cmpi slt, %18, %19 : tensor<1024xi32>
      %21 = "tt.splat"(%2) : (!tt.ptr<f32, "global">) -> tensor<1024x!tt.ptr<f32, "global">>
      %22 = "tt.addptr"(%21, %18) : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xi32>) -> tensor<1024x!tt.ptr<f32, "global">>
      %cst_6 = arith.constant dense<0.000000e+00> : tensor<1024xf32>
      %23 = "tt.load"(%22, %20, %cst_6) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xi1>, tensor<1024xf32>) -> tensor<1024xf32>
      %24 = "tt.splat"(%arg2) : (!tt.ptr<f32, "global">) -> tensor<1024x!tt.ptr<f32, "global">>
      %25 = "tt.addptr"(%24, %18) : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xi32>) -> tensor<1024x!tt.ptr<f32, "global">>
      %26 = "tt.load"(%25, %20) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xi1>) -> tensor<1024xf32>
      %27 = "tt.splat"(%arg3) : (!tt.ptr<f32, "global">) -> tensor<1024x!tt.ptr<f32, "global">>
      %28 = "tt.addptr"(%27, %18) : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xi32>) -> tensor<1024x!tt.ptr<f32, "global">>
      %29 = "tt.load"(%28, %20) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xi1>) -> tensor<1024xf32>
      %30 = "tt.splat"(%4) : (!tt.ptr<f32, "global">) -> tensor<1024x!tt.ptr<f32, "global">>
      %31 = "tt.addptr"(%30, %18) : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xi32>) -> tensor<1024x!tt.ptr<f32, "global">>
      %32 = "tt.splat"(%8) : (f32) -> tensor<1024xf32>
      %33 = arith.subf %23, %32 : tensor<1024xf32>
      %34 = "tt.splat"(%15) : (f32) -> tensor<1024xf32>
      %35 = arith.mulf %33, %34 : tensor<1024xf32>
      %36 = arith.mulf %35, %26 : tensor<1024xf32>
      %37 = arith.addf %36, %29 : tensor<1024xf32>
      "tt.store"(%31, %37, %20) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<1024x!tt.ptr<f32, "global">>, tensor<1024xf32>, tensor<1024xi1>) -> ()
    }
    "tt.return"() : () -> ()
  }) {arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {}], function_type = (!tt.ptr<f32, "global">, !tt.ptr<f32, "global">, !tt.ptr<f32, "global">, !tt.ptr<f32, "global">, i32, i32, f32) -> (), sym_name = "layernorm", sym_visibility = "public"} : () -> ()
}
