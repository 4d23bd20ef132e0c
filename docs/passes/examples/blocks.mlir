module {
  tt.func public @k(%p: !tt.ptr<f16>, %q: !tt.ptr<f16>, %m: i32, %n: i32, %s: i64, %i: i32) {
    %c1 = arith.constant 1 : i64
    %0 = tt.make_tensor_descriptor %p, [%m, %n], [%s, %c1] : !tt.ptr<f16>, !tt.tensordesc<16x64xf16>
    %1 = tt.make_tensor_descriptor %q, [%m, %n], [%s, %c1] : !tt.ptr<f16>, !tt.tensordesc<16x64xf16>
    %2 = tt.descriptor_load %0[%i, %i] : !tt.tensordesc<16x64xf16> -> tensor<16x64xf16>
    tt.descriptor_store %1[%i, %i], %2 : !tt.tensordesc<16x64xf16>, tensor<16x64xf16>
    tt.return
  }
}
