tt.func public @k(%x: tensor<8xf32>, %y: tensor<8xf32>, %p: tensor<8x!tt.ptr<f32>>) {
  %0 = tt.approx_divf %x, %y : tensor<8xf32>
  tt.store %p, %0 : tensor<8x!tt.ptr<f32>>
  tt.return
}
