module {
  tt.func public @sums(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %out: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) {
    %zero = arith.constant dense<0.000000e+00> : tensor<64xf32>
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %step = arith.constant dense<8192> : tensor<64x128xi32>
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %c = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
    %w = arith.constant dense<128> : tensor<64x1xi32>
    %0 = tt.expand_dims %r {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %1 = arith.muli %0, %w : tensor<64x1xi32>
    %2 = tt.expand_dims %c {axis = 0 : i32} : tensor<128xi32> -> tensor<1x128xi32>
    %3 = tt.broadcast %1 : tensor<64x1xi32> -> tensor<64x128xi32>
    %4 = tt.broadcast %2 : tensor<1x128xi32> -> tensor<64x128xi32>
    %5 = arith.addi %3, %4 : tensor<64x128xi32>
    %6 = tt.splat %x : !tt.ptr<f32> -> tensor<64x128x!tt.ptr<f32>>
    %7 = tt.addptr %6, %5 : tensor<64x128x!tt.ptr<f32>>, tensor<64x128xi32>
    %8:2 = scf.for %i = %first to %n step %one iter_args(%acc = %zero, %p = %7) -> (tensor<64xf32>, tensor<64x128x!tt.ptr<f32>>) : i32 {
      %11 = tt.load %p : tensor<64x128x!tt.ptr<f32>>
      %12 = "tt.reduce"(%11) <{axis = 1 : i32}> ({
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        tt.reduce.return %s : f32
      }) : (tensor<64x128xf32>) -> tensor<64xf32>
      %13 = arith.addf %acc, %12 : tensor<64xf32>
      %14 = tt.addptr %p, %step : tensor<64x128x!tt.ptr<f32>>, tensor<64x128xi32>
      scf.yield %13, %14 : tensor<64xf32>, tensor<64x128x!tt.ptr<f32>>
    }
    %9 = tt.splat %out : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %10 = tt.addptr %9, %r : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    tt.store %10, %8#0 : tensor<64x!tt.ptr<f32>>
    tt.return
  }
}
