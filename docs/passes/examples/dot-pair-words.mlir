module {
  tt.func public @f(%a: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %b: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %out: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
    %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
    %w = arith.constant dense<64> : tensor<64x1xi32>
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %0 = tt.expand_dims %r {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %1 = arith.muli %0, %w : tensor<64x1xi32>
    %2 = tt.expand_dims %r {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %3 = tt.broadcast %1 : tensor<64x1xi32> -> tensor<64x64xi32>
    %4 = tt.broadcast %2 : tensor<1x64xi32> -> tensor<64x64xi32>
    %5 = arith.addi %3, %4 : tensor<64x64xi32>
    %6 = tt.splat %a : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
    %7 = tt.addptr %6, %5 : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
    %8 = tt.load %7 : tensor<64x64x!tt.ptr<f32>>
    %9 = tt.trans %8 {order = array<i32: 1, 0>} : tensor<64x64xf32> -> tensor<64x64xf32>
    %10 = tt.dot %8, %9, %zero, inputPrecision = tf32 : tensor<64x64xf32> * tensor<64x64xf32> -> tensor<64x64xf32>
    %11 = tt.splat %b : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
    %12 = tt.addptr %11, %5 : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
    %13 = tt.load %12 : tensor<64x64x!tt.ptr<f32>>
    %14 = tt.dot %10, %13, %zero, inputPrecision = tf32 : tensor<64x64xf32> * tensor<64x64xf32> -> tensor<64x64xf32>
    %15 = tt.splat %out : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
    %16 = tt.addptr %15, %5 : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
    tt.store %16, %14 : tensor<64x64x!tt.ptr<f32>>
    tt.return
  }
}
