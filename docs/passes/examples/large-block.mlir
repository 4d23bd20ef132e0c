module {
  tt.func public @k(%p: !tt.ptr<f32>, %m: i32, %n: i32, %s: i64, %i: i32, %j: i32, %v: f32) {
    %c1 = arith.constant 1 : i64
    %0 = tt.make_tensor_descriptor %p, [%m, %n], [%s, %c1] : !tt.ptr<f32>, !tt.tensordesc<256x256xf32>
    %1 = tt.splat %v : f32 -> tensor<256x256xf32>
    tt.descriptor_store %0[%i, %j], %1 : !tt.tensordesc<256x256xf32>, tensor<256x256xf32>
    tt.return
  }
}
