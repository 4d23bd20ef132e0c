module {
  tt.func public @k(%p: tensor<8x!tt.ptr<f32>>, %q: tensor<8x!tt.ptr<f32>>, %n: i32) {
    %0 = tt.splat %n : i32 -> tensor<8xi32>
    %1 = tt.addptr %p, %0 : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    %2 = tt.load %1 : tensor<8x!tt.ptr<f32>>
    %3 = tt.splat %n : i32 -> tensor<8xi32>
    %4 = tt.addptr %p, %3 : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    %5 = tt.load %4 : tensor<8x!tt.ptr<f32>>
    %6 = arith.addf %2, %5 : tensor<8xf32>
    tt.store %q, %6 : tensor<8x!tt.ptr<f32>>
    %7 = tt.load %4 : tensor<8x!tt.ptr<f32>>
    tt.store %q, %7 : tensor<8x!tt.ptr<f32>>
    tt.return
  }
}
