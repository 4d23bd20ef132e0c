module {
  tt.func public @k(%p: !tt.ptr<f32>, %q: tensor<8x!tt.ptr<f32>>, %n: i32, %i: i32) {
    %c1 = arith.constant 1 : i64
    %0 = tt.make_tensor_descriptor %p, [%n], [%c1] : !tt.ptr<f32>, !tt.tensordesc<8xf32>
    %1 = tt.descriptor_load %0[%i] : !tt.tensordesc<8xf32> -> tensor<8xf32>
    tt.store %q, %1 : tensor<8x!tt.ptr<f32>>
    tt.return
  }
}
