module {
  tt.func public @k(%a: f32, %b: f32, %x: tensor<8x1xf32>, %p: tensor<8x4x!tt.ptr<f32>>) {
    %0 = tt.splat %a : f32 -> tensor<8x4xf32>
    %1 = tt.splat %b : f32 -> tensor<8x4xf32>
    %2 = arith.mulf %0, %1 : tensor<8x4xf32>
    %3 = tt.broadcast %x : tensor<8x1xf32> -> tensor<8x4xf32>
    %4 = math.exp %3 : tensor<8x4xf32>
    %5 = arith.addf %4, %2 : tensor<8x4xf32>
    tt.store %p, %5 : tensor<8x4x!tt.ptr<f32>>
    tt.return
  }
}
