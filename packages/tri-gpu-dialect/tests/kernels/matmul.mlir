module {
  "tt.func"() ({
  ^bb0(%arg0: !tt.ptr<f16, "global">, %arg1: !tt.ptr<f16, "global">, %arg2: !tt.ptr<f16, "global">, %arg3: i32, %arg4: i32, %arg5: i32, %arg6: i32, %arg7: i32, %arg8: i32):
    %0 = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %c64_i32 = arith.constant 64 : i32
    %1 = arith.addi %arg3, %c64_i32 : i32
    %c1_i32 = arith.constant 1 : i32
    %2 = arith.subi %1, %c1_i32 : i32
    %c64_i32_0 = arith.constant 64 : i32
    %3 = arith.divsi %2, %c64_i32_0 : i32
    %c64_i32_1 = arith.constant 64 : i32
    %4 = arith.addi %arg4, %c64_i32_1 : i32
    %c1_i32_2 = arith.constant 1 : i32
    %5 = arith.subi %4, %c1_i32_2 : i32
    %c64_i32_3 = arith.constant 64 : i32
    %6 = arith.divsi %5, %c64_i32_3 : i32
    %c8_i32 = arith.constant 8 : i32
    %7 = arith.muli %c8_i32, %6 : i32
    %8 = arith.divsi %0, %7 : i32
    %c8_i32_4 = arith.constant 8 : i32
    %9 = arith.muli %8, %c8_i32_4 : i32
    %10 = arith.subi %3, %9 : i32
    %c8_i32_5 = arith.constant 8 : i32
    %11 = arith.minsi %10, %c8_i32_5 : i32
    %c8_i32_6 = arith.constant 8 : i32
    %12 = arith.muli %c8_i32_6, %6 : i32
    %13 = arith.remsi %0, %12 : i32
    %14 = arith.remsi %13, %11 : i32
    %15 = arith.addi %9, %14 : i32
    %c8_i32_7 = arith.constant 8 : i32
    %16 = arith.muli %c8_i32_7, %6 : i32
    %17 = arith.remsi %0, %16 : i32
    %18 = arith.divsi %17, %11 : i32
    %c64_i32_8 = arith.constant 64 : i32
    %19 = arith.muli %15, %c64_i32_8 : i32
    %20 = "tt.make_range"() {end = 64 : i32, start = 0 : i32} : () -> tensor<64xi32>
    %21 = "tt.splat"(%19) : (i32) -> tensor<64xi32>
    %22 = arith.addi %21, %20 : tensor<64xi32>
    %23 = "tt.splat"(%arg3) : (i32) -> tensor<64xi32>
    %24 = arith.remsi %22, %23 : tensor<64xi32>
    %c64_i32_9 = arith.constant 64 : i32
    %25 = arith.muli %18, %c64_i32_9 : i32
    %26 = "tt.make_range"() {end = 64 : i32, start = 0 : i32} : () -> tensor<64xi32>
    %27 = "tt.splat"(%25) : (i32) -> tensor<64xi32>
    %28 = arith.addi %27, %26 : tensor<64xi32>
    %29 = "tt.splat"(%arg4) : (i32) -> tensor<64xi32>
    %30 = arith.remsi %28, %29 : tensor<64xi32>
    %31 = "tt.make_range"() {end = 32 : i32, start = 0 : i32} : () -> tensor<32xi32>
    %32 = "tt.expand_dims"(%24) {axis = 1 : i32} : (tensor<64xi32>) -> tensor<64x1xi32>
    %33 = "tt.splat"(%arg6) : (i32) -> tensor<64x1xi32>
    %34 = arith.muli %32, %33 : tensor<64x1xi32>
    %35 = "tt.expand_dims"(%31) {axis = 0 : i32} : (tensor<32xi32>) -> tensor<1x32xi32>
    %cst = arith.constant dense<1> : tensor<1x32xi32>
    %36 = arith.muli %35, %cst : tensor<1x32xi32>
    %37 = "tt.broadcast"(%34) : (tensor<64x1xi32>) -> tensor<64x32xi32>
    %38 = "tt.broadcast"(%36) : (tensor<1x32xi32>) -> tensor<64x32xi32>
    %39 = arith.addi %37, %38 : tensor<64x32xi32>
    %40 = "tt.splat"(%arg0) : (!tt.ptr<f16, "global">) -> tensor<64x32x!tt.ptr<f16, "global">>
    %41 = "tt.addptr"(%40, %39) : (tensor<64x32x!tt.ptr<f16, "global">>, tensor<64x32xi32>) -> tensor<64x32x!tt.ptr<f16, "global">>
    %42 = "tt.expand_dims"(%31) {axis = 1 : i32} : (tensor<32xi32>) -> tensor<32x1xi32>
    %43 = "tt.splat"(%arg7) : (i32) -> tensor<32x1xi32>
    %44 = arith.muli %42, %43 : tensor<32x1xi32>
    %45 = "tt.expand_dims"(%30) {axis = 0 : i32} : (tensor<64xi32>) -> tensor<1x64xi32>
    %cst_10 = arith.constant dense<1> : tensor<1x64xi32>
    %46 = arith.muli %45, %cst_10 : tensor<1x64xi32>
    %47 = "tt.broadcast"(%44) : (tensor<32x1xi32>) -> tensor<32x64xi32>
    %48 = "tt.broadcast"(%46) : (tensor<1x64xi32>) -> tensor<32x64xi32>
    %49 = arith.addi %47, %48 : tensor<32x64xi32>
    %50 = "tt.splat"(%arg1) : (!tt.ptr<f16, "global">) -> tensor<32x64x!tt.ptr<f16, "global">>
    %51 = "tt.addptr"(%50, %49) : (tensor<32x64x!tt.ptr<f16, "global">>, tensor<32x64xi32>) -> tensor<32x64x!tt.ptr<f16, "global">>
    %cst_11 = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
    %c32_i32 = arith.constant 32 : i32
    %52 = arith.addi %arg5, %c32_i32 : i32
    %c1_i32_12 = arith.constant 1 : i32
    %53 = arith.subi %52, %c1_i32_12 : i32
    %c32_i32_13 = arith.constant 32 : i32
    %54 = arith.divsi %53, %c32_i32_13 : i32
    %c0_i32 = arith.constant 0 : i32
    %c1_i32_14 = arith.constant 1 : i32
    %55:3 = scf.for %arg9 = %c0_i32 to %54 step %c1_i32_14 iter_args(%arg10 = %cst_11, %arg11 = %41, %arg12 = %51) -> (tensor<64x64xf32>, tensor<64x32x!tt.ptr<f16, "global">>, tensor<32x64x!tt.ptr<f16, "global">>)  : i32 {
      %84 = "tt.expand_dims"(%31) {axis = 0 : i32} : (tensor<32xi32>) -> tensor<1x32xi32>
      %c32_i32_18 = arith.constant 32 : i32
      %85 = arith.muli %arg9, %c32_i32_18 : i32
      %86 = arith.subi %arg5, %85 : i32
      %87 = "tt.splat"(%86) : (i32) -> tensor<1x32xi32>
      %88 = arith.cmpi slt, %84, %87 : tensor<1x32xi32>
      %89 = "tt.broadcast"(%88) : (tensor<1x32xi1>) -> tensor<64x32xi1>
      %cst_19 = arith.constant dense<0.000000e+00> : tensor<64x32xf16>
      %90 = "tt.load"(%arg11, %89, %cst_19) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x32x!tt.ptr<f16, "global">>, tensor<64x32xi1>, tensor<64x32xf16>) -> tensor<64x32xf16>
      %91 = "tt.expand_dims"(%31) {axis = 1 : i32} : (tensor<32xi32>) -> tensor<32x1xi32>
      %c32_i32_20 = arith.constant 32 : i32
      %92 = arith.muli %arg9, %c32_i32_20 : i32
      %93 = arith.subi %arg5, %92 : i32
      %94 = "tt.splat"(%93) : (i32) -> tensor<32x1xi32>
      %95 = arith.cmpi slt, %91, %94 : tensor<32x1xi32>
      %96 = "tt.broadcast"(%95) : (tensor<32x1xi1>) -> tensor<32x64xi1>
      %cst_21 = arith.constant dense<0.000000e+00> : tensor<32x64xf16>
      %97 = "tt.load"(%arg12, %96, %cst_21) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<32x64x!tt.ptr<f16, "global">>, tensor<32x64xi1>, tensor<32x64xf16>) -> tensor<32x64xf16>
      %98 = "tt.dot"(%90, %97, %arg10) {inputPrecision = 2 : i32} : (tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %c32_i32_22 = arith.constant 32 : i32
      %99 = "tt.splat"(%c32_i32_22) : (i32) -> tensor<64x32xi32>
      %100 = "tt.addptr"(%arg11, %99) : (tensor<64x32x!tt.ptr<f16, "global">>, tensor<64x32xi32>) -> tensor<64x32x!tt.ptr<f16, "global">>
      %c32_i32_23 = arith.constant 32 : i32
      %101 = arith.muli %c32_i32_23, %arg7 : i32
      %102 = "tt.splat"(%101) : (i32) -> tensor<32x64xi32>
      %103 = "tt.addptr"(%arg12, %102) : (tensor<32x64x!tt.ptr<f16, "global">>, tensor<32x64xi32>) -> tensor<32x64x!tt.ptr<f16, "global">>
      scf.yield %98, %100, %103 : tensor<64x64xf32>, tensor<64x32x!tt.ptr<f16, "global">>, tensor<32x64x!tt.ptr<f16, "global">>
    }
    %c64_i32_15 = arith.constant 64 : i32
    %56 = arith.muli %15, %c64_i32_15 : i32
    %57 = "tt.make_range"() {end = 64 : i32, start = 0 : i32} : () -> tensor<64xi32>
    %58 = "tt.splat"(%56) : (i32) -> tensor<64xi32>
    %59 = arith.addi %58, %57 : tensor<64xi32>
    %c64_i32_16 = arith.constant 64 : i32
    %60 = arith.muli %18, %c64_i32_16 : i32
    %61 = "tt.make_range"() {end = 64 : i32, start = 0 : i32} : () -> tensor<64xi32>
    %62 = "tt.splat"(%60) : (i32) -> tensor<64xi32>
    %63 = arith.addi %62, %61 : tensor<64xi32>
    %64 = "tt.expand_dims"(%59) {axis = 1 : i32} : (tensor<64xi32>) -> tensor<64x1xi32>
    %65 = "tt.splat"(%arg8) : (i32) -> tensor<64x1xi32>
    %66 = arith.muli %65, %64 : tensor<64x1xi32>
    %67 = "tt.splat"(%arg2) : (!tt.ptr<f16, "global">) -> tensor<64x1x!tt.ptr<f16, "global">>
    %68 = "tt.addptr"(%67, %66) : (tensor<64x1x!tt.ptr<f16, "global">>, tensor<64x1xi32>) -> tensor<64x1x!tt.ptr<f16, "global">>
    %69 = "tt.expand_dims"(%63) {axis = 0 : i32} : (tensor<64xi32>) -> tensor<1x64xi32>
    %cst_17 = arith.constant dense<1> : tensor<1x64xi32>
    %70 = arith.muli %cst_17, %69 : tensor<1x64xi32>
    %71 = "tt.broadcast"(%68) : (tensor<64x1x!tt.ptr<f16, "global">>) -> tensor<64x64x!tt.ptr<f16, "global">>
    %72 = "tt.broadcast"(%70) : (tensor<1x64xi32>) -> tensor<64x64xi32>
    %73 = "tt.addptr"(%71, %72) : (tensor<64x64x!tt.ptr<f16, "global">>, tensor<64x64xi32>) -> tensor<64x64x!tt.ptr<f16, "global">>
    %74 = "tt.expand_dims"(%59) {axis = 1 : i32} : (tensor<64xi32>) -> tensor<64x1xi32>
    %75 = "tt.splat"(%arg3) : (i32) -> tensor<64x1xi32>
    %76 = arith.cmpi slt, %74, %75 : tensor<64x1xi32>
    %77 = "tt.expand_dims"(%63) {axis = 0 : i32} : (tensor<64xi32>) -> tensor<1x64xi32>
    %78 = "tt.splat"(%arg4) : (i32) -> tensor<1x64xi32>
    %79 = arith.cmpi slt, %77, %78 : tensor<1x64xi32>
    %80 = "tt.broadcast"(%76) : (tensor<64x1xi1>) -> tensor<64x64xi1>
    %81 = "tt.broadcast"(%79) : (tensor<1x64xi1>) -> tensor<64x64xi1>
    %82 = arith.andi %80, %81 : tensor<64x64xi1>
    %83 = arith.truncf %55#0 : tensor<64x64xf32> to tensor<64x64xf16>
    "tt.store"(%73, %83, %82) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<64x64x!tt.ptr<f16, "global">>, tensor<64x64xf16>, tensor<64x64xi1>) -> ()
    "tt.return"() : () -> ()
  }) {arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}], function_type = (!tt.ptr<f16, "global">, !tt.ptr<f16, "global">, !tt.ptr<f16, "global">, i32, i32, i32, i32, i32, i32) -> (), sym_name = "matmul", sym_visibility = "public"} : () -> ()
}
