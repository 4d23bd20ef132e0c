module {
  tt.func public @matmul(%a: !tt.ptr<f16> {tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32}, %b: !tt.ptr<f16> {tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32}, %c: !tt.ptr<f32> {tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32}, %n: i32) {
    %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %step = arith.constant dense<4096> : tensor<64x64xi32>
    %w = arith.constant dense<64> : tensor<64x1xi32>
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %0 = tt.expand_dims %r {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %1 = arith.muli %0, %w : tensor<64x1xi32>
    %2 = tt.expand_dims %r {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %3 = tt.broadcast %1 : tensor<64x1xi32> -> tensor<64x64xi32>
    %4 = tt.broadcast %2 : tensor<1x64xi32> -> tensor<64x64xi32>
    %5 = arith.addi %3, %4 : tensor<64x64xi32>
    %6 = tt.splat %a : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
    %7 = tt.addptr %6, %5 : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
    %8 = tt.splat %b : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
    %9 = tt.addptr %8, %5 : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
    %10:3 = scf.for %i = %first to %n step %one iter_args(%acc = %zero, %x = %7, %y = %9) -> (tensor<64x64xf32>, tensor<64x64x!tt.ptr<f16>>, tensor<64x64x!tt.ptr<f16>>) : i32 {
      %13 = tt.load %x : tensor<64x64x!tt.ptr<f16>>
      %14 = tt.load %y : tensor<64x64x!tt.ptr<f16>>
      %15 = tt.dot %13, %14, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
      %16 = tt.addptr %x, %step : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
      %17 = tt.addptr %y, %step : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
      scf.yield %15, %16, %17 : tensor<64x64xf32>, tensor<64x64x!tt.ptr<f16>>, tensor<64x64x!tt.ptr<f16>>
    }
    %11 = tt.splat %c : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
    %12 = tt.addptr %11, %5 : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
    tt.store %12, %10#0 : tensor<64x64x!tt.ptr<f32>>
    tt.return
  }
}
