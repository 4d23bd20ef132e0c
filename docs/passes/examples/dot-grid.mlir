module {
  tt.func public @product(%a: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %c: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
    %zero = arith.constant dense<0.000000e+00> : tensor<32x32xf32>
    %size = arith.constant 1024 : i32
    %tile = tt.get_program_id x : i32
    %begin = arith.muli %tile, %size : i32
    %from = tt.addptr %a, %begin : !tt.ptr<f16>, i32
    %to = tt.addptr %c, %begin : !tt.ptr<f32>, i32
    %w = arith.constant dense<32> : tensor<32x1xi32>
    %r = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
    %0 = tt.expand_dims %r {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
    %1 = arith.muli %0, %w : tensor<32x1xi32>
    %2 = tt.expand_dims %r {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %3 = tt.broadcast %1 : tensor<32x1xi32> -> tensor<32x32xi32>
    %4 = tt.broadcast %2 : tensor<1x32xi32> -> tensor<32x32xi32>
    %5 = arith.addi %3, %4 : tensor<32x32xi32>
    %6 = tt.splat %from : !tt.ptr<f16> -> tensor<32x32x!tt.ptr<f16>>
    %7 = tt.addptr %6, %5 : tensor<32x32x!tt.ptr<f16>>, tensor<32x32xi32>
    %8 = tt.load %7 : tensor<32x32x!tt.ptr<f16>>
    %9 = tt.dot %8, %8, %zero : tensor<32x32xf16> * tensor<32x32xf16> -> tensor<32x32xf32>
    %10 = tt.splat %to : !tt.ptr<f32> -> tensor<32x32x!tt.ptr<f32>>
    %11 = tt.addptr %10, %5 : tensor<32x32x!tt.ptr<f32>>, tensor<32x32xi32>
    tt.store %11, %9 : tensor<32x32x!tt.ptr<f32>>
    tt.return
  }
}
