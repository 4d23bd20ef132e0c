module {
  tt.func public @k(%p: !tt.ptr<f16>, %sizes: !tt.ptr<i32>, %n: i32, %stride: i64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %one = arith.constant 1 : i64
    %ones = arith.constant dense<1.0> : tensor<8x64xf16>
    scf.for %g = %c0 to %n step %c1  : i32 {
      %place = tt.addptr %sizes, %g : !tt.ptr<i32>, i32
      %size = tt.load %place : !tt.ptr<i32>
      %d = tt.make_tensor_descriptor %p, [%size, %n], [%stride, %one] : !tt.ptr<f16>, !tt.tensordesc<8x64xf16>
      scf.for %i = %c0 to %size step %c8  : i32 {
        tt.descriptor_store %d[%i, %c0], %ones : !tt.tensordesc<8x64xf16>, tensor<8x64xf16>
      }
    }
    tt.return
  }
}
