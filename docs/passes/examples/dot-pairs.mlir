module {
  tt.func public @f(%q: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %k: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %v: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %o: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 16 : i32}) attributes {noinline = false} {
    %zero = arith.constant 0 : i32
    %size = arith.constant 64 : i32
    %one = arith.constant 1 : i64
    %width = arith.constant 64 : i64
    %sum = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
    %dq = tt.make_tensor_descriptor %q, [%size, %size], [%width, %one] : !tt.ptr<f16>, !tt.tensordesc<64x64xf16>
    %dk = tt.make_tensor_descriptor %k, [%n, %size], [%width, %one] : !tt.ptr<f16>, !tt.tensordesc<64x64xf16>
    %dv = tt.make_tensor_descriptor %v, [%n, %size], [%width, %one] : !tt.ptr<f16>, !tt.tensordesc<64x64xf16>
    %do = tt.make_tensor_descriptor %o, [%size, %size], [%width, %one] : !tt.ptr<f16>, !tt.tensordesc<64x64xf16>
    %x = tt.descriptor_load %dq[%zero, %zero] : !tt.tensordesc<64x64xf16> -> tensor<64x64xf16>
    %r = scf.for %i = %zero to %n step %size iter_args(%acc = %sum) -> (tensor<64x64xf32>) : i32 {
      %y = tt.descriptor_load %dk[%i, %zero] : !tt.tensordesc<64x64xf16> -> tensor<64x64xf16>
      %t = tt.trans %y {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
      %s = tt.dot %x, %t, %sum, inputPrecision = tf32 : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
      %e = math.exp2 %s : tensor<64x64xf32>
      %z = tt.descriptor_load %dv[%i, %zero] : !tt.tensordesc<64x64xf16> -> tensor<64x64xf16>
      %d = tt.dot %x, %z, %sum, inputPrecision = tf32 : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
      %m = arith.mulf %e, %d : tensor<64x64xf32>
      %a = arith.addf %acc, %m : tensor<64x64xf32>
      scf.yield %a : tensor<64x64xf32>
    } {tt.warp_specialize}
    %h = arith.truncf %r : tensor<64x64xf32> to tensor<64x64xf16>
    tt.descriptor_store %do[%zero, %zero], %h : !tt.tensordesc<64x64xf16>, tensor<64x64xf16>
    tt.return
  }
}
