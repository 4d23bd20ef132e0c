module {
  tt.func public @k(%p: tensor<8x!tt.ptr<f32>>, %s: tensor<8xi32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %0:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %p, %b = %p) -> (tensor<8x!tt.ptr<f32>>, tensor<8x!tt.ptr<f32>>)  : i32 {
      %1 = tt.load %a : tensor<8x!tt.ptr<f32>>
      %2 = arith.muli %n, %n : i32
      %3 = tt.splat %2 : i32 -> tensor<8xi32>
      %4 = arith.sitofp %3 : tensor<8xi32> to tensor<8xf32>
      %5 = arith.addf %1, %4 : tensor<8xf32>
      tt.store %b, %5 : tensor<8x!tt.ptr<f32>>
      %6 = tt.addptr %a, %s : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
      %7 = tt.addptr %b, %s : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
      scf.yield %6, %7 : tensor<8x!tt.ptr<f32>>, tensor<8x!tt.ptr<f32>>
    } {tt.loop_unroll_factor = 2 : i32}
    tt.return
  }
}
