module {
  tt.func public @k(%p: tensor<8x!tt.ptr<f32>>, %q: tensor<8x!tt.ptr<f32>>, %z: tensor<8xf32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %0 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %z) -> (tensor<8xf32>)  : i32 {
      %1 = tt.load %p : tensor<8x!tt.ptr<f32>>
      %2 = math.exp %1 : tensor<8xf32>
      %3 = arith.addf %x, %2 : tensor<8xf32>
      scf.yield %3 : tensor<8xf32>
    }
    tt.store %q, %0 : tensor<8x!tt.ptr<f32>>
    tt.return
  }
}
